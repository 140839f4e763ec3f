package policy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// compileBreakglass compiles escalations and sessions. What cannot work gives
// nobody anything.
func compileBreakglass(sources *Sources, ledger *breakglass.Ledger) (*breakglass.Set, Problems) {
	c := newCompiling(false)
	var escalations []*breakglass.Escalation
	each(&c, breakglass.KindEscalation, sources.Escalations, func(_ objectID, source Sourced[*v1alpha1.BreakglassEscalation]) field.ErrorList {
		compiled, errs := breakglass.CompileEscalation(source.Object)
		if len(errs) == 0 {
			escalations = append(escalations, compiled)
		}
		return errs
	})
	var sessions []*breakglass.Session
	each(&c, breakglass.KindSession, sources.Sessions, func(_ objectID, source Sourced[*v1alpha1.BreakglassSession]) field.ErrorList {
		compiled, errs := breakglass.CompileSession(source.Object)
		if len(errs) == 0 {
			sessions = append(sessions, compiled)
		}
		return errs
	})
	return breakglass.NewSet(escalations, sessions, ledger), c.problems
}

// escalationEffects say what in escalations has less effect than it looks.
func escalationEffects(escalations []Sourced[*v1alpha1.BreakglassEscalation]) Problems {
	var less Problems
	for _, e := range escalations {
		o := e.Object.Spec.PodSecurityOverrides
		if o != nil && o.Enabled && o.MaxAllowedScore == nil && len(o.ExemptFactors) == 0 {
			id := objectID{kind: breakglass.KindEscalation, name: e.Object.Name}
			less = append(less, id.said(e.Origin, []effect.Note{effect.LetsInNobody.Note(field.NewPath("spec", "podSecurityOverrides"))})...)
		}
	}
	return less
}

// Breakglass are the escalations and sessions of the set.
func (s *Set) Breakglass() *breakglass.Set { return s.breakglass }

// sessionWarnings say which sessions and escalations name what is not there.
func (s *Set) sessionWarnings() Problems {
	var warnings Problems
	for _, session := range s.breakglass.Sessions() {
		if s.breakglass.Escalation(session.Escalation) == nil {
			warnings = append(warnings, Problem{Kind: breakglass.KindSession, Name: session.Name, Path: field.NewPath("spec", "escalationRef").String(), Reason: effect.NotThere.Reason,
				Detail: fmt.Sprintf("names BreakglassEscalation %q, which is not there, so the session gives nothing", session.Escalation)})
		}
	}
	return warnings
}

// grant finds a session whose group may do what the user asks at the access door.
// nil: no session does.
func (s *Set) grant(c *call) *decision.Session {
	r := c.request
	if r.Door != request.Access || r.NonResourcePath != "" {
		return nil
	}
	g := c.givenBy(r.Verb)
	if g == nil {
		return nil
	}
	session := describedSession(g)
	session.Group = g.Group(g.Escalation)
	c.used(g, "", "", "")
	return &session
}
