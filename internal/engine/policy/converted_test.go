package policy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// refusing is a policy that refuses what it is about, with more in its rule.
func refusing(name, kinds, more string) string {
	return fmt.Sprintf("apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: %s}\nspec: {rules: [{name: r, match: {any: [{resources: {kinds: [%s]}}]}, %svalidate: {cel: {expressions: [{expression: 'false'}]}}}]}\n", name, kinds, more)
}

// TestConverted asks of what was converted just those rules that are not about it as it
// was written.
func TestConverted(t *testing.T) {
	widget := func(version string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Widget"}
	}
	event := func(group string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Event"}
	}
	for _, c := range []struct {
		name, policy string
		kind, asked  schema.GroupVersionKind
		want         bool
	}{
		{"the version that it is converted to", refusing("p", "example.com/v1/Widget", ""), widget("v1"), widget("v2"), true},
		{"the version, of any group", refusing("p", "v1/Widget", ""), widget("v1"), widget("v2"), true},
		{"versions by a pattern", refusing("p", "example.com/v1*/Widget", ""), widget("v1beta1"), widget("v2"), true},
		{"every kind of a version", refusing("p", "example.com/v1/*", ""), widget("v1"), widget("v2"), true},
		{"the version that it was written by", refusing("p", "example.com/v2/Widget", ""), widget("v1"), widget("v2"), false},
		{"both", refusing("p", "example.com/v1/Widget, example.com/v2/Widget", ""), widget("v1"), widget("v2"), false},
		{"no version", refusing("p", "Widget", ""), widget("v1"), widget("v2"), false},
		{"every kind", refusing("p", `"*"`, ""), widget("v1"), widget("v2"), false},
		{"another kind", refusing("p", "example.com/v1/Gadget", ""), widget("v1"), widget("v2"), false},
		{"the version, excluded", refusing("p", "example.com/v1/Widget", "exclude: {any: [{resources: {kinds: [Widget]}}]}, "), widget("v1"), widget("v2"), false},
		{"what it was written by is excluded", refusing("p", "Widget", "exclude: {any: [{resources: {kinds: [example.com/v2/Widget]}}]}, "), widget("v1"), widget("v2"), false},
		{"what it was written by is only named elsewhere", refusing("p", "example.com/v1/Widget]}}, {resources: {namespaces: [other], kinds: [Widget", ""), widget("v1"), widget("v2"), true},
		{"the other group", refusing("p", "events.k8s.io/v1/Event", ""), event("events.k8s.io"), event(""), true},
		{"the same group", refusing("p", "events.k8s.io/v1/Event", ""), event(""), event("events.k8s.io"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			apiVersion, _ := c.kind.ToAPIVersionAndKind()
			resource := map[string]string{"Widget": "widgets", "Event": "events"}[c.kind.Kind]
			r := created(t, clusterOf(t), c.kind, resource, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {namespace: dev, name: x}}", apiVersion, c.kind.Kind))
			set := setOf(t, c.policy)
			r.Asked = &request.Asked{Kind: c.asked, Resource: c.asked.GroupVersion().WithResource(resource)}
			r.Converted = true
			if d := set.Decide(t.Context(), r); d.Refuses() != c.want {
				t.Errorf("%+v", d.Results)
			}
			if d := set.Decide(t.Context(), r); c.want && !strings.Contains(d.Results[0].Message, "judged as "+c.kind.GroupVersion().String()+", which the API server made of the "+c.asked.GroupVersion().String()+" that was sent") {
				t.Errorf("it is not said that it was converted: %s", d.Results[0].Message)
			}
			// At the other path it is judged by all that is about it.
			r.Converted = false
			if d := set.Decide(t.Context(), r); c.want && !d.Refuses() {
				t.Errorf("as one that was not converted: %+v", d.Results)
			}
			r.Converted, r.Asked = true, nil
			if d := set.Decide(t.Context(), r); len(d.Results) > 0 {
				t.Errorf("where nothing was converted: %+v", d.Results)
			}
		})
	}
}

// TestConvertedAsksNothingElse: what holds whatever the version is was asked before.
func TestConvertedAsksNothingElse(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	r := created(t, clusterOf(t, namespace("dev", nil)), kind, "pods", "{apiVersion: v1, kind: Pod, metadata: {namespace: dev, name: x}, spec: {hostPID: true, containers: [{name: a, image: b}]}}")
	r.Converted = true
	r.Asked = &request.Asked{Kind: schema.GroupVersionKind{Version: "v2", Kind: "Pod"}, Resource: schema.GroupVersionResource{Version: "v2", Resource: "pods"}}
	set := setOf(t, "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: baseline}}}]}\n")
	if d := set.Decide(t.Context(), r); len(d.Results) > 0 {
		t.Errorf("%+v", d.Results)
	}
}

// TestUnconverted says which rules are about another version, where no one converts.
func TestUnconverted(t *testing.T) {
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Widget"}
	for _, c := range []struct{ name, policy, says string }{
		{"another version", refusing("p", "example.com/v1/Widget", ""), "not applied: the rule is about example.com/v1, and this is written in example.com/v2. An API server that serves both converts it and applies the rule; here no one does"},
		{"another version of any group", refusing("p", "v1/Widget", ""), "the rule is about example.com/v1"},
		{"another version, excluded", refusing("p", "v1/Widget", "exclude: {any: [{resources: {namespaces: [dev]}}]}, "), ""},
		{"another group", refusing("p", "example.org/v1/Widget", ""), ""},
		{"another kind", refusing("p", "example.com/v1/Gadget", ""), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := created(t, clusterOf(t), widget, "widgets", "{apiVersion: example.com/v2, kind: Widget, metadata: {namespace: dev, name: x}}")
			set := setOf(t, c.policy)
			if d := set.Decide(t.Context(), r); len(d.Results) > 0 {
				t.Errorf("where it is converted: %+v", d.Results)
			}
			r.Unconverted = true
			d := set.Decide(t.Context(), r)
			if c.says == "" {
				if len(d.Results) > 0 {
					t.Errorf("%+v", d.Results)
				}
				return
			}
			if got := only(t, d); got.Status != decision.Skip || !strings.Contains(got.Message, c.says) || d.Refuses() {
				t.Errorf("%+v", got)
			}
		})
	}
}
