package policy

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// TestNamesAndKeysThatAreTaken says of which object that somebody writes the name,
// or the key, is another's.
func TestNamesAndKeysThatAreTaken(t *testing.T) {
	rule := func(kinds string) string {
		return "spec: {rules: [{name: r, match: {any: [{resources: {kinds: [" + kinds + "]}}]}, validate: {pattern: {metadata: {=(name): y}}}}]}"
	}
	key := func(name, key string) string {
		return yamlOf("IdentitySource", name, "spec: {key: "+key+", projectedToken: {audience: "+name+"}}")
	}
	inFile := yamlOf("ClusterPolicy", "from-file", rule("Pod"))
	inCluster := yamlOf("ClusterPolicy", "from-api", rule("Pod"))
	sources := sourcesOf(t, inFile, inCluster, key("vault", "secrets"))
	sources.ClusterPolicies[1].Origin = ""
	sources.Identities[0].Origin = ""
	set, problems := Compile(sources, pod.Default(), exception.Options{Began: judgedAt})
	if problems != nil {
		t.Fatal(problems)
	}
	for name, c := range map[string]struct {
		kind, document, from string
		want                 decision.Status
		says                 string
	}{
		"a name of its own":                      {"ClusterPolicy", yamlOf("ClusterPolicy", "other", rule("Pod")), "", decision.Pass, ""},
		"that of a policy in a file":             {"ClusterPolicy", yamlOf("ClusterPolicy", "from-file", rule("Deployment")), "", decision.Fail, "is there twice: also in policies.yaml, document 1"},
		"the policy that stands in the file":     {"ClusterPolicy", inFile, "", decision.Pass, ""},
		"the same in other words":                {"ClusterPolicy", strings.Replace(inFile, "kinds: [Pod]", "kinds: [\"Pod\"]", 1), "", decision.Pass, ""},
		"its next version, read from a file":     {"ClusterPolicy", yamlOf("ClusterPolicy", "from-file", rule("Deployment")), "next.yaml, document 1", decision.Pass, ""},
		"that of a policy of another kind":       {"Policy", yamlOf("Policy", "shop/from-file", rule("Deployment")), "", decision.Pass, ""},
		"its own, as it is written again":        {"ClusterPolicy", yamlOf("ClusterPolicy", "from-api", rule("Deployment")), "", decision.Pass, ""},
		"a key of its own":                       {"IdentitySource", key("other", "others"), "", decision.Pass, ""},
		"the key of another":                     {"IdentitySource", key("other", "secrets"), "", decision.Fail, `"secrets" is the key of IdentitySource vault`},
		"the key that the source had before":     {"IdentitySource", key("vault", "secrets"), "", decision.Pass, ""},
		"the key of another, read from a file":   {"IdentitySource", key("other", "secrets"), "next.yaml, document 1", decision.Fail, `"secrets" is the key of IdentitySource vault`},
		"a key that the source did not have yet": {"IdentitySource", key("vault", "others"), "", decision.Pass, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := written(t, c.kind, c.document)
			r.Source = c.from
			d := set.Decide(t.Context(), r)
			got := d.Results[0]
			if got.Status != c.want || !strings.Contains(got.Message, c.says) {
				t.Errorf("%s %q, want %s with %q", got.Status, got.Message, c.want, c.says)
			}
		})
	}
}

// TestWhatIsForeseen is said of a policy that somebody writes, and nothing is looked up for
// one that is refused.
func TestWhatIsForeseen(t *testing.T) {
	const works = `spec: {rules: [{verbs: [delete], apiGroups: [""], resources: [namespaces]}]}`
	store := NewStore(pod.Default(), func() time.Time { return judgedAt }, exception.Options{Began: judgedAt})
	asked := 0
	store.Foresee(func(_ context.Context, set *Set) []string {
		asked += set.Counts().DenyPolicies
		return []string{"nobody asks about namespaces"}
	})
	if problems := store.Replace("files", sourcesOf(t, yamlOf("DenyPolicy", "from-file", works))); len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		name, document string
		want           decision.Status
		asked          int
	}{
		{"one that works", yamlOf("DenyPolicy", "other", works), decision.Warn, 1},
		{"one that cannot work", yamlOf("DenyPolicy", "other", "spec: {}"), decision.Fail, 0},
		{"one whose name is taken", yamlOf("DenyPolicy", "from-file", strings.Replace(works, "delete", "create", 1)), decision.Fail, 0},
	} {
		asked = 0
		got := only(t, store.Set().Decide(t.Context(), written(t, "DenyPolicy", c.document)))
		if got.Status != c.want || asked != c.asked || strings.Contains(got.Message, "nobody asks about namespaces") != (c.want == decision.Warn) {
			t.Errorf("%s: asked %d times: %s %s", c.name, asked, got.Status, got.Message)
		}
	}
}
