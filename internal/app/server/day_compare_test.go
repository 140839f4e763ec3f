package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport-io/sallyport/internal/engine/identityrule"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/observe/record"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func asWritten(map[string]any) {}

// acting has each policy that denies do less: audit or warn, and modules monitor.
func acting(action string) func(object map[string]any) {
	return func(object map[string]any) {
		spec, _ := object["spec"].(map[string]any)
		switch object["kind"] {
		case stored.KindDenyPolicy:
			if spec["enforcementAction"] == nil {
				spec["enforcementAction"] = action
			}
		case stored.KindClusterPolicy, stored.KindPolicy:
			if given := spec["validationFailureAction"]; given == nil || given == "Enforce" {
				spec["validationFailureAction"] = action
			}
		case stored.KindClusterAdmissionPolicy:
			spec["mode"] = "monitor"
		}
	}
}

// canAudit reports whether a policy that audits or warns lets in what a result of it
// refuses: an IdentitySource does neither, and what labels of a namespace take away from rules and
// modules needs a right whatever their action is; and a policy that
// cannot work is not written by anybody.
func canAudit(r *record.EventResult) bool {
	switch r.Kind {
	case stored.KindDenyPolicy:
		return r.Rule != stored.RuleWorks || r.Status != decision.Fail
	case stored.KindClusterPolicy, stored.KindPolicy, stored.KindClusterAdmissionPolicy:
		return r.Rule != stored.RuleNamespaceLabels
	}
	return false
}

func blocks(r *record.EventResult) bool {
	return r.Action == decision.Enforce && (r.Status == decision.Fail || r.Status == decision.Error)
}

// dayExpected is what a server that lets in is to say and to count of one request.
type dayExpected struct {
	verdict decision.Verdict
	// would are the policies, as KIND/NAME, that would have refused what is let in.
	would []string
}

