package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// TestMadeUpIsRecordedApart: an answer to what may be made up is counted by a counter of its
// own and no other, its event says what it is, and it keeps nothing else from being recorded.
func TestMadeUpIsRecordedApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	audit, err := OpenAuditLog(path)
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Audit: audit, Now: func() time.Time { return start }})
	before := testutil.CollectAndCount(r.metrics.requests) + testutil.CollectAndCount(r.metrics.riskScore)
	excused := risk(decision.Fail, 190, "hostNetwork")
	excused.Exceptions = []decision.Exception{{Kind: "PolicyException", Name: "x"}}
	would := risk(decision.Fail, 190)
	would.WouldDeny = true
	made := execRequest()
	made.Unauthenticated = true
	for _, d := range []*decision.Decision{decided(excused), decided(excused), decided(would), decided(risk(decision.Pass, 0))} {
		r.Decided(made, d, time.Millisecond)
	}
	text, err := testutil.GatherAndCount(r.Registry(), "sallyport_requests_total", "sallyport_request_duration_seconds", "sallyport_would_deny_total", "sallyport_exceptions_used_total",
		"sallyport_pod_security_evaluations_total", "sallyport_pod_security_risk_score", "sallyport_pod_security_factors_total", "sallyport_pod_security_denied_total", "sallyport_pod_security_warnings_total")
	if err != nil || text != before {
		t.Errorf("%d other series are there, %v", text-before, err)
	}
	if n := testutil.ToFloat64(r.madeUp.reviews.WithLabelValues("deny")); n != 3 {
		t.Errorf("%v are counted as denied", n)
	}
	// The same, of a caller who showed credentials, is new.
	r.Decided(execRequest(), decided(risk(decision.Fail, 190)), time.Millisecond)
	audit.Close()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var flags []bool
	for line := range strings.Lines(string(content)) {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, e.Unauthenticated)
	}
	if len(flags) != 2 && len(flags) != 3 || !flags[0] || flags[len(flags)-1] {
		t.Errorf("events, made up: %v", flags)
	}
}

// TestMadeUpEventsAreBounded: they take half of the room at most, and so many a second.
func TestMadeUpEventsAreBounded(t *testing.T) {
	audit, err := OpenAuditLog(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	audit.Close()
	now := start
	r := New(Options{Audit: audit, Now: func() time.Time { return now }})
	made := execRequest()
	made.Unauthenticated = true
	ask := func(times int) {
		for i := range times {
			made.User.Name = strings.Repeat("x", i%50) + time.Duration(i).String() + now.String()
			r.Decided(made, decided(risk(decision.Fail, 190)), 0)
		}
	}
	ask(madeUpEventsBurst + 7)
	if n := len(audit.queue); n != madeUpEventsBurst || testutil.ToFloat64(audit.dropped) != 7 {
		t.Errorf("%d events wait", n)
	}
	now = now.Add(time.Second)
	ask(madeUpEvents + 1)
	if n := len(audit.queue); n != madeUpEventsBurst+madeUpEvents {
		t.Errorf("%d events wait a second later", n)
	}
	for len(audit.queue) <= queueLength/2 {
		audit.Add(&Event{})
	}
	now = now.Add(time.Minute)
	full := len(audit.queue)
	ask(5)
	r.Decided(execRequest(), decided(risk(decision.Fail, 190)), 0)
	if n := len(audit.queue); n != full+1 {
		t.Errorf("%d events wait where the room is half full, want %d", n, full+1)
	}
}
