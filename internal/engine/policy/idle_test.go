package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// TestIdleRules warns of rules that no request can match, in the set and whoever
// writes them.
func TestIdleRules(t *testing.T) {
	own := func(kind, resources string) string {
		text := rulePolicy("", "match: {resources: {"+resources+"}}"+never)
		if kind == stored.KindPolicy {
			text = strings.Replace(strings.Replace(text, "kind: ClusterPolicy", "kind: Policy", 1), "metadata: {", "metadata: {namespace: shop, ", 1)
		}
		return text
	}
	for name, c := range map[string]struct{ kind, policy, want string }{
		"a connect that is created":  {stored.KindClusterPolicy, own(stored.KindClusterPolicy, "kinds: [Pod/exec], operations: [CREATE]"), "spec.rules[0].match.resources.kinds[0]: matches no request with operations [CREATE]: about Pod/exec the API server asks with CONNECT"},
		"a pod that is connected to": {stored.KindPolicy, own(stored.KindPolicy, "kinds: [Pod], operations: [CONNECT]"), "spec.rules[0].match.resources.kinds[0]: matches no request: what is connected to is a subresource"},
		"a deletion":                 {stored.KindClusterPolicy, own(stored.KindClusterPolicy, "kinds: [Namespace], operations: [DELETE]"), "spec.rules[0].match.resources.operations: matches no request: rules are not asked about DELETE"},
		"a deletion among others":    {stored.KindPolicy, own(stored.KindPolicy, "kinds: [Pod], operations: [UPDATE, DELETE]"), "spec.rules[0].match.resources.operations: rules are not asked about DELETE"},
		"excluded, and never there":  {stored.KindClusterPolicy, rulePolicy("", "match: {resources: {kinds: [Pod]}}\n    exclude: {resources: {kinds: [Pod/attach], operations: [UPDATE]}}"+never), "spec.rules[0].exclude.resources.kinds[0]: matches no request with operations [UPDATE]"},
		"a deletion, excluded":       {stored.KindClusterPolicy, rulePolicy("", "match: {resources: {kinds: [Pod]}}\n    exclude: {resources: {operations: [DELETE]}}"+never), ""},
		"all that is judged":         {stored.KindClusterPolicy, own(stored.KindClusterPolicy, "kinds: [Pod], operations: [CREATE, UPDATE]"), ""},
		"a module":                   {stored.KindClusterAdmissionPolicy, cap0("m", `rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods, pods/resize], operations: [CREATE]}]`), "spec.rules[0].resources[1]: matches no request with operations [CREATE]: about pods/resize the API server asks with UPDATE"},
	} {
		t.Run(name, func(t *testing.T) {
			warnings := setOf(t, c.policy).Warnings()
			if c.want == "" && len(warnings) > 0 || c.want != "" && (len(warnings) != 1 || !strings.Contains(warnings[0].At(), c.want)) {
				t.Fatalf("%v, want %s", warnings, c.want)
			}
			if c.kind == stored.KindClusterAdmissionPolicy {
				return // trying a module needs one
			}
			gvk, _ := object("sallyport.io/v1alpha1", c.kind, "")
			got := only(t, setOf(t).Decide(t.Context(), created(t, emptyCluster(t), gvk, "policies", c.policy)))
			if (got.Status == decision.Warn) != (c.want != "") || !strings.Contains(got.Message, c.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}
