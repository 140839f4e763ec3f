package policy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// compileBreakglass compiles escalations and sessions. What cannot work gives
// nobody anything.
func compileBreakglass(sources *Sources, ledger *breakglass.Ledger) (*breakglass.Set, stored.Problems) {
	c := newCompiling(false)
	var escalations []*breakglass.Escalation
	each(&c, breakglass.KindEscalation, sources.Escalations, func(_ stored.Ref, source stored.Sourced[*v1alpha1.BreakglassEscalation]) field.ErrorList {
		compiled, errs := breakglass.CompileEscalation(source.Object)
		if len(errs) == 0 {
			escalations = append(escalations, compiled)
		}
		return errs
	})
	var sessions []*breakglass.Session
	each(&c, breakglass.KindSession, sources.Sessions, func(_ stored.Ref, source stored.Sourced[*v1alpha1.BreakglassSession]) field.ErrorList {
		compiled, errs := breakglass.CompileSession(source.Object)
		if len(errs) == 0 {
			sessions = append(sessions, compiled)
		}
		return errs
	})
	return breakglass.NewSet(escalations, sessions, ledger), c.problems
}

// escalationEffects say what in escalations has less effect than it looks.
func escalationEffects(escalations []stored.Sourced[*v1alpha1.BreakglassEscalation]) stored.Problems {
	var less stored.Problems
	for _, e := range escalations {
		o := e.Object.Spec.PodSecurityOverrides
		if o != nil && o.Enabled && o.MaxAllowedScore == nil && len(o.ExemptFactors) == 0 {
			id := stored.Ref{Kind: breakglass.KindEscalation, Name: e.Object.Name}
			less = append(less, id.Said(e.Origin, []effect.Note{effect.LetsInNobody.Note(field.NewPath("spec", "podSecurityOverrides"))})...)
		}
	}
	return less
}

// Breakglass are the escalations and sessions of the set.
func (s *Set) Breakglass() *breakglass.Set { return s.Sessions }

// sessionWarnings say which sessions and escalations name what is not there.
func (s *Set) sessionWarnings() stored.Problems {
	var warnings stored.Problems
	for _, session := range s.Sessions.Sessions() {
		if s.Sessions.Escalation(session.Escalation) == nil {
			warnings = append(warnings, stored.Problem{Kind: breakglass.KindSession, Name: session.Name, Path: field.NewPath("spec", "escalationRef").String(), Reason: effect.NotThere.Reason,
				Detail: fmt.Sprintf("names BreakglassEscalation %q, which is not there, so the session gives nothing", session.Escalation)})
		}
	}
	return warnings
}

// grant finds a session whose group may do what the user asks at the access door.
// nil: no session does.
func (s *Set) grant(c *call.Call) *decision.Session {
	r := c.Request
	if r.Door != request.Access || r.NonResourcePath != "" {
		return nil
	}
	g := c.GivenBy(r.Verb)
	if g == nil {
		return nil
	}
	session := call.DescribedSession(g)
	session.Group = g.Group(g.Escalation)
	c.Used(g, "", "", "")
	return &session
}
