package load

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/wasm/inventory"
)

// candidate is an object that a policy may read, if it was granted its kind, which
// is only known once all policies are.
type candidate struct {
	document *Document
	// ignored is set where nothing else is done with the object.
	ignored *Ignored
}

// candidate notes an object.
func (l *loader) candidate(d *Document, ignored *Ignored) {
	l.candidates = append(l.candidates, candidate{d, ignored})
}

// finish keeps, of the objects that were read, those that a policy was granted.
// No other is kept, and so no Secret that nobody may read.
func (l *loader) finish() {
	policies := granted(&l.result.Sources)
	seen := map[string]string{}
	for _, c := range l.candidates {
		d := c.document
		switch {
		case !contexthost.Granted(policies, d.GVK):
			if c.ignored != nil {
				l.result.Ignored = append(l.result.Ignored, *c.ignored)
			}
		case d.None:
			l.result.None = append(l.result.None, d.GVK)
		case d.Name == "":
			if c.ignored != nil {
				l.fail(d, "metadata.name", "is missing; an object that a policy may read needs a name")
			}
		default:
			l.give(d, c.ignored != nil, seen)
		}
	}
	l.candidates = nil
}

// give keeps one object.
func (l *loader) give(d *Document, first bool, seen map[string]string) {
	cluster := match.ClusterScoped(schema.GroupKind{Group: d.GVK.Group, Kind: d.GVK.Kind})
	switch {
	case cluster:
		d.Namespace = ""
	case d.Namespace == "":
		d.Namespace = metav1.NamespaceDefault
	}
	if first && !l.uniqueIn(seen, d) {
		return
	}
	raw, err := inNamespace(d)
	if err != nil {
		l.result.Problems = append(l.result.Problems, d.problems(err)...)
		return
	}
	l.result.Given = append(l.result.Given, inventory.Given{Kind: d.GVK, JSON: raw})
}

// inNamespace is the JSON of an object that says its namespace.
func inNamespace(d *Document) ([]byte, error) {
	tree, err := apijson.Tree(d.Raw)
	if err != nil {
		return nil, err
	}
	metadata, _ := tree["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	apiVersion, kind := d.GVK.ToAPIVersionAndKind()
	tree["apiVersion"], tree["kind"], tree["metadata"] = apiVersion, kind, metadata
	if metadata["namespace"] = d.Namespace; d.Namespace == "" {
		delete(metadata, "namespace")
	}
	return apijson.Marshal(tree)
}

// granted are the policies that may read something. What is wrong with others is
// for policy.Compile to say.
func granted(sources *policy.Sources) []*contextgate.Policy {
	var policies []*contextgate.Policy
	add := func(kind, name string, given []v1alpha1.ContextGrant) {
		grants, errs := contextgate.GrantsOf(given, field.NewPath("spec", "contextAware"))
		if len(errs) > 0 || len(grants) == 0 {
			return
		}
		if p, err := contextgate.NewPolicy(kind, "", name, grants, nil); err == nil {
			policies = append(policies, p)
		}
	}
	for _, source := range sources.ClusterPolicies {
		add(contextgate.ClusterPolicy, source.Object.Name, source.Object.Spec.ContextAware)
	}
	for _, source := range sources.ClusterAdmissionPolicies {
		add(contextgate.ClusterAdmissionPolicy, source.Object.Name, source.Object.Spec.ContextAware)
	}
	return policies
}
