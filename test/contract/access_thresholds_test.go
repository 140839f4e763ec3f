package contract

import (
	"fmt"
	"strings"
	"testing"
)

// TestAccessThresholds pins the bounds: they are inclusive, and above the last
// everything is denied.
func TestAccessThresholds(t *testing.T) {
	t.Parallel()
	const thresholds = `[{maxScore: 20, action: allow}, {maxScore: 40, action: warn}, {maxScore: 60, action: requireApproval}, {maxScore: 80, action: deny}]`
	tests := []struct {
		score    int
		decision string
	}{
		{0, "allow"}, {19, "allow"}, {20, "allow"}, {21, "warn"}, {40, "warn"}, {41, "deny"},
		{60, "deny"}, {61, "deny"}, {80, "deny"}, {81, "deny"}, {100, "deny"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.score), func(t *testing.T) {
			t.Parallel()
			policy := denyPolicy("bounds", fmt.Sprintf("{riskFactors: {hostIPC: %d, hostPID: 1}, thresholds: %s}", tt.score, thresholds))
			j := judgePod(t, policy, newPod("shop", "web", hostIPC), "shop/web")
			j.expect(t, tt.decision)
			if got := j.only(t, "bounds").score(); got != fmt.Sprint(tt.score) {
				t.Errorf("score %s, want %d", got, tt.score)
			}
		})
	}
}

// TestAccessWarnHasAMessage says that a warning is not a silent allow.
func TestAccessWarnHasAMessage(t *testing.T) {
	t.Parallel()
	policy := denyPolicy("noisy", `{riskFactors: {hostIPC: 50}, thresholds: [{maxScore: 100, action: warn}]}`)
	for _, door := range doors {
		j := judgePod(t, policy, newPod("shop", "web", hostIPC), "shop/web", "--door", door)
		j.expect(t, "warn")
		r := j.only(t, "noisy")
		if r.Status == "pass" || r.Message == "" {
			t.Errorf("at the door %s the status is %q with message %q, want a warning that says something", door, r.Status, r.Message)
		}
	}
}

// TestAccessRequireApproval says that the denial tells how to go on.
func TestAccessRequireApproval(t *testing.T) {
	t.Parallel()
	policy := denyPolicy("ask-first", `{riskFactors: {hostIPC: 50}, thresholds: [{maxScore: 100, action: requireApproval}]}`)
	j := judgePod(t, policy, newPod("shop", "web", hostIPC), "shop/web")
	j.expect(t, "deny")
	wantContains(t, strings.ToLower(j.messages()), "approv")
}

// TestAccessBlockFactors covers the pure block list: it denies what it lists,
// nothing else, and scores nothing.
func TestAccessBlockFactors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		factors  string
		pod      []change
		decision string
		names    string
	}{
		{"the listed factor", "[hostNetwork]", []change{hostNetwork}, "deny", "hostNetwork"},
		{"the second of two", "[hostNetwork, privilegedContainer]", []change{first(privileged)}, "deny", "privilegedContainer"},
		{"an unlisted factor", "[hostNetwork]", []change{hostPID, hostIPC, first(privileged), first(root)}, "allow", ""},
		{"nothing at all", "[hostNetwork]", nil, "allow", ""},
		{"a capability", `["capability:SYS_ADMIN"]`, []change{first(adding("SYS_ADMIN"))}, "deny", "SYS_ADMIN"},
		{"another capability", `["capability:SYS_ADMIN"]`, []change{first(adding("NET_ADMIN"))}, "allow", ""},
		{"a capability behind ALL", `["capability:SYS_ADMIN"]`, []change{first(adding("ALL"))}, "deny", "SYS_ADMIN"},
		{"a capability written with CAP_ in the policy", `["capability:CAP_SYS_ADMIN"]`, []change{first(adding("SYS_ADMIN"))}, "deny", "SYS_ADMIN"},
		{"a capability written with CAP_ in the pod", `["capability:SYS_ADMIN"]`, []change{first(adding("CAP_SYS_ADMIN"))}, "deny", "SYS_ADMIN"},
		{"a capability in lower case", `["capability:SYS_ADMIN"]`, []change{first(adding("sys_admin"))}, "deny", "SYS_ADMIN"},
		{"in an init container", "[privilegedContainer]", []change{initial(privileged)}, "deny", "privilegedContainer"},
		{"in an ephemeral container", "[privilegedContainer]", []change{ephemeral(privileged)}, "deny", "privilegedContainer"},
		{"a factor beyond the document's", "[shareProcessNamespace]", []change{shareProcessNamespace}, "deny", "shareProcessNamespace"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := judgePod(t, denyPolicy("blocklist", "{blockFactors: "+tt.factors+"}"), newPod("shop", "web", tt.pod...), "shop/web")
			j.expect(t, tt.decision)
			r := j.only(t, "blocklist")
			if r.Score != nil {
				t.Errorf("score %s where there are no thresholds, want none", r.score())
			}
			wantContains(t, r.Message, tt.names)
		})
	}
}

// TestAccessOrder pins the order: scope, exemptions, block factors, score.
func TestAccessOrder(t *testing.T) {
	t.Parallel()
	const rules = `blockFactors: [hostNetwork], riskFactors: {hostNetwork: 10, hostPID: 90}, thresholds: [{maxScore: 50, action: allow}, {maxScore: 100, action: deny}]`
	tests := []struct {
		name     string
		rules    string
		pod      []change
		decision string
	}{
		{"a low score does not lift a block", "{" + rules + "}", []change{hostNetwork}, "deny"},
		{"a high score denies what is not blocked", "{" + rules + "}", []change{hostPID}, "deny"},
		{"an exemption comes before a block", "{" + rules + ", exemptions: {namespaces: [shop]}}", []change{hostNetwork}, "allow"},
		{"an exemption comes before the score", "{" + rules + ", exemptions: {podLabels: {trusted: \"yes\"}}}", []change{hostPID, labelled("trusted", "yes")}, "allow"},
		{"the scope comes before a block", "{appliesTo: {subresources: [attach]}, " + rules + "}", []change{hostNetwork}, "allow"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			judgePod(t, denyPolicy("ordered", tt.rules), newPod("shop", "web", tt.pod...), "shop/web").expect(t, tt.decision)
		})
	}
}
