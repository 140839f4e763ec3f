package record

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

func execRequest() *request.Request {
	return &request.Request{
		Door: request.Admission, UID: "u1", ClusterName: "prod", Operation: request.Connect,
		User:     request.User{Name: "alice", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{"token": {"s3cr3t"}, "scopes": {"x"}}},
		Kind:     schema.GroupVersionKind{Version: "v1", Kind: "PodExecOptions"},
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Subresource: "exec", Namespace: "shop", Name: "web",
		Options: &request.ConnectOptions{Kind: "PodExecOptions", Container: "app"},
	}
}

func risk(status decision.Status, score int, factors ...string) decision.Result {
	return decision.Result{
		Policy: "strict", Rule: "podSecurityRules", Kind: "DenyPolicy", Status: status, Action: decision.Enforce,
		Message: "Risk score", Score: &score, Factors: factors,
		Findings: []decision.Finding{{Path: "spec.hostNetwork", Value: "true", Detail: "hostNetwork"}},
	}
}

func decided(results ...decision.Result) *decision.Decision {
	d := decision.Of(results)
	return &d
}

func TestMetrics(t *testing.T) {
	r := New(Options{
		Now: func() time.Time { return start },
		Policies: func() PolicyState {
			return PolicyState{Policies: map[string]int{"DenyPolicy": 2}, Loaded: start, Failures: 3}
		},
	})
	second := risk(decision.Warn, 60, "hostNetwork", "hostPID")
	second.Policy = "second"
	exempt := risk(decision.Pass, 0)
	exempt.Policy, exempt.Exempt, exempt.Score = "third", "namespace shop is exempt", nil
	d := decided(risk(decision.Fail, 190, "hostNetwork", "privilegedContainer"), second, exempt)
	r.Decided(execRequest(), d, time.Millisecond)
	// The same attempt, tried again by SPDY, counts once.
	r.Decided(execRequest(), d, time.Millisecond)
	bob := execRequest()
	bob.User.Name = "bob"
	r.Decided(bob, decided(risk(decision.Pass, 0)), time.Millisecond)
	r.Bad(request.Access, 400)

	want := `
# HELP sallyport_bad_requests_total Requests that were not judged, by door and HTTP status.
# TYPE sallyport_bad_requests_total counter
sallyport_bad_requests_total{code="400",door="access"} 1
# HELP sallyport_pod_security_denied_total Attempts to get into a pod that were denied for its risk.
# TYPE sallyport_pod_security_denied_total counter
sallyport_pod_security_denied_total{cluster="prod",policy="strict"} 1
# HELP sallyport_pod_security_evaluations_total Evaluations of a pod's risk by the action taken: allowed, warned, denied. One attempt of a user counts once.
# TYPE sallyport_pod_security_evaluations_total counter
sallyport_pod_security_evaluations_total{action="allowed",cluster="prod",policy="strict"} 1
sallyport_pod_security_evaluations_total{action="denied",cluster="prod",policy="strict"} 1
sallyport_pod_security_evaluations_total{action="warned",cluster="prod",policy="second"} 1
# HELP sallyport_pod_security_factors_total Risk factors found in pods that somebody tried to get into.
# TYPE sallyport_pod_security_factors_total counter
sallyport_pod_security_factors_total{cluster="prod",factor="hostNetwork"} 1
sallyport_pod_security_factors_total{cluster="prod",factor="hostPID"} 1
sallyport_pod_security_factors_total{cluster="prod",factor="privilegedContainer"} 1
# HELP sallyport_pod_security_risk_score Risk scores of pods that somebody tried to get into.
# TYPE sallyport_pod_security_risk_score histogram
sallyport_pod_security_risk_score_bucket{cluster="prod",le="10"} 1
sallyport_pod_security_risk_score_bucket{cluster="prod",le="30"} 1
sallyport_pod_security_risk_score_bucket{cluster="prod",le="50"} 1
sallyport_pod_security_risk_score_bucket{cluster="prod",le="70"} 2
sallyport_pod_security_risk_score_bucket{cluster="prod",le="90"} 2
sallyport_pod_security_risk_score_bucket{cluster="prod",le="100"} 2
sallyport_pod_security_risk_score_bucket{cluster="prod",le="150"} 2
sallyport_pod_security_risk_score_bucket{cluster="prod",le="200"} 3
sallyport_pod_security_risk_score_bucket{cluster="prod",le="+Inf"} 3
sallyport_pod_security_risk_score_sum{cluster="prod"} 250
sallyport_pod_security_risk_score_count{cluster="prod"} 3
# HELP sallyport_pod_security_warnings_total Attempts to get into a pod that were let through with a warning about its risk.
# TYPE sallyport_pod_security_warnings_total counter
sallyport_pod_security_warnings_total{cluster="prod",policy="second"} 1
# HELP sallyport_policies Policies in force, by kind.
# TYPE sallyport_policies gauge
sallyport_policies{kind="DenyPolicy"} 2
# HELP sallyport_policy_reload_failures_total Changes of policies that were refused, because a policy could not do what it says.
# TYPE sallyport_policy_reload_failures_total counter
sallyport_policy_reload_failures_total 3
# HELP sallyport_requests_total Reviews answered, by door, operation or verb, and decision: allow, warn, deny, error, wouldDeny.
# TYPE sallyport_requests_total counter
sallyport_requests_total{decision="allow",door="admission",operation="CONNECT"} 1
sallyport_requests_total{decision="deny",door="admission",operation="CONNECT"} 2
`
	err := testutil.GatherAndCompare(r.Registry(), strings.NewReader(want),
		"sallyport_pod_security_evaluations_total", "sallyport_pod_security_denied_total", "sallyport_pod_security_warnings_total",
		"sallyport_pod_security_factors_total", "sallyport_pod_security_risk_score", "sallyport_requests_total",
		"sallyport_policies", "sallyport_policy_reload_failures_total", "sallyport_bad_requests_total")
	if err != nil {
		t.Error(err)
	}
}

