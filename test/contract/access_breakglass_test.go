package contract

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// escalation is a BreakglassEscalation whose overrides and whatever else are given.
func escalation(name, overrides, more string) string {
	return fmt.Sprintf(`apiVersion: sallyport.io/v1alpha1
kind: BreakglassEscalation
metadata: {name: %s, uid: u-%s}
spec:
  allowed: {clusters: ["prod-*"], groups: [on-call]}
  approvers: {users: [bob], groups: [leads]}
  podSecurityOverrides: %s
  %s
`, name, name, overrides, more)
}

// session is one of alice in prod-eu that was approved by bob ten minutes ago and
// ends in fifty, except for what is given.
type session struct {
	name, escalation, user, cluster, state string
	begin, end                             time.Duration
	approval, terms, spec                  string
}

func (s session) String() string {
	or := func(text *string, otherwise string) {
		if *text == "" {
			*text = otherwise
		}
	}
	or(&s.name, "s")
	or(&s.escalation, "emergency-access")
	or(&s.user, "alice")
	or(&s.cluster, "prod-eu")
	or(&s.state, "Approved")
	or(&s.approval, "{by: bob, at: %[1]s}")
	if s.begin == 0 {
		s.begin = -10 * time.Minute
	}
	if s.end == 0 {
		s.end = 50 * time.Minute
	}
	at := func(d time.Duration) string { return `"` + time.Now().UTC().Add(d).Format(time.RFC3339) + `"` }
	if strings.Contains(s.approval, "%[1]s") {
		s.approval = fmt.Sprintf(s.approval, at(s.begin))
	}
	return fmt.Sprintf(`apiVersion: sallyport.io/v1alpha1
kind: BreakglassSession
metadata: {name: %s, uid: u-%s}
spec: {user: %s, cluster: %s, escalationRef: %s, requestReason: INC-1%s}
status: {state: %s, requestedBy: %s, approvedAt: %s, expiresAt: %s, approvals: [%s]%s}
`, s.name, s.name, s.user, s.cluster, s.escalation, s.spec, s.state, s.user, at(s.begin), at(s.end), s.approval, s.terms)
}

// riskyForSessions denies by score, by block list, and for lack of an approval.
const riskyForSessions = `{
  riskFactors: {hostPID: 70, hostPathWritable: 60, runAsRoot: 40, privilegedContainer: 90, hostNetwork: 80},
  thresholds: [{maxScore: 30, action: allow}, {maxScore: 60, action: requireApproval}, {maxScore: 1000, action: deny}],
  blockFactors: [hostNetwork, privilegedContainer], failMode: closed}`

