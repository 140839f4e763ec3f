package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// riskyPolicy denies privileged pods by their score, wants an approval for those on
// the network of their node, and blocks those that see the processes of it.
const riskyPolicy = `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: risky}
spec:
  podSecurityRules:
    riskFactors: {privilegedContainer: 90, hostNetwork: 40, capabilities: {NET_ADMIN: 50}}
    thresholds: [{maxScore: 10, action: allow}, {maxScore: 60, action: requireApproval}]
    blockFactors: [hostPID]
`

func escalation(name, overrides string) string {
	return fmt.Sprintf(`
apiVersion: sallyport.io/v1alpha1
kind: BreakglassEscalation
metadata: {name: %s}
spec:
  allowed: {clusters: ["prod-*"], groups: [developers]}
  approvers: {users: [bob]}
  escalatedGroup: oncall
  maxValidFor: 2h
  podSecurityOverrides: %s
`, name, overrides)
}

// session is one of alice, approved a minute before the test judges.
func session(name, escalation, more string) string {
	return fmt.Sprintf(`
apiVersion: sallyport.io/v1alpha1
kind: BreakglassSession
metadata: {name: %s}
spec: {cluster: prod-eu, user: alice, escalationRef: %s, requestReason: incident}
status:
  state: Approved
  approvedAt: %q
  expiresAt: %q
  approvals: [{by: bob, at: %q}]
%s`, name, escalation, judgedAt.Add(-time.Minute).Format(time.RFC3339), judgedAt.Add(time.Hour).Format(time.RFC3339), judgedAt.Add(-time.Minute).Format(time.RFC3339), more)
}

func hostNetwork(p *corev1.Pod) { p.Spec.HostNetwork = true }

func netAdmin(p *corev1.Pod) {
	p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}}}
}

// TestOverrides has each field of podSecurityOverrides decide.
func TestOverrides(t *testing.T) {
	tests := []struct {
		name, overrides string
		pod             func(*corev1.Pod)
		lets            bool
	}{
		{"a score within", "{enabled: true, maxAllowedScore: 90}", privileged, true},
		{"a score above", "{enabled: true, maxAllowedScore: 89}", privileged, false},
		{"not enabled", "{maxAllowedScore: 100}", privileged, false},
		{"no score given", "{enabled: true}", privileged, false},
		{"an approval is what is wanted", "{enabled: true}", hostNetwork, true},
		{"an approval for less", "{enabled: true, maxAllowedScore: 39}", hostNetwork, false},
		{"a factor out of the score", "{enabled: true, exemptFactors: [privilegedContainer]}", privileged, true},
		{"another factor", "{enabled: true, exemptFactors: [hostIPC]}", privileged, false},
		{"a capability out of the score", "{enabled: true, exemptFactors: ['capability:CAP_NET_ADMIN'], maxAllowedScore: 0}", netAdmin, true},
		{"another capability", "{enabled: true, exemptFactors: ['capability:SYS_TIME'], maxAllowedScore: 0}", netAdmin, false},
		{"a factor out of the block list", "{enabled: true, exemptFactors: [hostPID]}", func(p *corev1.Pod) { p.Spec.HostPID = true }, true},
		{"what is blocked, whatever the score", "{enabled: true, maxAllowedScore: 1000}", func(p *corev1.Pod) { p.Spec.HostPID = true }, false},
		{"this namespace", "{enabled: true, maxAllowedScore: 90, namespaceScope: {patterns: ['sh*']}}", privileged, true},
		{"another namespace", "{enabled: true, maxAllowedScore: 90, namespaceScope: {patterns: [other]}}", privileged, false},
		{"by its labels", "{enabled: true, maxAllowedScore: 90, namespaceScope: {selectorTerms: [{matchLabels: {team: shop}}]}}", privileged, true},
		{"by other labels", "{enabled: true, maxAllowedScore: 90, namespaceScope: {selectorTerms: [{matchLabels: {team: other}}]}}", privileged, false},
		{"approved by who may", "{enabled: true, maxAllowedScore: 90, requireApproval: true, approvers: {users: [bob]}}", privileged, true},
		{"approved by somebody else", "{enabled: true, maxAllowedScore: 90, requireApproval: true, approvers: {users: [carol]}}", privileged, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := setOf(t, riskyPolicy, escalation("emergency", tt.overrides), session("s", "emergency", ""))
			state := clusterOf(t, podNamed("shop", "web", tt.pod), namespace("shop", map[string]string{"team": "shop"}))
			d := set.Decide(t.Context(), exec(state, "shop", "web"))
			result := only(t, d)
			if scored := strings.HasSuffix(tt.name, " out of the score"); strings.Contains(result.Message, "; with it the score is 0") != scored {
				t.Errorf("of the score it says: %s", result.Message)
			}
			if d.Refuses() == tt.lets || (result.Status == decision.Skip) != tt.lets || (result.Session != nil) != tt.lets {
				t.Errorf("%s: %s", result.Status, result.Message)
			}
			if tt.lets && (len(result.Exceptions) != 1 || result.Exceptions[0].Kind != breakglass.KindSession || !strings.Contains(result.Message, "let in by BreakglassSession s (escalation emergency, reason incident, approved by bob, until ")) {
				t.Errorf("it does not say who lets whom in: %s", result.Message)
			}
		})
	}
}

