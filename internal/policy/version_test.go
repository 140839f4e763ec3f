package policy

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestVersions of what is in force are those of the objects of the API server. What comes
// from a file, or is not there, has none.
func TestVersions(t *testing.T) {
	const policy, source = `spec: {rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}`, "spec: {key: example.com/id, podAnnotation: {}}"
	store, feed := started(t)
	if problems := store.Replace("files", sourcesOf(t, yamlOf("DenyPolicy", "filed", policy))); len(problems) > 0 {
		t.Fatal(problems)
	}
	var objects []*unstructured.Unstructured
	for i, document := range []string{yamlOf("DenyPolicy", "a", policy), yamlOf("ClusterPolicy", "a", podBaseline), yamlOf("Policy", "shop/a", podBaseline), yamlOf("IdentitySource", "a", source)} {
		object := stored(t, document)[0]
		object.SetGeneration(int64(i) + 3)
		objects = append(objects, object)
	}
	feed.Take(objects)
	set := store.Set()
	want := map[PolicyRef]Version{
		{"DenyPolicy", "", "a"}:     {"DenyPolicya", 3},
		{"ClusterPolicy", "", "a"}:  {"ClusterPolicya", 4},
		{"Policy", "shop", "a"}:     {"Policyshopa", 5},
		{"IdentitySource", "", "a"}: {"IdentitySourcea", 6},
	}
	for ref, version := range want {
		if got := set.VersionOf(ref); got != version {
			t.Errorf("%v: %v, want %v", ref, got, version)
		}
	}
	if got := set.Stored(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, ref := range []PolicyRef{{"DenyPolicy", "", "filed"}, {"DenyPolicy", "", "gone"}, {"Policy", "other", "a"}} {
		if got := set.VersionOf(ref); got != (Version{}) {
			t.Errorf("%v has version %v", ref, got)
		}
	}
}
