package policy

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/request"
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
