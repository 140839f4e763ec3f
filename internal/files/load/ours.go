package load

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/files/convert"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/builtin"
)

// AsOurs reads the document as an object of sallyport.io: as it stands, or as
// that which an object of another system comes to. It is nil for objects that
// are about no policy. What looks like a policy and is none that can be read is a
// problem. Whether the fields are right is for policy.Sources.Add to find out.
func (d *Document) AsOurs() (*convert.Object, stored.Problems) {
	gvk := d.GVK
	fail := func(path, format string, args ...any) (*convert.Object, stored.Problems) {
		return nil, stored.Problems{d.problem(path, fmt.Sprintf(format, args...))}
	}
	switch {
	case d.hasItems:
		return fail("items", "is a list, but %s is not; write the items into a List of v1, or take them out", decision.A(gvk.Kind))
	case gvk.Group == v1alpha1.GroupVersion.Group:
		return &convert.Object{GVK: gvk, Raw: d.Raw}, nil
	case IsPolicy(d):
		return fail("apiVersion", "is %q; groups are written in lower case: write %q", gvk.GroupVersion(), v1alpha1.GroupVersion)
	case convert.IsBreakglassKind(gvk):
		object, err := convert.ReadBreakglass(gvk, d.Raw)
		if problems := d.misnamed(); err == nil && len(problems) > 0 {
			return nil, problems
		}
		return object, d.problems(err)
	case convert.IsKind(gvk):
		object, err := convert.Read(gvk, d.Raw)
		return object, d.problems(err)
	case isForeignPolicyGroup(gvk.Group):
		return fail("", "is a policy of another system (%s), which this version does not read; take it out, or write it as a policy of %s", gvk.GroupVersion(), v1alpha1.GroupVersion)
	case isPolicyKind(gvk.Kind):
		return fail("apiVersion", "is %q; for %s to count here, write %q, or else take it out", gvk.GroupVersion(), decision.A(gvk.Kind), v1alpha1.GroupVersion)
	}
	return nil, nil
}

// misnamed finds fault with the names in the rules of a DenyPolicy of another system
// before other names are made of them.
func (d *Document) misnamed() stored.Problems {
	var written struct {
		Spec struct {
			Rules []struct{ Verbs, APIGroups, Resources, Subresources []string }
		}
	}
	if d.GVK.Kind != stored.KindDenyPolicy || json.Unmarshal(d.Raw, &written) != nil {
		return nil
	}
	var problems stored.Problems
	for i, r := range written.Spec.Rules {
		rule := v1alpha1.DenyRule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, Subresources: r.Subresources}
		for _, err := range builtin.CheckRuleNames(&rule, field.NewPath("spec", "rules").Index(i)) {
			problems = append(problems, d.problem(err.Field, err.ErrorBody()))
		}
	}
	return problems
}