// TestWhoseSession has a session count only for its user, its cluster and its time.
func TestWhoseSession(t *testing.T) {
	set := setOf(t, riskyPolicy, escalation("emergency", "{enabled: true, maxAllowedScore: 100}"), session("s", "emergency", ""))
	state := clusterOf(t, podNamed("shop", "web", privileged), namespace("shop", nil))
	tests := []struct {
		name   string
		change func(*request.Request)
		lets   bool
	}{
		{"its own", func(*request.Request) {}, true},
		{"another user", func(r *request.Request) { r.User.Name = "mallory" }, false},
		{"a name in another case", func(r *request.Request) { r.User.Name = "Alice" }, false},
		{"nobody", func(r *request.Request) { r.User.Name = "" }, false},
		{"another cluster", func(r *request.Request) { r.ClusterName = "prod-us" }, false},
		{"a cluster that the escalation is not for", func(r *request.Request) { r.ClusterName = "dev" }, false},
		{"before it began", func(r *request.Request) { r.Time = judgedAt.Add(-2 * time.Minute) }, false},
		{"its last moment", func(r *request.Request) { r.Time = judgedAt.Add(time.Hour - time.Nanosecond) }, true},
		{"the moment after", func(r *request.Request) { r.Time = judgedAt.Add(time.Hour) }, false},
		{"no time", func(r *request.Request) { r.Time = time.Time{} }, false},
		{"above all authorization", func(r *request.Request) { r.User.Groups = []string{"developers", "system:masters"} }, false},
		{"in none of the groups any more", func(r *request.Request) { r.User.Groups = []string{"others"} }, false},
		{"in no group", func(r *request.Request) { r.User.Groups = nil }, false},
		{"at the front door", func(r *request.Request) {
			r.Door, r.Verb, r.Operation, r.Kind = request.Admission, "", request.Connect, schema.GroupVersionKind{Version: "v1", Kind: "PodExecOptions"}
			r.Options = &request.ConnectOptions{Kind: "PodExecOptions", Container: "app"}
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := exec(state, "shop", "web")
			tt.change(r)
			if d := set.Decide(t.Context(), r); d.Refuses() == tt.lets {
				t.Errorf("%+v", d.Results)
			}
		})
	}
}

// TestTwoSessions has each session count by itself: what one excuses does not add up
// with what another does.
func TestTwoSessions(t *testing.T) {
	strict, lenient := escalation("a-strict", "{enabled: true, maxAllowedScore: 20}"), escalation("b-lenient", "{enabled: true, maxAllowedScore: 100}")
	exempt := escalation("c-exempt", "{enabled: true, exemptFactors: [hostPID], maxAllowedScore: 0}")
	both := func(p *corev1.Pod) { privileged(p); p.Spec.HostPID = true }
	for _, tt := range []struct {
		name string
		pod  func(*corev1.Pod)
		docs []string
		by   string
	}{
		{"the one that grants it is named", privileged, []string{strict, lenient, session("s1", "a-strict", ""), session("s2", "b-lenient", "")}, "s2"},
		{"in any order", privileged, []string{strict, lenient, session("s2", "a-strict", ""), session("s1", "b-lenient", "")}, "s1"},
		{"neither by itself", both, []string{lenient, exempt, session("s1", "b-lenient", ""), session("s2", "c-exempt", "")}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := setOf(t, append(tt.docs, riskyPolicy)...)
			result := only(t, set.Decide(t.Context(), exec(clusterOf(t, podNamed("shop", "web", tt.pod), namespace("shop", nil)), "shop", "web")))
			if tt.by == "" && result.Session != nil || tt.by != "" && (result.Session == nil || result.Session.Name != tt.by) {
				t.Errorf("%s: %+v", result.Message, result.Session)
			}
		})
	}
}