// TestWouldDeny counts, for each policy once, what it would have refused, and says so in
// the event.
func TestWouldDeny(t *testing.T) {
	audited, warned, open := risk(decision.Fail, 190), risk(decision.Warn, 190), risk(decision.Error, 0)
	audited.Action, audited.Policy = decision.ActionAudit, "audited"
	warned.Action, warned.Policy = decision.ActionWarn, "warned"
	open.Action, open.Policy = decision.ActionAudit, "open"
	audited.WouldDeny, warned.WouldDeny = true, true
	again := audited
	again.Rule = "rules[0]"
	refused := risk(decision.Fail, 190)
	for name, c := range map[string]struct {
		decision decision.Decision
		want     string
		event    string
	}{
		"by policies that do not deny": {decision.Of([]decision.Result{audited, again, warned, open, risk(decision.Warn, 60)}), `
sallyport_would_deny_total{door="admission",kind="DenyPolicy",policy="audited"} 1
sallyport_would_deny_total{door="admission",kind="DenyPolicy",policy="warned"} 1
`, "PodSecurityWarning"},
		"by one that denies":                         {decision.Of([]decision.Result{refused}), "", "PodSecurityDenied"},
		"by one that audits, beside one that denies": {decision.Of([]decision.Result{refused, audited}), "", "PodSecurityDenied"},
		"observed": {decided(refused, audited).Observed(func(*decision.Result) bool { return false }), `
sallyport_would_deny_total{door="admission",kind="DenyPolicy",policy="audited"} 1
sallyport_would_deny_total{door="admission",kind="DenyPolicy",policy="strict"} 1
`, "PodSecurityWouldDeny"},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{Now: func() time.Time { return start }})
			r.Decided(execRequest(), &c.decision, time.Millisecond)
			want := c.want
			if want != "" {
				want = "# HELP sallyport_would_deny_total Requests that a policy would have refused, and that were let in as it, or the installation, only observes, by door and by the kind and name of the policy.\n# TYPE sallyport_would_deny_total counter" + want
			}
			if err := testutil.GatherAndCompare(r.Registry(), strings.NewReader(want), "sallyport_would_deny_total"); err != nil {
				t.Error(err)
			}
			e := newEvent(execRequest(), &c.decision, "", start)
			if e.Type != c.event {
				t.Errorf("the event is %s", e.Type)
			}
			for _, result := range e.Results {
				if want := strings.Contains(c.want, `policy="`+result.Policy+`"`) || result.Policy == "audited"; result.WouldDeny != want && result.Action != decision.Enforce {
					t.Errorf("%s: would deny is %v", result.Policy, result.WouldDeny)
				}
			}
		})
	}
}

