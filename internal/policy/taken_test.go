package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/pass"
	"github.com/sallyport-io/sallyport/internal/pod"
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
	set, problems := Compile(sources, pod.Default(), pass.Options{Began: judgedAt})
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
