package match

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

func blockOf(t *testing.T, text string) *Match {
	t.Helper()
	if text == "" {
		return nil
	}
	m := &v1alpha1.Match{}
	if err := yaml.UnmarshalStrict([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	compiled, errs := Compile(m, field.NewPath("match"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return compiled
}

func TestReach(t *testing.T) {
	t.Parallel()
	many := func(labels string) string {
		text := "any:\n"
		for i := range maxOpen + 2 {
			text += fmt.Sprintf("- resources: {kinds: [Pod], selector: {matchLabels: {own%d: a}}, namespaceSelector: {matchLabels: {%s: a}}}\n", i, labels)
		}
		return text
	}
	const prod, dev, bothKinds = `{kinds: [Pod], namespaceSelector: {matchLabels: {env: prod}}}`, `{kinds: [Pod], namespaceSelector: {matchLabels: {env: dev}}}`, `{kinds: [Pod, Service], namespaceSelector: {matchLabels: {env: prod}}}`
	for _, tt := range []struct {
		name, match, exclude string
		before, after        map[string]string
		loses, keeps         bool
	}{
		{"left", "any: [{resources: " + prod + "}]", "", map[string]string{"env": "prod"}, nil, true, false},
		{"come under", "any: [{resources: " + prod + "}]", "", nil, map[string]string{"env": "prod"}, false, false},
		{"still under", "any: [{resources: " + prod + "}]", "", map[string]string{"env": "prod"}, map[string]string{"env": "prod", "a": "b"}, false, true},
		{"from one to the other", "any: [{resources: " + prod + "}, {resources: " + dev + "}]", "", map[string]string{"env": "prod"}, map[string]string{"env": "dev"}, false, true},
		{"from one to a smaller one", "any: [{resources: " + bothKinds + "}, {resources: " + dev + "}]", "", map[string]string{"env": "prod"}, map[string]string{"env": "dev"}, true, true},
		{"all of which one is left", "all: [{resources: " + prod + "}, {resources: {kinds: [Pod], namespaceSelector: {matchLabels: {a: b}}}}]", "", map[string]string{"env": "prod", "a": "b"}, map[string]string{"env": "prod"}, true, false},
		{"excluded", "any: [{resources: {kinds: [Pod]}}]", "any: [{resources: " + dev + "}]", nil, map[string]string{"env": "dev"}, true, false},
		{"excluded already", "any: [{resources: {kinds: [Pod]}}]", "any: [{resources: " + dev + "}, {resources: {kinds: [\"*\"], namespaceSelector: {matchLabels: {a: b}}}}]", map[string]string{"a": "b"}, map[string]string{"a": "b", "env": "dev"}, false, false},
		{"another namespace", "any: [{resources: {kinds: [Pod], namespaces: [\"ops-*\"], namespaceSelector: {matchLabels: {env: prod}}}}]", "", map[string]string{"env": "prod"}, nil, false, false},
		{"kinds without a namespace", "any: [{resources: {kinds: [ClusterRole]}}]", "any: [{resources: {kinds: [ClusterRole], namespaceSelector: {matchLabels: {env: dev}}}}]", nil, map[string]string{"env": "dev"}, false, false},
		{"names that only one pattern has", "any: [{resources: {kinds: [Pod], names: [\"a*\"], namespaceSelector: {matchLabels: {env: prod}}}}, {resources: {kinds: [Pod], names: [\"*\"], namespaceSelector: {matchLabels: {env: dev}}}}]", "", map[string]string{"env": "prod"}, map[string]string{"env": "dev"}, false, true},
		{"only some operations", "any: [{resources: {kinds: [Pod], operations: [CREATE, UPDATE], namespaceSelector: {matchLabels: {env: prod}}}}, {resources: {kinds: [Pod], operations: [CREATE], namespaceSelector: {matchLabels: {env: dev}}}}]", "", map[string]string{"env": "prod"}, map[string]string{"env": "dev"}, true, true},
		{"all operations again", "any: [{resources: {kinds: [Pod], operations: [CREATE], namespaceSelector: {matchLabels: {env: prod}}}}, {resources: " + dev + "}]", "", map[string]string{"env": "prod"}, map[string]string{"env": "dev"}, false, true},
		{"too many to go through, left", many("env"), "", map[string]string{"env": "a"}, nil, true, true},
		{"too many to go through, come under", many("env"), "", nil, map[string]string{"env": "a"}, false, true},
		{"what makes pods", "any: [{resources: {kinds: [Pod]}}]", "any: [{resources: {kinds: [Deployment], namespaceSelector: {matchLabels: {env: dev}}}}]", nil, map[string]string{"env": "dev"}, true, true},
		{"what makes none", "any: [{resources: {kinds: [Pod]}}]", "any: [{resources: {kinds: [Service], namespaceSelector: {matchLabels: {env: dev}}}}]", nil, map[string]string{"env": "dev"}, false, true},
	} {
		r := NewReach(blockOf(t, tt.match), blockOf(t, tt.exclude), func(kind string) bool { return kind == "Deployment" }, Worlds{Inside: true, Itself: true})
		c := &Relabelling{Namespace: "shop", Before: tt.before, After: tt.after}
		if got := r.Loses(c); got != tt.loses {
			t.Errorf("%s: loses %v, want %v", tt.name, got, tt.loses)
		}
		if got := r.Keeps(c); got != tt.keeps {
			t.Errorf("%s: keeps %v, want %v", tt.name, got, tt.keeps)
		}
	}
}
