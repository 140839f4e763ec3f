package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/request"
)

// TestGeneratedRulesAndSubresources hold for what makes pods, and not for what only says
// how that is.
func TestGeneratedRulesAndSubresources(t *testing.T) {
	store, _ := started(t, yamlOf("ClusterPolicy", "p", podBaseline), yamlOf("PodKind", "farms", farms))
	set := store.Set()
	for _, c := range []struct {
		subresource string
		refused     bool
	}{{"", true}, {"status", false}, {"resize", false}, {"scale", false}} {
		r := writes(t, set, dirtyFarm)
		r.Operation, r.Subresource = request.Update, c.subresource
		r.OldObject = writes(t, set, dirtyFarm).Object
		r.OldObject.Pods[0].Spec.Containers[0].SecurityContext = nil
		if d := set.Decide(t.Context(), r); d.Refuses() != c.refused || !c.refused && len(d.Results) > 0 {
			t.Errorf("subresource %q: refused is %v: %+v", c.subresource, d.Refuses(), d.Results)
		}
	}
}

// TestRulesThatCannotTellWhetherTheyApply say so, though they would apply by something
// else that they are about.
func TestRulesThatCannotTellWhetherTheyApply(t *testing.T) {
	const labels = "namespaceSelector: {matchLabels: {env: prod}}"
	for name, c := range map[string]struct{ match, document string }{
		"as what makes pods":                        {"{resources: {kinds: [Deployment], " + labels + "}}, {resources: {kinds: [Pod]}}", shopWeb},
		"as its pods, of a kind that is called Pod": {"{resources: {kinds: [x.io/v1/Pod]}}, {resources: {kinds: [v1/Pod], " + labels + "}}", strings.Replace(dirtyFarm, "Farm", "Pod", 1)},
		"as its pods":                               {"{resources: {kinds: [Pod], " + labels + "}}", shopWeb},
		"as its pods, but for it":                   {"{resources: {kinds: [Pod]}}]}\n    exclude: {any: [{resources: {kinds: [Deployment], " + labels + "}}", shopWeb},
	} {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, yamlOf("PodKind", "pods", "spec: {group: x.io, kinds: [Pod], pods: [{path: spec.template}]}"),
				rulePolicy("sallyport.io/autogen-controllers: all", "match: {any: ["+c.match+"]}\n    validate: {pattern: {metadata: {=(name): '?*'}}}"))
			r := writes(t, set, c.document)
			r.Cluster = unreadable{}
			if got := only(t, set.Decide(t.Context(), r)); got.Status != decision.Error || !strings.Contains(got.Message, "whether the rule is about this") {
				t.Errorf("%s: %s", got.Status, got.Message)
			}
		})
	}
}

// TestNeedsPowers asks for RBAC only where some policy weighs what accounts may do.
func TestNeedsPowers(t *testing.T) {
	rules := deny0(`{rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}`)
	for policy, want := range map[string]bool{
		rules: false,
		deny0("{podSecurityRules: {blockFactors: [hostPID]}}"):                false,
		deny0("{podSecurityRules: {blockFactors: [powerfulServiceAccount]}}"): true,
	} {
		if got := setOf(t, policy).NeedsPowers(); got != want {
			t.Errorf("%s: %v", policy, got)
		}
	}
	if setOf(t).NeedsPowers() {
		t.Error("a set without policies needs RBAC")
	}
}