// TestEscalationOverride is the tenth scenario of the document "Pod Security Risk
// Classification", each way in which an override counts or does not, at both doors.
func TestEscalationOverride(t *testing.T) {
	t.Parallel()
	const all = "{enabled: true, maxAllowedScore: 1000, exemptFactors: [privilegedContainer, hostNetwork]}"
	tests := []struct {
		name      string
		overrides string
		more      string
		sessions  []session
		pod       string
		decision  string
	}{
		{"no session", all, "", nil, "shop/risky", "deny"},
		{"a score let in", "{enabled: true, maxAllowedScore: 130}", "", []session{{}}, "shop/risky", "allow"},
		{"one point too many", "{enabled: true, maxAllowedScore: 129}", "", []session{{}}, "shop/risky", "deny"},
		{"no score given", "{enabled: true}", "", []session{{}}, "shop/risky", "deny"},
		{"not enabled", "{enabled: false, maxAllowedScore: 130}", "", []session{{}}, "shop/risky", "deny"},
		{"a blocked factor is not a score", "{enabled: true, maxAllowedScore: 1000}", "", []session{{}}, "shop/privileged", "deny"},
		{"exempt from the block list and the score", "{enabled: true, exemptFactors: [privilegedContainer]}", "", []session{{}}, "shop/privileged", "allow"},
		{"exempt is another factor", "{enabled: true, exemptFactors: [hostNetwork]}", "", []session{{}}, "shop/privileged", "deny"},
		{"exempt, and what is left scores", "{enabled: true, maxAllowedScore: 69, exemptFactors: [privilegedContainer]}", "", []session{{}}, "shop/both", "deny"},
		{"exempt, and what is left is let in", "{enabled: true, maxAllowedScore: 70, exemptFactors: [privilegedContainer]}", "", []session{{}}, "shop/both", "allow"},
		{"approval required, and had", "{enabled: true}", "", []session{{}}, "shop/root", "allow"},
		{"approval required, and not had", "{enabled: true}", "", []session{{state: "Pending"}}, "shop/root", "deny"},
		{"a namespace in scope", "{enabled: true, maxAllowedScore: 130, namespaceScope: {patterns: [\"sh*\"]}}", "", []session{{}}, "shop/risky", "allow"},
		{"a namespace out of scope", "{enabled: true, maxAllowedScore: 130, namespaceScope: {patterns: [\"sh*\"]}}", "", []session{{}}, "bank/risky", "deny"},
		{"labels in scope", "{enabled: true, maxAllowedScore: 130, namespaceScope: {selectorTerms: [{matchLabels: {tier: low}}]}}", "", []session{{}}, "shop/risky", "allow"},
		{"labels out of scope", "{enabled: true, maxAllowedScore: 130, namespaceScope: {selectorTerms: [{matchLabels: {tier: low}}]}}", "", []session{{}}, "bank/risky", "deny"},
		{"overrides not approved", "{enabled: true, maxAllowedScore: 130, requireApproval: true, approvers: {groups: [security]}}", "", []session{{}}, "shop/risky", "deny"},
		{"overrides approved", "{enabled: true, maxAllowedScore: 130, requireApproval: true, approvers: {groups: [security]}}", "", []session{{approval: "{by: carol, at: %[1]s, overrides: true}"}}, "shop/risky", "allow"},
		{"overrides approved by name", "{enabled: true, maxAllowedScore: 130, requireApproval: true, approvers: {users: [bob]}}", "", []session{{}}, "shop/risky", "allow"},
		{"of another user", all, "", []session{{user: "dave"}}, "shop/risky", "deny"},
		{"for another cluster", all, "", []session{{cluster: "prod-us"}}, "shop/risky", "deny"},
		{"expired", all, "", []session{{end: -time.Minute}}, "shop/risky", "deny"},
		{"longer than the escalation gives", all, "maxValidFor: 5m", []session{{}}, "shop/risky", "deny"},
		{"not used for too long", all, "idleTimeout: 5m", []session{{}}, "shop/risky", "deny"},
		{"not begun", all, "", []session{{state: "WaitingForScheduledTime", spec: `, scheduledStartTime: "2099-01-01T00:00:00Z"`}}, "shop/risky", "deny"},
		{"revoked", all, "", []session{{state: "Revoked"}}, "shop/risky", "deny"},
		{"rejected", all, "", []session{{state: "Rejected"}}, "shop/risky", "deny"},
		{"withdrawn", all, "", []session{{state: "Withdrawn"}}, "shop/risky", "deny"},
		{"of an escalation that is gone", all, "", []session{{escalation: "gone"}}, "shop/risky", "deny"},
		{"less when it was approved", all, "", []session{{terms: ", terms: {podSecurityOverrides: {enabled: true, maxAllowedScore: 100}}"}}, "shop/risky", "deny"},
		{"less now", "{enabled: true, maxAllowedScore: 100}", "", []session{{terms: ", terms: {podSecurityOverrides: {enabled: true, maxAllowedScore: 1000}}"}}, "shop/risky", "deny"},
		{"as much then as now", "{enabled: true, maxAllowedScore: 130}", "", []session{{terms: ", terms: {podSecurityOverrides: {enabled: true, maxAllowedScore: 130}}"}}, "shop/risky", "allow"},
		{"one strict and one lenient", all, "", []session{{name: "a", escalation: "strict"}, {name: "b"}}, "shop/risky", "allow"},
		{"only the strict one", all, "", []session{{name: "a", escalation: "strict"}}, "shop/risky", "deny"},
		{"two halves make no whole", "{enabled: true, exemptFactors: [privilegedContainer]}", "", []session{{name: "a", escalation: "scores"}, {name: "b"}}, "shop/both", "deny"},
	}
	others := escalation("strict", "{enabled: true, maxAllowedScore: 40}", "") + "---\n" + escalation("scores", "{enabled: true, maxAllowedScore: 1000}", "")
	const namespaces = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {tier: low}}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: bank, labels: {tier: high}}\n---\n"
	objects := namespaces + documents(t,
		newPod("shop", "risky", hostPID, hostPath("data", "/srv/data", false), mount(0, "data", false)), newPod("bank", "risky", hostPID, hostPath("data", "/srv/data", false), mount(0, "data", false)),
		newPod("shop", "privileged", first(privileged)), newPod("shop", "both", first(privileged), hostPID), newPod("shop", "root", first(root)),
	)
	for _, door := range doors {
		for _, tt := range tests {
			t.Run(tt.name+"/"+door, func(t *testing.T) {
				t.Parallel()
				text := escalation("emergency-access", tt.overrides, tt.more) + "---\n" + others
				for _, s := range tt.sessions {
					text += "---\n" + s.String()
				}
				dir := files(t, map[string]string{"policy.yaml": denyPolicy("risk", riskyForSessions), "breakglass.yaml": text, "objects.yaml": objects})
				access(t, dir, "exec", tt.pod, "--cluster", "prod-eu", "--door", door, "--as", "alice", "--as-group", "on-call").expect(t, tt.decision)
			})
		}
	}
}

