package server

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// dayHas is what the server that enforces has to have said in the day, at which door: the
// kind and the rule that refused, with fail or error where it could not be judged, or why
// something was let in.
var dayHas = []string{
	"access DenyPolicy podSecurityRules fail", "access DenyPolicy podSecurityRules error",
	"access DenyPolicy rules[0] fail", "access DenyPolicy rules[2] fail", "access DenyPolicy rules[5] fail",
	"access IdentitySource use fail", "access IdentitySource use error",
	"access Sallyport not-known error", "access Sallyport cluster error",
	"access audit", "access warn", "access open", "access exempt", "access exception", "access session", "access granted",
	"admission DenyPolicy podSecurityRules fail", "admission DenyPolicy podSecurityRules error", "admission DenyPolicy rules[4] fail",
	"admission DenyPolicy podSecurityRules.exemptions.podLabels fail", "admission DenyPolicy namespace-labels fail",
	"admission ClusterPolicy team fail", "admission ClusterPolicy autogen-team fail", "admission ClusterPolicy autogen-cronjob-team fail",
	"admission ClusterPolicy pods fail", "admission ClusterPolicy no-shell fail", "admission ClusterPolicy replicas fail", "admission ClusterPolicy replicas error",
	"admission ClusterPolicy namespace-labels fail", "admission Policy no-toys fail", "admission ClusterAdmissionPolicy validate fail",
	"admission IdentitySource use fail", "admission IdentitySource immutable fail", "admission IdentitySource template-judged fail",
	// Policies that cannot work.
	"access DenyPolicy rules[0] error", "admission ClusterPolicy r error",
	"admission Sallyport not-known error", "admission Sallyport cluster error", "admission Sallyport policy error", "admission Sallyport review error",
	"admission Sallyport definitions fail", "admission Sallyport exception-workflow error", "admission DenyPolicy policy-works fail",
	"admission audit", "admission warn", "admission open", "admission exempt", "admission exception", "admission session",
}

// hasEverything fails where the day lacks a kind of thing that can be refused, or let in
// for a reason: nothing was compared of it then.
func hasEverything(t *testing.T, answers []dayAnswer) {
	t.Helper()
	found := map[string]bool{}
	for i := range answers {
		e := answers[i].event
		if e == nil {
			continue
		}
		if answers[i].granted {
			found["access granted"] = true
		}
		for j := range e.Results {
			what := ""
			switch r := &e.Results[j]; {
			case blocks(r):
				what = r.Kind + " " + r.Rule + " " + string(r.Status)
			case r.WouldDeny:
				what = string(r.Action)
			case r.Session != nil:
				what = "session"
			case len(r.Exceptions) > 0:
				what = "exception"
			case r.Exempt != "":
				what = "exempt"
			case r.Status == decision.Error:
				what = "open"
			}
			found[e.Door+" "+what] = true
		}
	}
	for _, what := range dayHas {
		if !found[what] {
			t.Errorf("the day lacks: %s", what)
		}
	}
}