// would lists the policies that say so in an event, each once.
func would(e *record.Event) (found []string) {
	if e == nil {
		return nil
	}
	for i := range e.Results {
		r := &e.Results[i]
		name := r.Kind + "/" + r.Policy
		if r.PolicyNamespace != "" {
			name = r.Kind + "/" + r.PolicyNamespace + "/" + r.Policy
		}
		if r.WouldDeny && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// sameEvent compares all of two events that does not differ from server to server.
func sameEvent(want, got *record.Event) string {
	if want == nil && got == nil {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.IgnoreFields(record.Event{}, "Attempt"), cmpopts.EquateEmpty())
}

// copied is an event that can be changed.
func copied(e *record.Event) *record.Event {
	if e == nil {
		return nil
	}
	changed := *e
	changed.Results = slices.Clone(e.Results)
	return &changed
}

// observedAs compares what a server that observes says of a request with what one that
// enforces does, and returns what it is to count.
func observedAs(t *testing.T, r *dayRequest, e, o *dayAnswer) dayExpected {
	t.Helper()
	switch {
	case !o.asked:
		t.Errorf("%s: what it follows from was not let in", r.name)
		return dayExpected{}
	case o.granted:
		t.Errorf("%s: it is given a right: %s", r.name, o.said)
	case o.refused != r.stays:
		t.Errorf("%s: refused is %v, where nothing is refused: %s", r.name, o.refused, o.said)
		return dayExpected{}
	}
	if r.observed != nil {
		if e.refused || !slices.Equal(would(o.event), r.observed) || o.event.Verdict != decision.WouldDeny {
			t.Errorf("%s: enforcing, refused is %v; it would be by %v, not %v: %+v", r.name, e.refused, would(o.event), r.observed, o.event)
		}
		return dayExpected{decision.WouldDeny, r.observed}
	}
	if !e.asked {
		t.Errorf("%s: enforcing, what it follows from was not let in, and here nothing is said of that: %+v", r.name, o.event)
		return dayExpected{}
	}
	want := copied(e.event)
	verdict := e.verdict()
	switch {
	case r.stays:
		if !e.refused {
			t.Errorf("%s: it is not refused", r.name)
		}
		// What would not stay is let in beside it.
		for i := range want.Results {
			if got := o.event.Results; i < len(got) && blocks(&want.Results[i]) && !blocks(&got[i]) {
				want.Results[i].Action, want.Results[i].WouldDeny = decision.ActionAudit, true
			}
		}
		if diff := sameEvent(want, o.event); diff != "" {
			t.Errorf("%s (-enforcing +observing):\n%s", r.name, diff)
		}
		return dayExpected{verdict: verdict}
	case e.refused:
		verdict = decision.WouldDeny
		want.Verdict, want.Severity, want.Type = verdict, "warning", strings.TrimSuffix(want.Type, "Denied")+"WouldDeny"
		for i := range want.Results {
			if result := &want.Results[i]; blocks(result) {
				result.Action, result.WouldDeny = decision.ActionAudit, true
			}
		}
		if r.path == "/validate" && !strings.Contains(o.said, `"decision":"wouldDeny"`) {
			t.Errorf("%s: the answer does not say what it would have been: %s", r.name, o.said)
		}
	case want != nil && want.Granted != nil:
		if want.Granted = nil; strings.HasSuffix(want.Type, "Granted") {
			want = nil
		}
	}
	if diff := sameEvent(want, o.event); diff != "" {
		t.Errorf("%s (-enforcing +observing):\n%s", r.name, diff)
	}
	if !e.refused && !e.granted && e.said != o.said {
		t.Errorf("%s: enforcing, the answer is %s; observing, it is %s", r.name, e.said, o.said)
	}
	return dayExpected{verdict, would(want)}
}

// reason is what a result says of an object, without what follows from that.
type reason struct {
	Kind, Namespace, Policy, Rule, Message string
	Error, WouldDeny, Blocks               bool
	Findings                               []decision.Finding
	Excused                                bool
}

func reasonOf(r *record.EventResult) reason {
	message := r.Message
	switch {
	case r.Status == decision.Error:
		// What follows stands behind the last semicolon.
		message = message[:strings.LastIndex(message, "; ")+1]
	case r.Rule == identityrule.RuleTemplateJudged:
		// Labels that exempt from a policy which audits have no part in a mark.
		message = ""
	}
	return reason{r.Kind, r.PolicyNamespace, r.Policy, r.Rule, message, r.Status == decision.Error, r.WouldDeny, blocks(r), r.Findings, len(r.Exceptions) > 0}
}

// auditedAs is observedAs for a server whose policies audit or warn.
func auditedAs(t *testing.T, r *dayRequest, e, a *dayAnswer) dayExpected {
	t.Helper()
	if r.observed != nil {
		return auditedOnly(t, r, a)
	}
	var want []reason
	refused := false
	if e.event != nil {
		for i := range e.event.Results {
			one := reasonOf(&e.event.Results[i])
			if one.Blocks && canAudit(&e.event.Results[i]) {
				one.Blocks, one.WouldDeny = false, true
			}
			refused = refused || one.Blocks
			want = append(want, one)
		}
	}
	var got []reason
	if a.event != nil {
		for i := range a.event.Results {
			got = append(got, reasonOf(&a.event.Results[i]))
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || a.refused != refused {
		t.Errorf("%s: where policies do not deny, refused is %v, not %v (-enforcing +this):\n%s", r.name, a.refused, refused, diff)
	}
	if refused {
		return dayExpected{verdict: a.verdict()}
	}
	if a.verdict() == decision.AllowWarning && !strings.Contains(a.said, "warning") {
		t.Errorf("%s: nobody is warned: %s", r.name, a.said)
	}
	return dayExpected{a.verdict(), would(a.event)}
}

// auditedOnly is auditedAs for what came to be as it is because nothing was refused.
func auditedOnly(t *testing.T, r *dayRequest, a *dayAnswer) dayExpected {
	t.Helper()
	want := r.observed
	switch want[0] {
	case "IdentitySource/kerberos":
		if a.asked {
			t.Errorf("%s: its template was let in", r.name)
		}
		return dayExpected{}
	case "DenyPolicy/into-risky":
		// A policy that audits does not ask for marks.
		want = nil
	}
	if a.refused || !slices.Equal(would(a.event), want) {
		t.Errorf("%s: where policies do not deny, refused is %v; it would be by %v, not %v", r.name, a.refused, would(a.event), want)
	}
	return dayExpected{a.verdict(), want}
}

// verdict is that of the event; what none is written of was let in.
func (a *dayAnswer) verdict() decision.Verdict {
	if a.event == nil {
		return decision.Allow
	}
	return a.event.Verdict
}

// door is at which door a request was answered; empty for one that did not come.
func (a *dayAnswer) door(r *dayRequest) string {
	switch {
	case !a.asked:
		return ""
	case strings.Contains(r.path, "/authorize"):
		return "access"
	}
	return "admission"
}

// dayTally is what metrics are to say of a day.
type dayTally struct{ would, decisions map[string]int }

func (d *dayTally) add(door string, e dayExpected) {
	if door == "" {
		return
	}
	if d.would == nil {
		d.would, d.decisions = map[string]int{}, map[string]int{}
	}
	d.decisions[door+" "+string(e.verdict)]++
	for _, policy := range e.would {
		kind, name, _ := strings.Cut(policy, "/")
		d.would[fmt.Sprintf("door=%q,kind=%q,policy=%q", door, kind, name)]++
	}
}

// decisions is sallyport_requests_total without operations.
func (s *dayServer) decisions(t *testing.T) map[string]int {
	t.Helper()
	found := map[string]int{}
	for labels, n := range s.counts(t, "sallyport_requests_total") {
		values := map[string]string{}
		for label := range strings.SplitSeq(labels, ",") {
			key, value, _ := strings.Cut(label, "=")
			values[key] = strings.Trim(value, `"`)
		}
		found[values["door"]+" "+values["decision"]] += n
	}
	return found
}
