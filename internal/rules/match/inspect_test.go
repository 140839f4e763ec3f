package match_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/match"
)

func TestExactKinds(t *testing.T) {
	for _, c := range []struct{ name, block, want string }{
		{"one", `kind: Pod`, "Pod"},
		{"several filters", `any: [{kind: [Pod, v1/Pod]}, {kind: apps/v1/Deployment}]`, "Deployment Pod"},
		{"a subresource", `kind: Pod/exec`, "Pod"},
		{"a wildcard", `any: [{kind: Pod}, {kind: [Service, "*Set"]}]`, "open"},
		{"no kind", `any: [{kind: Pod}, {name: a}]`, "open"},
		{"all", `all: [{kind: [Pod, Service]}, {kind: [Service, Node]}]`, "Service"},
		{"all, and one is open", `all: [{kind: Pod}, {name: a}]`, "open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kinds, exact := compile(t, c.block).ExactKinds()
			got := "open"
			if exact {
				got = strings.Join(slices.Sorted(maps.Keys(kinds)), " ")
			}
			if got != c.want {
				t.Errorf("ExactKinds = %s, want %s", got, c.want)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name, block string
		want        []match.Key
	}{
		{"a combination each", `{kind: [Pod, v1/Pod, Job], name: [a, b], namespace: ns}`,
			[]match.Key{{Kind: "Pod", Namespace: "ns", Name: "a"}, {Kind: "Pod", Namespace: "ns", Name: "b"}, {Kind: "Job", Namespace: "ns", Name: "a"}, {Kind: "Job", Namespace: "ns", Name: "b"}}},
		{"patterns are open", `{kind: [Pod, "*Set"], name: [a, "b-*", "*c"], namespace: "n?"}`, []match.Key{{}}},
		{"a pattern of names", `{kind: Pod, name: [a, "web-*", "ab?d*"]}`, []match.Key{{Kind: "Pod", Name: "a"}, {Kind: "Pod", Name: "web-", Prefix: true}, {Kind: "Pod", Name: "ab", Prefix: true}}},
		{"several filters", `any: [{kind: Pod, name: a}, {namespace: ns}, {name: a, kind: Pod}]`, []match.Key{{Kind: "Pod", Namespace: "", Name: "a"}, {Kind: "", Namespace: "ns", Name: ""}}},
		{"a label", `resources: {kinds: [Pod], selector: {matchLabels: {team: blue, "a*": b, app: "w*"}}}`, []match.Key{{Kind: "Pod", Label: match.Label{Key: "team", Value: "blue"}}}},
		{"a label with an empty value", `resources: {kinds: [Pod], selector: {matchLabels: {app: ""}}}`, []match.Key{{Kind: "Pod", Label: match.Label{Key: "app"}}}},
		{"patterns of labels are open", `resources: {kinds: [Pod], selector: {matchLabels: {"a*": b, app: "w*"}}}`, []match.Key{{Kind: "Pod"}}},
		{"one label of several", `resources: {kinds: [Pod], selector: {matchExpressions: [{key: x, operator: Exists}, {key: z, operator: NotIn, values: [c]}, {key: app, operator: In, values: [b, a]}]}}`,
			[]match.Key{{Kind: "Pod", Label: match.Label{Key: "app", Value: "a"}}, {Kind: "Pod", Label: match.Label{Key: "app", Value: "b"}}}},
		{"the label of one filter of all", `all: [{kind: Pod}, {resources: {selector: {matchLabels: {app: web}}}}]`, []match.Key{{Kind: "Pod", Label: match.Label{Key: "app", Value: "web"}}}},
		{"a label in one filter of any", `any: [{resources: {kinds: [Pod], selector: {matchLabels: {app: web}}}}, {kind: Job}]`, []match.Key{{Kind: "Pod", Label: match.Label{Key: "app", Value: "web"}}, {Kind: "Job"}}},
		{"only users", `subjects: [{kind: User, name: a}]`, []match.Key{{}}},
		{"all", `all: [{kind: Pod}, {name: [a, b], kind: [Pod, Job]}, {namespace: ns, name: "*"}, {name: a}]`, []match.Key{{Kind: "Pod", Namespace: "ns", Name: "a"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, compile(t, c.block).Keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeysHaveALimit(t *testing.T) {
	names := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("n%d", i))
		}
		return strings.Join(list, ", ")
	}
	if got := compile(t, `{kind: Pod, name: [`+names(64)+`]}`).Keys(); len(got) != 64 || got[0] != (match.Key{Kind: "Pod", Name: "n0"}) {
		t.Errorf("64 names have %d keys, the first %v", len(got), got[0])
	}
	for _, block := range []string{
		`{kind: Pod, name: [` + names(65) + `]}`,
		`any: [{kind: Pod, name: [` + names(64) + `]}, {kind: Job}]`,
		`{kind: [Pod, Job, Node], namespace: [` + names(5) + `], name: [` + names(5) + `]}`,
		`all: [{kind: Pod}, {name: [` + names(65) + `]}]`,
	} {
		if diff := cmp.Diff([]match.Key{{}}, compile(t, block).Keys()); diff != "" {
			t.Errorf("keys of %.40s... (-want +got):\n%s", block, diff)
		}
	}
}

func TestTargetKey(t *testing.T) {
	for _, c := range []struct {
		name   string
		target match.Target
		want   match.Key
	}{
		{"a pod", match.Target{Kind: gvk("", "v1", "Pod"), Namespace: "ns", Name: "a", GenerateName: "b"}, match.Key{Kind: "Pod", Namespace: "ns", Name: "a"}},
		{"no name yet", match.Target{Kind: gvk("", "v1", "Pod"), GenerateName: "a-"}, match.Key{Kind: "Pod", Name: "a-"}},
		{"a namespace", match.Target{Kind: gvk("", "v1", "Namespace"), Namespace: "b", Name: "a"}, match.Key{Kind: "Namespace", Namespace: "a", Name: "a"}},
		{"an exec", match.Target{Kind: gvk("", "v1", "PodExecOptions"), Subresource: "exec", Name: "a"}, match.Key{Kind: "Pod", Name: "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.target.Key(); got != c.want {
				t.Errorf("Key = %v, want %v", got, c.want)
			}
		})
	}
}

func TestPods(t *testing.T) {
	for _, c := range []struct {
		block string
		want  match.PodScope
	}{
		{`kind: Pod`, match.PodScope{Only: true, Named: true}},
		{`any: [{kind: [v1/Pod, core/v1/Pod]}, {kind: Pod, namespace: a}]`, match.PodScope{Only: true, Named: true}},
		{`kind: [Pod, Deployment]`, match.PodScope{Named: true, Mixed: true}},
		{`any: [{kind: Pod}, {kind: Deployment}]`, match.PodScope{Named: true, Mixed: true}},
		{`kind: [Pod, "*"]`, match.PodScope{Named: true, Mixed: true}},
		{`kind: [Pod, Pod/exec]`, match.PodScope{Named: true, Mixed: true, Subresource: true}},
		{`kind: [Pod, Pod/ephemeralcontainers]`, match.PodScope{Only: true, Named: true}},
		{`kind: Pod/ephemeralcontainers`, match.PodScope{}},
		{`kind: ["Po?"]`, match.PodScope{Wild: true}},
		{`kind: ["*Pod"]`, match.PodScope{Wild: true}},
		{`kind: ["*"]`, match.PodScope{}},
		{`kind: [Pod, "Po*"]`, match.PodScope{Named: true, Mixed: true, Wild: true}},
		{`kind: Pod/exec`, match.PodScope{Subresource: true}},
		{`kind: "Pod*"`, match.PodScope{Wild: true}},
		{`kind: foo.io/v1/Pod`, match.PodScope{}},
		{`kind: Deployment`, match.PodScope{}},
		{`any: [{kind: Pod}, {namespace: a}]`, match.PodScope{Named: true, Mixed: true}},
		{`all: [{kind: Pod}, {namespace: a}]`, match.PodScope{Named: true}},
		{`{kind: Pod, name: a}`, match.PodScope{Only: true, Named: true, Narrow: true}},
		{`resources: {kinds: [Pod], selector: {matchLabels: {a: b}}}`, match.PodScope{Only: true, Named: true, Narrow: true}},
		{`resources: {kinds: [Pod], annotations: {a: b}}`, match.PodScope{Only: true, Named: true, Narrow: true}},
		{`resources: {kinds: [Pod], namespaceSelector: {matchLabels: {a: b}}}`, match.PodScope{Only: true, Named: true}},
	} {
		t.Run(c.block, func(t *testing.T) {
			if diff := cmp.Diff(c.want, compile(t, c.block).Pods()); diff != "" {
				t.Errorf("Pods (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKindsAndNamespacesHavePaths(t *testing.T) {
	for _, c := range []struct {
		block string
		want  []string
	}{
		{`{kind: Pod, namespace: [a, "b*"]}`, []string{"match.kind Pod", "match.namespace[0] a", "match.namespace[1] b*"}},
		{`resources: {kinds: ["*", Job/status], namespaces: [a]}`, []string{"match.resources.kinds[0] ", "match.resources.kinds[1] Job status", "match.resources.namespaces[0] a"}},
		{`any: [{name: a}, {kind: Pod}]`, []string{"match.any[1].kind Pod"}},
		{`all: [{resources: {kinds: [Pod]}}, {namespace: a}]`, []string{"match.all[0].resources.kinds[0] Pod", "match.all[1].namespace a"}},
	} {
		t.Run(c.block, func(t *testing.T) {
			var got []string
			m := compile(t, c.block)
			m.Kinds(field.NewPath("match"), func(kind match.Kind, at *field.Path) {
				name, exact := kind.Exact()
				if !exact {
					name = ""
				}
				if kind.Subresource() != "" {
					name += " " + kind.Subresource()
				}
				got = append(got, at.String()+" "+name)
			})
			m.Namespaces(field.NewPath("match"), func(pattern string, at *field.Path) { got = append(got, at.String()+" "+pattern) })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
