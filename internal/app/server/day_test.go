package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestObservedDay plays one day to a server that enforces, to one that observes, and to
// those whose policies all audit or warn. What the first refuses, and nothing else, is let in,
// recorded and counted by the others: by the same policies and rules, for the same reason.
// What differs beside that is what docs/observe.md says.
func TestObservedDay(t *testing.T) {
	day := dayOfRequests(t)
	clock := &dayClock{}
	clock.at.Store(midnight.UnixNano())
	enforcing := newDayServer(t, clock, false, asWritten)
	observing := newDayServer(t, clock, true, asWritten)
	auditing, warning := newDayServer(t, clock, false, acting("audit")), newDayServer(t, clock, false, acting("warn"))
	all := []*dayServer{enforcing, observing, auditing, warning}
	for i := range day {
		now := midnight.Add(day[i].at)
		clock.at.Store(now.UnixNano())
		for _, s := range all {
			if s.facts.Heard(now); now.Hour() == 5 {
				s.facts.Gone(now, "its definition is being deleted")
			}
			s.play(t, &day[i])
		}
	}
	for _, s := range all {
		s.read(t)
	}
	var observed, audited, warned dayTally
	for i := range day {
		e := &enforcing.answers[i]
		observed.add(observing.answers[i].door(&day[i]), observedAs(t, &day[i], e, &observing.answers[i]))
		audited.add(auditing.answers[i].door(&day[i]), auditedAs(t, &day[i], e, &auditing.answers[i]))
		warned.add(warning.answers[i].door(&day[i]), auditedAs(t, &day[i], e, &warning.answers[i]))
	}
	for name, c := range map[string]struct {
		tally  *dayTally
		server *dayServer
	}{"--mode observe": {&observed, observing}, "policies that audit": {&audited, auditing}, "policies that warn": {&warned, warning}} {
		if diff := cmp.Diff(c.tally.would, c.server.counts(t, "sallyport_would_deny_total")); diff != "" {
			t.Errorf("%s, sallyport_would_deny_total (-refused +counted):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.tally.decisions, c.server.decisions(t)); diff != "" {
			t.Errorf("%s, sallyport_requests_total (-refused +counted):\n%s", name, diff)
		}
	}
	hasEverything(t, enforcing.answers)
}
