package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

func TestCoverNothing(t *testing.T) {
	scoped := func(name, scope string) string {
		return `{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: ` + name + `}, spec: {` + scope + `podSecurityRules: {blockFactors: [hostPID]}}}`
	}
	for _, tt := range []struct {
		name, cluster, scope string
		want                 bool
	}{
		{"a pattern, no name", "", `appliesTo: {clusters: ["prod-*", edge]}, `, true},
		{"a name, no name", "", `appliesTo: {clusters: [prod]}, `, true},
		{"a pattern that wants a letter", "", `appliesTo: {clusters: ["?*"]}, `, true},
		{"every cluster, no name", "", `appliesTo: {clusters: ["*"]}, `, false},
		{"one of them is every cluster", "", `appliesTo: {clusters: [prod, "*"]}, `, false},
		{"no scope", "", "", false},
		{"a scope without clusters", "", `appliesTo: {tenants: [blue]}, `, false},
		{"another cluster, on purpose", "dev", `appliesTo: {clusters: ["prod-*"]}, `, false},
		{"this cluster", "prod-eu", `appliesTo: {clusters: ["prod-*"]}, `, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said := setOf(t, scoped("strict", tt.scope)).CoverNothing(tt.cluster, "--cluster-name")
			if got := len(said) == 1; got != tt.want || got && !(strings.Contains(said[0], "DenyPolicy strict covers nothing") && strings.Contains(said[0], "--cluster-name")) {
				t.Errorf("got %q", said)
			}
		})
	}
	both := setOf(t, scoped("b", `appliesTo: {clusters: [prod, "edge-?"]}, `), scoped("a", `appliesTo: {clusters: [prod]}, `))
	want := []string{
		"DenyPolicy a covers nothing: it is for the clusters prod, and this cluster has no name; give it one with --cluster",
		"DenyPolicy b covers nothing: it is for the clusters prod, edge-?, and this cluster has no name; give it one with --cluster",
	}
	if diff := cmp.Diff(want, both.CoverNothing("", "--cluster")); diff != "" {
		t.Errorf("sentences (-want +got):\n%s", diff)
	}
}

// TestStoreTells says that whoever watches a store hears of each set that comes
// into force, wherever it comes from, and of none that does not.
func TestStoreTells(t *testing.T) {
	store := NewStore(pod.Default(), time.Now, exception.Options{})
	var told []int
	store.Watch(func(set *Set) { told = append(told, set.Counts().DenyPolicies) })
	good := sourcesOf(t, strict)
	store.Replace("files", good)
	bad := sourcesOf(t, strict, strict)
	store.Replace("files", bad)
	store.Merge(sourcesOf(t, strings.Replace(strict, "name: strict", "name: other", 1)))
	store.Refuse(stored.Problems{{Detail: "unreadable"}})
	if diff := cmp.Diff([]int{1, 2}, told); diff != "" {
		t.Errorf("told of (-want +got):\n%s", diff)
	}
}
