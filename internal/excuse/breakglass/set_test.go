package breakglass

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// activeSession is one of carol's, approved at noon, that a test changes.
func activeSession(t testing.TB, change func(*v1alpha1.BreakglassSession)) *Session {
	t.Helper()
	return sessionOf(t, func(s *v1alpha1.BreakglassSession) {
		s.Status.State, s.Status.ApprovedAt = v1alpha1.SessionApproved, at(noon)
		if change != nil {
			change(s)
		}
	})
}

// TestUsable says who may use a session: whoever asked for it, and could again.
func TestUsable(t *testing.T) {
	devs := []string{"devs"}
	for name, c := range map[string]struct {
		uid  string
		by   Person
		gone bool
		says string
	}{
		"whoever asked":           {"", Person{Name: "carol", Groups: devs}, false, ""},
		"another":                 {"", Person{Name: "dave", Groups: devs}, false, "it is of carol"},
		"out of the group":        {"", Person{Name: "carol"}, false, "is in none of the groups"},
		"with a uid by now":       {"", Person{Name: "carol", UID: "u-1", Groups: devs}, false, ""},
		"by the uid":              {"u-1", Person{Name: "carol", UID: "u-1", Groups: devs}, false, ""},
		"without the uid":         {"u-1", Person{Name: "carol", Groups: devs}, false, "gives none now"},
		"by another uid":          {"u-1", Person{Name: "carol", UID: "u-2", Groups: devs}, false, "by another uid"},
		"without its escalation":  {"", Person{Name: "carol", Groups: devs}, true, "is not there any more"},
		"another of the same uid": {"u-1", Person{Name: "dave", UID: "u-1", Groups: devs}, false, "it is of carol"},
	} {
		t.Run(name, func(t *testing.T) {
			e := escalationOf(t, nil)
			if c.gone {
				e = nil
			}
			ok, why := activeSession(t, func(s *v1alpha1.BreakglassSession) { s.Spec.UserUID = c.uid }).Usable(e, c.by)
			if ok != (c.says == "") || !strings.Contains(why, c.says) {
				t.Errorf("usable: %t (%s), want %q", ok, why, c.says)
			}
		})
	}
}

// TestThenAndNow gives what the escalation gives now, as far as it gave it when the
// session was approved.
func TestThenAndNow(t *testing.T) {
	for name, c := range map[string]struct {
		now, then, written bool
		want               bool
	}{
		"then and now": {true, true, true, true}, "only now": {true, false, true, false}, "only then": {false, true, true, false},
		"never": {false, false, true, false}, "now, and nothing is written down": {true, false, false, true}, "nothing": {false, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			basis := map[bool]v1alpha1.IdleBasis{true: v1alpha1.IdleAuthorizer}
			e := escalationOf(t, func(e *v1alpha1.BreakglassEscalationSpec) { e.AllowImpersonation, e.Idle = c.now, basis[c.now] })
			s := activeSession(t, func(s *v1alpha1.BreakglassSession) {
				if c.written {
					s.Status.Terms = &v1alpha1.SessionTerms{AllowImpersonation: c.then, Idle: basis[c.then]}
				}
			})
			if got := s.Impersonable(e); got != c.want {
				t.Errorf("others may act as its user: %t", got)
			}
			if got := s.QuestionsCount(e); got != c.want {
				t.Errorf("questions count: %t", got)
			}
		})
	}
}

