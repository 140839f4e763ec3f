package breakglass

import (
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestActive says when a session gives access, as the narrower of what was approved
// and what the escalation gives now.
func TestActive(t *testing.T) {
	type spec = v1alpha1.BreakglassEscalationSpec
	cases := map[string]struct {
		escalation func(*spec)
		session    func(*v1alpha1.BreakglassSession)
		used       time.Duration
		after      time.Duration
		active     bool
	}{
		"at once":                           {nil, nil, 0, 0, true},
		"a moment before approval":          {nil, nil, 0, -time.Second, false},
		"a moment before the end":           {nil, nil, 59 * time.Minute, time.Hour - time.Second, true},
		"at the end":                        {nil, nil, 59 * time.Minute, time.Hour, false},
		"a session that asks for less":      {nil, func(s *v1alpha1.BreakglassSession) { s.Spec.MaxValidFor = "10m" }, 0, 10 * time.Minute, false},
		"a status that says less":           {nil, func(s *v1alpha1.BreakglassSession) { s.Status.ExpiresAt = at(noon.Add(5 * time.Minute)) }, 0, 5 * time.Minute, false},
		"a status that says more":           {nil, func(s *v1alpha1.BreakglassSession) { s.Status.ExpiresAt = at(noon.Add(99 * time.Hour)) }, time.Hour, time.Hour, false},
		"an escalation that gives less now": {func(e *spec) { e.MaxValidFor = "5m" }, nil, 0, 5 * time.Minute, false},
		"an escalation that gives more now": {func(e *spec) { e.MaxValidFor = "9h" }, nil, time.Hour, time.Hour, false},
		"an escalation for other clusters":  {func(e *spec) { e.Allowed.Clusters = []string{"dev-*"} }, nil, 0, 0, false},
		"idle":                              {nil, nil, 0, 30 * time.Minute, false},
		"idle except for a use":             {nil, nil, 20 * time.Minute, 49 * time.Minute, true},
		"idle by the session":               {nil, func(s *v1alpha1.BreakglassSession) { s.Spec.IdleTimeout = "5m" }, 0, 5 * time.Minute, false},
		"idle for no longer than it gives":  {nil, func(s *v1alpha1.BreakglassSession) { s.Spec.IdleTimeout = "45m" }, 0, 30 * time.Minute, false},
		"idle by what was approved":         {func(e *spec) { e.IdleTimeout = "" }, func(s *v1alpha1.BreakglassSession) { s.Status.Terms = &v1alpha1.SessionTerms{IdleTimeout: "5m"} }, 0, 5 * time.Minute, false},
		"idle by what holds now":            {func(e *spec) { e.IdleTimeout = "1m" }, nil, 0, time.Minute, false},
		"never idle":                        {func(e *spec) { e.IdleTimeout = "" }, nil, 0, 59 * time.Minute, true},
		"before it is scheduled":            {nil, func(s *v1alpha1.BreakglassSession) { s.Spec.ScheduledStartTime = at(noon.Add(time.Minute)) }, 0, 59 * time.Second, false},
		"once it is scheduled":              {nil, func(s *v1alpha1.BreakglassSession) { s.Spec.ScheduledStartTime = at(noon.Add(time.Minute)) }, 0, time.Minute, true},
		"scheduled in the past":             {nil, func(s *v1alpha1.BreakglassSession) { s.Spec.ScheduledStartTime = at(noon.Add(-time.Hour)) }, time.Hour, time.Hour, false},
		"waiting, and nobody noticed":       {nil, func(s *v1alpha1.BreakglassSession) { s.Status.State = v1alpha1.SessionWaiting }, 0, 0, true},
		"without a time of approval":        {nil, func(s *v1alpha1.BreakglassSession) { s.Status.ApprovedAt = nil }, 0, 0, false},
		"approved under it":                 {nil, func(s *v1alpha1.BreakglassSession) { s.Status.Terms = &v1alpha1.SessionTerms{EscalationUID: "e1"} }, 0, 0, true},
		"approved under one of its name":    {nil, func(s *v1alpha1.BreakglassSession) { s.Status.Terms = &v1alpha1.SessionTerms{EscalationUID: "e0"} }, 0, 0, false},
		"another group now":                 {func(e *spec) { e.EscalatedGroup = "others" }, nil, 0, 0, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := sessionOf(t, func(s *v1alpha1.BreakglassSession) {
				s.Status.State, s.Status.ApprovedAt, s.Status.ExpiresAt = v1alpha1.SessionApproved, at(noon), at(noon.Add(time.Hour))
				if c.session != nil {
					c.session(s)
				}
			})
			if ok, why := s.Active(escalationOf(t, c.escalation), noon.Add(c.used), noon.Add(c.after)); ok != c.active {
				t.Errorf("active: %t (%s)", ok, why)
			}
		})
	}
	for _, state := range append([]v1alpha1.SessionState{""}, states...) {
		want := state == v1alpha1.SessionApproved || state == v1alpha1.SessionWaiting
		s := sessionOf(t, func(s *v1alpha1.BreakglassSession) { s.Status.State, s.Status.ApprovedAt = state, at(noon) })
		ok, why := s.Active(escalationOf(t, nil), noon, noon)
		if ok != want {
			t.Errorf("%q: active: %t", state, ok)
		}
		if is := string(orPending(state)); !ok && why != "it is "+is || is == "" {
			t.Errorf("%q: %s", state, why)
		}
		if ok, _ := s.Active(nil, noon, noon); ok {
			t.Errorf("%q: active without an escalation", state)
		}
	}
}

// TestGroup gives no group but the one that was approved and is given still.
func TestGroup(t *testing.T) {
	terms := &v1alpha1.SessionTerms{EscalatedGroup: "debuggers"}
	cases := map[string]struct {
		now, asked string
		terms      *v1alpha1.SessionTerms
		want       string
	}{
		"as approved":               {"debuggers", "", terms, "debuggers"},
		"named":                     {"debuggers", "debuggers", terms, "debuggers"},
		"another one asked for":     {"debuggers", "admins", terms, ""},
		"another one since":         {"admins", "", terms, ""},
		"none now":                  {"", "", terms, ""},
		"none when it was approved": {"debuggers", "", &v1alpha1.SessionTerms{}, ""},
		"nothing written down":      {"debuggers", "", nil, "debuggers"},
		"above all authorization":   {mastersGroup, "", &v1alpha1.SessionTerms{EscalatedGroup: mastersGroup}, ""},
	}
	for name, c := range cases {
		s := sessionOf(t, func(s *v1alpha1.BreakglassSession) { s.Spec.GrantedGroup, s.Status.Terms = c.asked, c.terms })
		e := escalationOf(t, nil)
		// Compiling refuses some of these already.
		e.Group = c.now
		if got := s.Group(e); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