// TestScopesOfSessions has DenyPolicies hold for sessions.
func TestScopesOfSessions(t *testing.T) {
	policy := func(scope string) string {
		return "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: scoped}\nspec:\n  appliesTo: " + scope + "\n  rules: [{verbs: [delete], apiGroups: [''], resources: [secrets]}]\n"
	}
	emergency, bystander := escalation("emergency", "{}"), escalation("other", "{}")
	brings := strings.Replace(emergency, "escalatedGroup: oncall", "escalatedGroup: oncall\n  denyPolicyRefs: [scoped]", 1)
	for _, tt := range []struct {
		name  string
		docs  []string
		holds bool
	}{
		{"a session of it", []string{policy("{escalationRefs: [emergency]}"), emergency, session("s", "emergency", "")}, true},
		{"by a pattern", []string{policy("{escalationRefs: ['emer*']}"), emergency, session("s", "emergency", "")}, true},
		{"a session of another", []string{policy("{escalationRefs: [emergency]}"), emergency, bystander, session("s", "other", "")}, false},
		{"no session", []string{policy("{escalationRefs: [emergency]}"), emergency}, false},
		{"nothing is known of sessions", []string{policy("{escalationRefs: [emergency]}")}, true},
		{"this session", []string{policy("{sessions: [s]}"), emergency, session("s", "emergency", "")}, true},
		{"another session", []string{policy("{sessions: [x]}"), emergency, session("s", "emergency", "")}, false},
		{"both have to hold", []string{policy("{sessions: [s], escalationRefs: [other]}"), emergency, session("s", "emergency", "")}, false},
		{"a session brings it along", []string{policy("{sessions: [x]}"), brings, session("s", "emergency", "")}, true},
		{"it brought it along when it was approved", []string{policy("{sessions: [x]}"), emergency, session("s", "emergency", "  terms: {denyPolicyRefs: [scoped]}\n")}, true},
		{"it brought along another", []string{policy("{sessions: [x]}"), emergency, session("s", "emergency", "  terms: {denyPolicyRefs: [other]}\n")}, false},
		{"but not into another cluster", []string{policy("{clusters: [dev], sessions: [x]}"), brings, session("s", "emergency", "")}, false},
		{"this tenant", []string{policy("{tenants: [acme]}")}, true},
		{"another tenant", []string{policy("{tenants: [other]}")}, false},
		{"no tenant is known", []string{policy("{tenants: [other]}")}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &request.Request{
				Door: request.Access, Time: judgedAt, Verb: "delete", ClusterName: "prod-eu", Tenant: "acme", User: request.User{Name: "alice", Groups: []string{"developers"}},
				Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Namespace: "shop", Name: "token", Cluster: clusterOf(t),
			}
			if tt.name == "no tenant is known" {
				r.Tenant = ""
			}
			if d := setOf(t, tt.docs...).Decide(t.Context(), r); d.Refuses() != tt.holds {
				t.Errorf("%+v", d.Results)
			}
		})
	}
}

// TestDenialSaysHowToAsk has a denial name the escalations that would help, and only
// these.
func TestDenialSaysHowToAsk(t *testing.T) {
	set := setOf(t, riskyPolicy, escalation("enough", "{enabled: true, maxAllowedScore: 90}"), escalation("too-little", "{enabled: true, maxAllowedScore: 20}"),
		escalation("disabled", "{maxAllowedScore: 100}"), escalation("elsewhere", "{enabled: true, maxAllowedScore: 100, namespaceScope: {patterns: [other]}}"))
	state := clusterOf(t, podNamed("shop", "web", privileged), namespace("shop", nil))
	r := exec(state, "shop", "web")
	r.User.Groups = []string{"developers"}
	message := only(t, set.Decide(t.Context(), r)).Message
	if want := "BreakglassEscalation enough would allow it; ask with: sallyport request session enough --cluster prod-eu --reason TEXT"; !strings.Contains(message, want) {
		t.Errorf("%q, want %q in it", message, want)
	}
	r.User.Groups = []string{"others"}
	if message := only(t, set.Decide(t.Context(), r)).Message; strings.Contains(message, "request session") {
		t.Errorf("who may not ask is told to: %q", message)
	}
}

