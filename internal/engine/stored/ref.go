package stored

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// Qualified is the name, with its namespace if it has one: namespace/name.
func (p *Ref) Qualified() string {
	if p.Namespace == "" {
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

// InNamespace words the namespace of the object; empty for one that is cluster-wide.
func (p *Ref) InNamespace() string {
	if p.Namespace == "" {
		return ""
	}
	return " in namespace " + p.Namespace
}

// Qualified is namespace/name, or the name of what is in no namespace.
func Qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// Claim takes the name, or says that it is taken.
func (id Ref) Claim(seen map[Ref]string, origin string) (Problem, bool) {
	first, taken := seen[id]
	if !taken {
		seen[id] = origin
		return Problem{}, false
	}
	return id.Problem(origin).Twice(first), true
}

// Problem is one of the object, which was read from origin; what is wrong is left to be filled in.
func (id Ref) Problem(origin string) Problem {
	return Problem{Origin: origin, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// Said are notes about the object as problems that leave it working.
func (id Ref) Said(origin string, warnings []effect.Note) Problems {
	said := make(Problems, 0, len(warnings))
	for _, w := range warnings {
		p := id.Problem(origin)
		p.Path, p.Detail = w.Path.String(), w.Detail
		if w.Rule != nil {
			p.Reason = w.Rule.Reason
		}
		said = append(said, p)
	}
	return said
}

// Problem is one of the object, which was read from origin; what is wrong is left to be filled in.
// Problems are errors about fields of the object.
func (id Ref) Problems(origin string, errs field.ErrorList) Problems {
	problems := make(Problems, 0, len(errs))
	for _, err := range errs {
		p := id.Problem(origin)
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

// Ref names an object of ours.
type Ref struct{ Kind, Namespace, Name string }

// Anything is the pattern that matches every name.
const Anything = "*"

// ModuleID is what a policy that is a module is called in a file of policies, and
// in the path at which only it is asked: clusterwide-NAME, or
// namespaced-NAMESPACE-NAME. Two policies of namespaces can have the same, as both
// parts may hold hyphens.
func (r Ref) ModuleID() string {
	if r.Kind == KindAdmissionPolicy {
		return "namespaced-" + r.Namespace + "-" + r.Name
	}
	return "clusterwide-" + r.Name
}

// String names the policy, as Kind/name or Kind/namespace/name.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + "/" + r.Name
	}
	return r.Kind + "/" + r.Namespace + "/" + r.Name
}

// Compare orders by kind, namespace and name.
func (r Ref) Compare(other Ref) int {
	return cmp.Or(cmp.Compare(r.Kind, other.Kind), cmp.Compare(r.Namespace, other.Namespace), cmp.Compare(r.Name, other.Name))
}