// TestUnder tells the escalation that a session was approved under from another of its
// name.
func TestUnder(t *testing.T) {
	for name, c := range map[string]struct {
		uid   string
		terms *v1alpha1.SessionTerms
		want  bool
	}{
		"the same":             {"e1", &v1alpha1.SessionTerms{EscalationUID: "e1"}, true},
		"another":              {"e2", &v1alpha1.SessionTerms{EscalationUID: "e1"}, false},
		"of a file now":        {"", &v1alpha1.SessionTerms{EscalationUID: "e1"}, true},
		"of a file then":       {"e1", &v1alpha1.SessionTerms{}, true},
		"nothing written down": {"e1", nil, true},
	} {
		if got := activeSession(t, func(s *v1alpha1.BreakglassSession) { s.Status.Terms = c.terms }).Under(c.uid); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestBringsAlong holds a session to the DenyPolicies of now, and of when it was
// approved.
func TestBringsAlong(t *testing.T) {
	e := escalationOf(t, func(e *v1alpha1.BreakglassEscalationSpec) { e.DenyPolicyRefs = []string{"now"} })
	terms := &v1alpha1.SessionTerms{DenyPolicyRefs: []string{"then"}}
	for _, c := range []struct {
		policy string
		terms  *v1alpha1.SessionTerms
		want   bool
	}{{"now", terms, true}, {"then", terms, true}, {"other", terms, false}, {"now", nil, true}, {"then", nil, false}} {
		g := Grant{Session: activeSession(t, func(s *v1alpha1.BreakglassSession) { s.Status.Terms = c.terms }), Escalation: e}
		if got := g.BringsAlong(c.policy); got != c.want {
			t.Errorf("%s, with terms %v: %t", c.policy, c.terms, got)
		}
	}
}

// TestHeld finds the session by which someone is not to be impersonated.
func TestHeld(t *testing.T) {
	is := func(user string) func(string, string) bool { return func(name, _ string) bool { return name == user } }
	allow := func(e *v1alpha1.BreakglassEscalationSpec) { e.AllowImpersonation = true }
	for name, c := range map[string]struct {
		escalation func(*v1alpha1.BreakglassEscalationSpec)
		session    func(*v1alpha1.BreakglassSession)
		user       string
		cluster    string
		now        time.Time
		held       bool
	}{
		"active":            {nil, nil, "carol", "prod-eu", noon, true},
		"of another":        {nil, nil, "dave", "prod-eu", noon, false},
		"in another":        {nil, nil, "carol", "prod-us", noon, false},
		"over":              {nil, nil, "carol", "prod-eu", noon.Add(time.Hour), false},
		"revoked":           {nil, func(s *v1alpha1.BreakglassSession) { s.Status.State = v1alpha1.SessionRevoked }, "carol", "prod-eu", noon, false},
		"allowed":           {allow, nil, "carol", "prod-eu", noon, false},
		"at no time at all": {nil, func(s *v1alpha1.BreakglassSession) { s.Status.ApprovedAt = at(time.Time{}) }, "carol", "prod-eu", time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			set := NewSet([]*Escalation{escalationOf(t, c.escalation)}, []*Session{activeSession(t, c.session)}, nil)
			if g := set.Held(is(c.user), c.cluster, c.now); (g != nil) != c.held {
				t.Errorf("held by %+v", g)
			}
			by := Person{Name: c.user, Groups: []string{"devs"}}
			if got := set.Active(by, c.cluster, c.now); (len(got) > 0) != (c.held || name == "allowed") {
				t.Errorf("active: %+v", got)
			}
			if got := set.Unusable(by, c.cluster, c.now); len(got) > 0 {
				t.Errorf("not to be used: %v", got)
			}
		})
	}
}

// TestHelp names the escalations that someone may ask for, and that would help.
func TestHelp(t *testing.T) {
	most := int32(100)
	escalation := func(name string, change func(*v1alpha1.BreakglassEscalationSpec)) *Escalation {
		e := escalationOf(t, func(e *v1alpha1.BreakglassEscalationSpec) {
			e.PodSecurityOverrides = &v1alpha1.PodSecurityOverrides{Enabled: true, MaxAllowedScore: &most}
			change(e)
		})
		e.Name = name
		return e
	}
	low := int32(10)
	set := NewSet([]*Escalation{
		escalation("helps", func(*v1alpha1.BreakglassEscalationSpec) {}),
		escalation("and-this", func(*v1alpha1.BreakglassEscalationSpec) {}),
		escalation("no-overrides", func(e *v1alpha1.BreakglassEscalationSpec) { e.PodSecurityOverrides = nil }),
		escalation("off", func(e *v1alpha1.BreakglassEscalationSpec) { e.PodSecurityOverrides.Enabled = false }),
		escalation("too-little", func(e *v1alpha1.BreakglassEscalationSpec) { e.PodSecurityOverrides.MaxAllowedScore = &low }),
		escalation("for-others", func(e *v1alpha1.BreakglassEscalationSpec) { e.Allowed.Groups = []string{"leads"} }),
		escalation("elsewhere", func(e *v1alpha1.BreakglassEscalationSpec) { e.Allowed.Clusters = []string{"dev"} }),
	}, nil, nil)
	var names []string
	for _, e := range set.Help(Person{Name: "carol", Groups: []string{"devs"}}, "prod-eu", func(o *Overrides) bool { return o.Lets(80) }) {
		names = append(names, e.Name)
	}
	if want := []string{"and-this", "helps"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

// TestNoSet gives nothing where there are neither escalations nor sessions.
func TestNoSet(t *testing.T) {
	var none *Set
	carol := Person{Name: "carol", Groups: []string{"devs"}}
	anyone := func(string, string) bool { return true }
	if !none.Empty() || none.Escalation("debug") != nil || none.Sessions() != nil || none.Active(carol, "prod-eu", noon) != nil || none.Unusable(carol, "prod-eu", noon) != nil ||
		none.Held(anyone, "prod-eu", noon) != nil || none.Help(carol, "prod-eu", func(*Overrides) bool { return true }) != nil || none.Widened("prod-eu", nil, nil, noon) != nil {
		t.Error("no set gives something")
	}
	if set := NewSet(nil, nil, nil); !set.Empty() {
		t.Error("an empty set is not empty")
	}
	if set := NewSet([]*Escalation{escalationOf(t, nil)}, nil, nil); set.Empty() || set.Escalation("debug") == nil {
		t.Error("an escalation is not there")
	}
}

// TestUsesWithoutALedger lets in where no one counts.
func TestUsesWithoutALedger(t *testing.T) {
	set := NewSet([]*Escalation{escalationOf(t, nil)}, []*Session{activeSession(t, nil)}, nil)
	grants := set.Active(Person{Name: "carol", Groups: []string{"devs"}}, "prod-eu", noon)
	if len(grants) != 1 {
		t.Fatalf("%+v", grants)
	}
	grants[0].Used(Use{Pod: "a", At: noon})
}

// TestLedgerIsBounded keeps of the pods of a session no more than so many.
func TestLedgerIsBounded(t *testing.T) {
	l := &Ledger{}
	for i := range mostPods + 10 {
		l.add(Use{Session: "s", Pod: fmt.Sprint("p", i), At: noon.Add(time.Duration(i) * time.Second)})
	}
	uses := l.Take()["s"]
	if len(uses.Pods) != mostPods || !uses.Last.Equal(noon.Add((mostPods+9)*time.Second)) {
		t.Errorf("%d pods, the last at %s", len(uses.Pods), uses.Last)
	}
}