func TestLabelsAreBounded(t *testing.T) {
	l := newLabels(2)
	got := []string{l.value("a"), l.value("b"), l.value("c"), l.value("a"), l.value("d")}
	if diff := cmp.Diff([]string{"a", "b", "other", "a", "other"}, got); diff != "" {
		t.Error(diff)
	}
	if verb := operationLabel(&request.Request{Door: request.Access, Verb: "impersonate-on:user-info:get"}); verb != "other" {
		t.Errorf("an unknown verb is labelled %q", verb)
	}
}

func TestEvent(t *testing.T) {
	e := newEvent(execRequest(), decided(risk(decision.Fail, 190, "hostNetwork"), decision.Result{Kind: "ClusterPolicy", Status: decision.Pass}), "a1", start)
	line, err := apijson.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"time":"2026-11-28T09:00:00Z","type":"PodSecurityDenied","severity":"critical","door":"admission","cluster":"prod",` +
		`"user":{"name":"alice","uid":"7","groups":["dev"],"extraKeys":["scopes","token"]},"operation":"CONNECT",` +
		`"resource":"pods","subresource":"exec","namespace":"shop","name":"web","container":"app","uid":"u1","decision":"deny","attempt":"a1",` +
		`"results":[{"kind":"DenyPolicy","policy":"strict","rule":"podSecurityRules","status":"fail","action":"enforce","message":"Risk score","score":190,"factors":["hostNetwork"],` +
		`"findings":[{"path":"spec.hostNetwork","value":"true","detail":"hostNetwork"}]}]}`
	if diff := cmp.Diff(want, string(line)); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

func TestEventTypes(t *testing.T) {
	pods := &request.Request{Door: request.Admission, Operation: request.Create, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}}
	secrets := &request.Request{Door: request.Access, Verb: "get", Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}}
	audited := risk(decision.Fail, 190)
	audited.Action = decision.ActionAudit
	open := decision.Result{Kind: "DenyPolicy", Status: decision.Error, Action: decision.ActionAudit}
	excused := decision.Result{Kind: "ClusterPolicy", Status: decision.Skip, Exceptions: []decision.Exception{{Kind: "PolicyException", Name: "x"}}}
	for _, tt := range []struct {
		name   string
		req    *request.Request
		result decision.Result
		want   string
	}{
		{"denied", execRequest(), risk(decision.Fail, 190), "PodSecurityDenied/critical"},
		{"not judged", execRequest(), decision.Result{Status: decision.Error, Action: decision.Enforce}, "PodSecurityDenied/critical"},
		{"warning", execRequest(), risk(decision.Warn, 60), "PodSecurityWarning/warning"},
		{"audited", execRequest(), audited, "PodSecurityEvaluated/warning"},
		{"fail open", execRequest(), open, "PodSecurityEvaluated/warning"},
		{"allowed with risk", execRequest(), risk(decision.Pass, 20), "PodSecurityAllowed/info"},
		{"exempt", execRequest(), decision.Result{Status: decision.Pass, Exempt: "namespace"}, "PodSecurityAllowed/info"},
		{"plain allow", execRequest(), decision.Result{Status: decision.Pass}, ""},
		{"front door", pods, risk(decision.Fail, 1), "AdmissionDenied/critical"},
		{"front door, excused", pods, excused, "AdmissionAllowed/info"},
		{"side door, no pod", secrets, decision.Result{Status: decision.Fail, Action: decision.Enforce}, "AccessDenied/critical"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if e := newEvent(tt.req, decided(tt.result), "", start); e != nil {
				got = e.Type + "/" + e.Severity
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func BenchmarkDecided(b *testing.B) {
	r := New(Options{})
	req := &request.Request{Door: request.Admission, Operation: request.Create, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}}
	d := decided(decision.Result{Kind: "ClusterPolicy", Status: decision.Pass})
	b.ReportAllocs()
	for b.Loop() {
		r.Decided(req, d, time.Millisecond)
	}
}