// TestEscalationIsOffered names what would help, with the command to ask, and that
// only to those who may ask.
func TestEscalationIsOffered(t *testing.T) {
	t.Parallel()
	const command = "sallyport request session emergency-access --cluster prod-eu --reason"
	objects := documents(t, newPod("shop", "root", first(root)), newPod("shop", "hostnetwork", hostNetwork))
	text := escalation("emergency-access", "{enabled: true}", "")
	dir := files(t, map[string]string{"policy.yaml": denyPolicy("risk", riskyForSessions), "breakglass.yaml": text, "objects.yaml": objects})
	for _, door := range doors {
		for name, tt := range map[string]struct {
			pod, cluster, group string
			offered             bool
		}{
			"would help":      {"shop/root", "prod-eu", "on-call", true},
			"may not ask":     {"shop/root", "prod-eu", "developers", false},
			"another cluster": {"shop/root", "dev-eu", "on-call", false},
			"would not help":  {"shop/hostnetwork", "prod-eu", "on-call", false},
		} {
			t.Run(name+"/"+door, func(t *testing.T) {
				t.Parallel()
				j := access(t, dir, "exec", tt.pod, "--cluster", tt.cluster, "--door", door, "--as", "alice", "--as-group", tt.group)
				j.expect(t, "deny")
				if strings.Contains(j.outcome.stdout, command) != tt.offered {
					t.Errorf("the command to ask is there: %v, want %v:\n%s", !tt.offered, tt.offered, j.outcome.stdout)
				}
			})
		}
	}
}

// TestSessionsAreNamed has the result name the session that lets somebody in, and
// what would have followed without it.
func TestSessionsAreNamed(t *testing.T) {
	t.Parallel()
	text := escalation("emergency-access", "{enabled: true, maxAllowedScore: 1000}", "") + "---\n" + escalation("strict", "{enabled: true, maxAllowedScore: 10}", "") +
		"---\n" + session{name: "a", escalation: "strict"}.String() + "---\n" + session{name: "b"}.String()
	dir := files(t, map[string]string{"policy.yaml": denyPolicy("risk", riskyForSessions), "breakglass.yaml": text, "objects.yaml": documents(t, newPod("shop", "pid", hostPID))})
	for _, door := range doors {
		j := access(t, dir, "exec", "shop/pid", "--cluster", "prod-eu", "--door", door, "--as", "alice", "--as-group", "on-call")
		j.expect(t, "allow")
		if len(j.Results) != 1 || j.Results[0].Status != "skip" {
			t.Fatalf("%s: %+v", door, j.Results)
		}
		for _, want := range []string{"BreakglassSession b", "escalation emergency-access", "reason INC-1", "approved by bob", "without it: "} {
			if !strings.Contains(j.Results[0].Message, want) {
				t.Errorf("%s: without %q: %s", door, want, j.Results[0].Message)
			}
		}
	}
}
