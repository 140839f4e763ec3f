package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/impersonation"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/risk"
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

// sessions are those that the user has in the request's cluster, found once.
func (c *call) sessions() []breakglass.Grant {
	if !c.sessionsRead {
		c.sessionsRead = true
		r := c.request
		// Nobody who is above all authorization needs one, or is bound by one.
		if !slices.Contains(r.User.Groups, mastersGroup) {
			c.active = c.breakglass.Active(personOf(&r.User), r.ClusterName, r.Time)
		}
	}
	return c.active
}

const mastersGroup = "system:masters"

func personOf(u *request.User) breakglass.Person {
	return breakglass.Person{Name: u.Name, UID: u.UID, Groups: u.Groups}
}

// described is a session as results name it.
func describedSession(g *breakglass.Grant) decision.Session {
	o := g.Object()
	s := decision.Session{
		Name: g.Name, Escalation: g.Escalation.Name, User: g.User, Cluster: g.Cluster, Reason: o.Spec.RequestReason,
		ExpiresAt: g.ExpiresAt(g.Escalation).UTC().Format(time.RFC3339),
	}
	var approvers []string
	for _, a := range o.Status.Approvals {
		approvers = append(approvers, a.By)
	}
	s.Approver = strings.Join(approvers, ", ")
	return s
}

// override is a verdict about a pod that a session turns.
type override struct {
	grant   *breakglass.Grant
	verdict risk.Verdict
}

// overridden looks for a session of the user that lets him into a pod which the
// policy denies. The first by name that does is the one that grants the request:
// what another gives does not count.
func (p *denyPolicy) overridden(c *call, e *entered, verdict *risk.Verdict, again func(*risk.Rules) risk.Verdict) (*override, error) {
	var denies = func(v *risk.Verdict) bool { return v.Denies() }
	if !denies(verdict) {
		return nil, nil
	}
	grants := c.sessions()
	for i := range grants {
		g := &grants[i]
		if c.only != nil && c.only != g {
			continue
		}
		o, err := g.Overrides(g.Escalation, e.namespace, c.labelsOf(e.namespace))
		if err != nil {
			return nil, fmt.Errorf("whether BreakglassSession %s is for the namespace: %w", g.Name, err)
		}
		if o == nil {
			continue
		}
		v := *verdict
		if !o.Exempt().Empty() {
			v = again(p.risk.Without(o.Exempt()))
		}
		if lets(o, &v) {
			return &override{g, v}, nil
		}
	}
	return nil, nil
}

// lets reports whether overrides let in what rules, the exempt factors left out,
// come to.
func lets(o *breakglass.Overrides, v *risk.Verdict) bool {
	switch {
	case !v.Denies():
		return true
	case len(v.Blocked) > 0 || !v.Scored:
		return false
	case v.NeedsApproval() && o.Approves(v.Score):
		return true
	}
	return o.Lets(v.Score)
}

// helpful words the escalations that would let the user in, with the command to ask.
func (p *denyPolicy) helpful(c *call, e *entered, again func(*risk.Rules) risk.Verdict) string {
	r := c.request
	by := personOf(&r.User)
	unusable := ""
	for _, why := range c.breakglass.Unusable(by, r.ClusterName, r.Time) {
		unusable += "; " + why
	}
	help := c.breakglass.Help(by, r.ClusterName, func(o *breakglass.Overrides) bool {
		if !o.Covers(e.namespace, c.labelsOf(e.namespace)) {
			return false
		}
		v := again(p.risk.Without(o.Exempt()))
		return lets(o, &v)
	})
	if len(help) == 0 {
		return unusable
	}
	names := make([]string, len(help))
	for i, escalation := range help {
		names[i] = escalation.Name
	}
	command := "sallyport request session " + help[0].Name
	if r.ClusterName != "" {
		command += " --cluster " + r.ClusterName
	}
	return unusable + fmt.Sprintf("; BreakglassEscalation %s would allow it; ask with: %s --reason TEXT", strings.Join(names, " or "), command)
}

// outlasts reports whether what is asked for would last longer than a session, or
// lead out of it: to act as somebody else, to give rights away, to get a token or a
// certificate, or to write what Sallyport itself goes by. Who may do that by his own
// rights still may.
func outlasts(r *request.Request) bool {
	resource := r.Resource.Resource
	switch r.Resource.Group {
	case v1alpha1.GroupVersion.Group:
		return !slices.Contains([]string{"get", "list", "watch"}, r.Verb)
	case "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiregistration.k8s.io":
		return !slices.Contains([]string{"get", "list", "watch"}, r.Verb)
	case "certificates.k8s.io", "apiextensions.k8s.io":
		// With the definition of a kind go all its objects, which may be policies.
		return r.Verb != "get" && r.Verb != "list" && r.Verb != "watch"
	case "":
		if resource == "serviceaccounts" && r.Subresource == "token" {
			return true
		}
		// Who makes a Secret can have it filled with a token of any service account,
		// or log nodes in by it. What type it is to have is not known here.
		if resource == "secrets" && r.Verb == "create" {
			return true
		}
	}
	switch r.Verb {
	case "bind", "escalate", "approve", "sign", "attest", "*":
		return true
	}
	return resource == "*" || r.Resource.Group == "*" || impersonation.Is(r.Verb)
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

// notGranted says why sessions of the user's name do not count for him, for when no one
// else lets him do it either.
func (c *call) notGranted() string {
	r := c.request
	if r.Door != request.Access || slices.Contains(r.User.Groups, mastersGroup) {
		return ""
	}
	return strings.Join(c.breakglass.Unusable(personOf(&r.User), r.ClusterName, r.Time), "; ")
}

// givenBy finds a session whose group may do by one of the verbs what the user asks.
// Roles and bindings are read from what is watched, so that no question comes back
// here. nil: no session does.
func (c *call) givenBy(verbs ...string) *breakglass.Grant {
	grants := c.sessions()
	if len(grants) == 0 {
		return nil
	}
	r := *c.request
	reader, ok := r.Cluster.(request.RBACReader)
	if !ok {
		return nil
	}
	for i := range grants {
		g := &grants[i]
		group := g.Group(g.Escalation)
		if group == "" {
			continue
		}
		for _, r.Verb = range verbs {
			if outlasts(&r) {
				continue
			}
			allowed, err := reader.AllowedByRBAC(c.ctx, request.User{Groups: []string{group}}, request.Attributes{
				Verb: r.Verb, Group: r.Resource.Group, Version: r.Resource.Version, Resource: r.Resource.Resource, Subresource: r.Subresource,
				Namespace: r.Namespace, Name: r.Name,
			})
			if err == nil && allowed {
				return g
			}
		}
	}
	return nil
}