// TestSessionsAtANodeOfHarmlessPods has a session count, and say so, that lets the user at
// one pod of a node, and a denial say how to ask, whatever else runs there.
func TestSessionsAtANodeOfHarmlessPods(t *testing.T) {
	at := func(change func(*corev1.Pod)) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.NodeName = "n1"
			if change != nil {
				change(p)
			}
		}
	}
	state := clusterOf(t, namespace("a", nil), namespace("b", nil), namespace("c", nil), podNamed("a", "harmless", at(nil)), podNamed("b", "risky", at(privileged)), podNamed("c", "harmless", at(nil)))
	policy := strings.Replace(riskyPolicy, "  podSecurityRules:\n", "  podSecurityRules:\n    appliesTo: {subresources: [nodes/proxy]}\n", 1)
	for _, c := range []struct {
		docs    []string
		refused bool
		says    string
	}{
		{[]string{session("s", "e", "")}, false, "let in by"},
		{nil, true, "BreakglassEscalation e would allow it"},
	} {
		docs := append([]string{policy, escalation("e", "{enabled: true, maxAllowedScore: 100, namespaceScope: {patterns: [b]}}")}, c.docs...)
		r := exec(state, "", "n1")
		r.User.Groups = []string{"developers"}
		r.Verb, r.Resource.Resource, r.Subresource = "get", "nodes", "proxy"
		d := setOf(t, docs...).Decide(t.Context(), r)
		if got := only(t, d); d.Refuses() != c.refused || !strings.Contains(got.Message, c.says) || (got.Session == nil) != c.refused {
			t.Errorf("%s: %s, want %q", got.Status, got.Message, c.says)
		}
	}
}

// TestUsesOfWhatIsRefused has a session count as used where the request comes through,
// and neither where another policy refuses it nor in a dry run.
func TestUsesOfWhatIsRefused(t *testing.T) {
	state := clusterOf(t, podNamed("shop", "web", privileged), namespace("shop", nil))
	docs := []string{riskyPolicy, escalation("emergency", "{enabled: true, maxAllowedScore: 100}"), session("s", "emergency", "")}
	never := "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: never}\nspec:\n  rules: [{verbs: ['*'], apiGroups: [''], resources: [pods/exec]}]\n"
	for _, tt := range []struct {
		name    string
		docs    []string
		dry     bool
		refused bool
		uses    int
	}{
		{"let in", docs, false, false, 1},
		{"refused by another policy", append(docs[:3:3], never), false, true, 0},
		{"a dry run", docs, true, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ledger := &breakglass.Ledger{}
			set, sources := setOf(t, tt.docs...), sourcesOf(t, tt.docs...)
			var problems stored.Problems
			if set.Sessions, problems = compileBreakglass(&sources, ledger); len(problems) > 0 {
				t.Fatal(problems)
			}
			r := connecting(state, "exec", "shop", "web")
			r.DryRun = tt.dry
			d := set.Decide(t.Context(), r)
			if got := len(ledger.Take()); d.Refuses() != tt.refused || got != tt.uses {
				t.Errorf("%d sessions used, %+v", got, d.Results)
			}
		})
	}
}

// TestSessionsDoNotAddUp has one session alone let the user at a node: that two do half
// of it each is not enough.
func TestSessionsDoNotAddUp(t *testing.T) {
	on := func(p *corev1.Pod) { privileged(p); p.Spec.NodeName = "n1" }
	objects := []runtime.Object{podNamed("a", "one", on), podNamed("b", "two", on), namespace("a", nil), namespace("b", nil), namespace("c", nil)}
	over := func(name, namespaces string) string {
		return escalation(name, "{enabled: true, maxAllowedScore: 100, namespaceScope: {patterns: ["+namespaces+"]}}")
	}
	left := podNamed("c", "three", on)
	policy := strings.Replace(riskyPolicy, "  podSecurityRules:\n", "  podSecurityRules:\n    appliesTo: {subresources: [nodes/proxy]}\n", 1)
	halves := []string{policy, over("ea", "a"), over("eb", "b"), session("s1", "ea", ""), session("s2", "eb", "")}
	for _, tt := range []struct {
		name string
		docs []string
		by   string
		says string
	}{
		{"half each", halves, "", "the riskiest pod that node n1 runs is"},
		{"half each, and one is left", halves, "", "the riskiest pod that node n1 runs is c/three:"},
		{"one does all of it", append(halves[:5:5], over("ec", "a, b"), session("s3", "ec", "")), "s3", "let in by"},
		{"one does all of it, and another after it half", append(halves[:5:5], over("ec", "a, b"), session("s3", "ec", ""), session("s4", "ea", "")), "s3", "let in by"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			on := objects
			if strings.Contains(tt.says, "c/three") {
				on = append(on[:len(on):len(on)], left)
			}
			r := exec(clusterOf(t, on...), "", "n1")
			r.Verb, r.Resource.Resource, r.Subresource = "get", "nodes", "proxy"
			d := setOf(t, tt.docs...).Decide(t.Context(), r)
			result := only(t, d)
			if !strings.Contains(result.Message, tt.says) {
				t.Errorf("it says %q, want %q", result.Message, tt.says)
			}
			if d.Refuses() != (tt.by == "") || tt.by != "" && (result.Session == nil || result.Session.Name != tt.by) {
				t.Errorf("%s: %s", result.Status, result.Message)
			}
		})
	}
}
