package policy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/wire"
)

// RuleWorks is the rule name in the results about Sallyport's own objects.
const RuleWorks = "policy-works"

// Add decodes an object of the group sallyport.io strictly and adds it to the
// sources. Unknown fields, and kinds and versions that are not known, are
// problems.
func (s *Sources) Add(gvk schema.GroupVersionKind, raw []byte, origin string) Problems {
	decode := func(into any) Problems {
		var problems Problems
		for _, err := range wire.ErrorsOf(wire.UnmarshalStrict(raw, into)) {
			problem := Problem{Origin: origin, Kind: gvk.Kind, Path: err.Path, Detail: err.Detail}
			problem.Namespace, problem.Name = nameIn(raw)
			problems = append(problems, problem)
		}
		return problems
	}
	if gvk.Version != v1alpha1.GroupVersion.Version {
		problem := Problem{Origin: origin, Kind: gvk.Kind, Path: "apiVersion", Detail: fmt.Sprintf("%q is not a version that is read here; write %s", gvk.GroupVersion(), v1alpha1.GroupVersion)}
		problem.Namespace, problem.Name = nameIn(raw)
		return Problems{problem}
	}
	switch gvk.Kind {
	case KindDenyPolicy:
		object := &v1alpha1.DenyPolicy{}
		if problems := decode(object); problems != nil {
			return problems
		}
		s.DenyPolicies = append(s.DenyPolicies, Sourced[*v1alpha1.DenyPolicy]{Object: object, Origin: origin})
		return checkMeta(gvk.Kind, object.Namespace, object.Name, origin, false)
	case KindClusterPolicy:
		object := &v1alpha1.ClusterPolicy{}
		if problems := decode(object); problems != nil {
			return problems
		}
		s.ClusterPolicies = append(s.ClusterPolicies, Sourced[*v1alpha1.ClusterPolicy]{Object: object, Origin: origin})
		return checkMeta(gvk.Kind, object.Namespace, object.Name, origin, false)
	case KindPolicy:
		object := &v1alpha1.Policy{}
		if problems := decode(object); problems != nil {
			return problems
		}
		s.Policies = append(s.Policies, Sourced[*v1alpha1.Policy]{Object: object, Origin: origin})
		return checkMeta(gvk.Kind, object.Namespace, object.Name, origin, true)
	}
	problem := Problem{Origin: origin, Kind: gvk.Kind, Path: "kind", Detail: fmt.Sprintf("%q is not a kind of %s that is known here; known are DenyPolicy, ClusterPolicy and Policy", gvk.Kind, v1alpha1.GroupVersion)}
	problem.Namespace, problem.Name = nameIn(raw)
	return Problems{problem}
}

// checkMeta refuses a policy without a name, and a namespace in the wrong place.
func checkMeta(kind, namespace, name, origin string, namespaced bool) Problems {
	problem := Problem{Origin: origin, Kind: kind, Namespace: namespace, Name: name}
	var problems Problems
	if name == "" {
		problem.Path, problem.Detail = "metadata.name", "is missing; a policy needs a name"
		problems = append(problems, problem)
	}
	switch {
	case namespaced && namespace == "":
		problem.Path, problem.Detail = "metadata.namespace", "is missing; a Policy holds for its own namespace alone (use a ClusterPolicy for all)"
		problems = append(problems, problem)
	case !namespaced && namespace != "":
		problem.Path, problem.Detail = "metadata.namespace", fmt.Sprintf("is %q, but a %s has no namespace; remove it", namespace, kind)
		problems = append(problems, problem)
	}
	return problems
}

func nameIn(raw []byte) (namespace, name string) {
	var object struct {
		Metadata struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"metadata"`
	}
	if wire.Unmarshal(raw, &object) != nil {
		return "", ""
	}
	return object.Metadata.Namespace, object.Metadata.Name
}

// admitPolicyObject refuses an object of ours that cannot do what it says, so
// that nobody relies on a policy that is not there.
func (s *Set) admitPolicyObject(c *call, results []decision.Result) []decision.Result {
	object := c.request.Object
	if object.GVK.Group != v1alpha1.GroupVersion.Group || c.request.Subresource != "" {
		return results
	}
	var sources Sources
	problems := sources.Add(object.GVK, object.Raw, "")
	if len(problems) == 0 {
		_, problems = Compile(sources, s.pods)
	}
	result := decision.Result{
		Policy: c.request.Name, PolicyNamespace: c.request.Namespace, Rule: RuleWorks, Kind: object.GVK.Kind,
		Resource: c.resource(), Status: decision.Pass, Action: decision.Enforce,
		Message: "the policy can do what it says", Source: c.request.Source, Remedy: decision.RemedyCorrect,
	}
	if len(problems) > 0 {
		result.Status = decision.Fail
		result.Message = "the policy cannot do what it says"
		for _, p := range problems {
			result.Message += "; " + p.at()
			result.Findings = append(result.Findings, decision.Finding{Path: p.Path, Detail: p.Detail})
		}
	}
	return append(results, result)
}
