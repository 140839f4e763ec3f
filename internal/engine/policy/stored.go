package policy

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

func (p *PolicyRef) name() string {
	if p.Namespace == "" {
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

func (p *PolicyRef) inNamespace() string {
	if p.Namespace == "" {
		return ""
	}
	return " in namespace " + p.Namespace
}

func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// objectID names a policy among the sources.
type objectID struct{ kind, namespace, name string }

// claim takes the name, or says that it is taken.
func (id objectID) claim(seen map[objectID]string, origin string) (Problem, bool) {
	first, taken := seen[id]
	if !taken {
		seen[id] = origin
		return Problem{}, false
	}
	return id.problem(origin).Twice(first), true
}

func (id objectID) problem(origin string) Problem {
	return Problem{Origin: origin, Kind: id.kind, Namespace: id.namespace, Name: id.name}
}

func (id objectID) said(origin string, warnings []effect.Note) Problems {
	said := make(Problems, 0, len(warnings))
	for _, w := range warnings {
		p := id.problem(origin)
		p.Path, p.Detail = w.Path.String(), w.Detail
		if w.Rule != nil {
			p.Reason = w.Rule.Reason
		}
		said = append(said, p)
	}
	return said
}

func (id objectID) problems(origin string, errs field.ErrorList) Problems {
	problems := make(Problems, 0, len(errs))
	for _, err := range errs {
		p := id.problem(origin)
		p.Path, p.Detail = err.Field, err.ErrorBody()
		problems = append(problems, p)
	}
	return problems
}

// Sourced is an object with the file and document that it was read from.
type Sourced[T any] = source.Of[T]

// Problem is one reason why an object cannot do what it says.
type Problem = source.Problem

// Problems are all the reasons, of one object or of many.
type Problems = source.Problems

// PolicyRef names a policy.
type PolicyRef struct{ Kind, Namespace, Name string }

const anything = "*"

// ModuleID is what a policy that is a module is called in a file of policies, and
// in the path at which only it is asked: clusterwide-NAME, or
// namespaced-NAMESPACE-NAME. Two policies of namespaces can have the same, as both
// parts may hold hyphens.
func (r PolicyRef) ModuleID() string {
	if r.Kind == KindAdmissionPolicy {
		return "namespaced-" + r.Namespace + "-" + r.Name
	}
	return "clusterwide-" + r.Name
}

// String names the policy, as Kind/name or Kind/namespace/name.
func (r PolicyRef) String() string {
	if r.Namespace == "" {
		return r.Kind + "/" + r.Name
	}
	return r.Kind + "/" + r.Namespace + "/" + r.Name
}

// Compare orders by kind, namespace and name.
func (r PolicyRef) Compare(other PolicyRef) int {
	return cmp.Or(cmp.Compare(r.Kind, other.Kind), cmp.Compare(r.Namespace, other.Namespace), cmp.Compare(r.Name, other.Name))
}
