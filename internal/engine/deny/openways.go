package deny

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/impersonation"
	"github.com/sallyport-io/sallyport/internal/rules/builtin"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Way is a subresource that leads into pods, the verbs by which it is taken, and
// whether it leads to a CONNECT.
type Way struct {
	Resource, Subresource string
	Verbs                 []string
	Connects              bool
}

// IntoPodsBy are the ways by which someone gets into a pod, in the order in which they
// are named. Reading a log is not one.
var IntoPodsBy = []Way{
	{"pods", "exec", []string{"get", "create"}, true},
	{"pods", "attach", []string{"get", "create"}, true},
	{"pods", "portforward", []string{"get", "create"}, true},
	{"pods", "ephemeralcontainers", []string{"update", "patch"}, false},
	{"pods", "proxy", ProxyVerbs, true},
	{"services", "proxy", ProxyVerbs, true},
	{"nodes", "proxy", ProxyVerbs, true},
}

// String is the resource with its subresource: pods/exec.
func (w *Way) String() string { return w.Resource + "/" + w.Subresource }

// waysIn are the ways in as podSecurityRules name them, which have no name for those
// through a service.
var waysIn = func() (points []string) {
	for i := range IntoPodsBy {
		if w := &IntoPodsBy[i]; w.Resource != "services" {
			points = append(points, w.Point())
		}
	}
	return points
}()

// Point is how podSecurityRules name the way.
func (w *Way) Point() string {
	if w.Resource == "pods" {
		return w.Subresource
	}
	return w.String()
}

// LeavesOpen says what a DenyPolicy leaves open next to what it guards.
func (p *Policy) LeavesOpen() []effect.Note {
	spec := field.NewPath("spec")
	var notes []effect.Note
	own := []*Policy{p}
	if open := p.openWays(own); len(open) > 0 {
		notes = append(notes, effect.Note{Path: spec.Child("podSecurityRules", "appliesTo", "subresources"), Detail: fmt.Sprintf(
			"%s lead into the same pods and are not judged; unless another policy guards them, add them: [%s]",
			strings.Join(open, ", "), strings.Join(append(p.guardedWays(), open...), ", "))})
	}
	for i, rule := range p.Rules {
		for _, g := range p.gaps(rule, own) {
			at := spec.Child("rules").Index(i).Child("verbs")
			if g.named {
				notes = append(notes, effect.HalfOpen.Note(at, g.remedy()))
				continue
			}
			notes = append(notes, effect.Note{Path: at, Detail: g.remedy()})
		}
		if rule.guardsUsers("users") && !slices.ContainsFunc(p.Rules, func(r *Rule) bool { return r.guardsUsers("serviceaccounts") && r.Spans(rule) }) {
			notes = append(notes, effect.Note{Path: spec.Child("rules").Index(i).Child("resources"),
				Detail: "does not keep anyone from acting as a service account: to the API server serviceaccounts are another resource; add it to resources if they are meant too"})
		}
	}
	return notes
}

// OpenBeside says, of the DenyPolicies that hold in a cluster, which ways into pods
// stay open beside those that they guard.
func (s *Policies) OpenBeside(cluster string) []string {
	var here []*Policy
	for _, p := range s.Deny {
		if p.Scope.inCluster(cluster) && p.Broken == nil {
			here = append(here, p)
		}
	}
	var said []string
	for _, p := range here {
		if open := p.openWays(here); len(open) > 0 {
			said = append(said, fmt.Sprintf("DenyPolicy %s judges %s, and no policy judges %s as strictly, by which the same pods are reached",
				p.Name, strings.Join(p.guardedWays(), ", "), strings.Join(open, ", ")))
		}
		for i, rule := range p.Rules {
			for _, g := range p.gaps(rule, here) {
				said = append(said, fmt.Sprintf("DenyPolicy %s, rules[%d], denies %s by %s, and no rule denies all of that by %s, which stays open at the authorizer",
					p.Name, i, strings.Join(g.ways, ", "), strings.Join(g.denied, ", "), strings.Join(g.open, " and ")))
			}
		}
	}
	return said
}

// openWays are the ways in that podSecurityRules do not judge, where they judge one,
// and that none of the policies closes.
func (p *Policy) openWays(policies []*Policy) []string {
	if p.Risk == nil || len(p.guardedWays()) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(waysIn), func(point string) bool {
		return slices.ContainsFunc(policies, func(q *Policy) bool {
			return q.Spans(p) && (q.Risk != nil && q.Risk.CoversPoint(point) && q.Risk.AsStrictAs(p.Risk) || q.closes(point))
		})
	})
}

func (p *Policy) guardedWays() []string {
	return slices.DeleteFunc(slices.Clone(waysIn), func(way string) bool { return !p.Risk.CoversPoint(way) })
}

// closes reports whether the rules deny everyone a way into every pod.
func (p *Policy) closes(point string) bool {
	for i := range IntoPodsBy {
		if w := &IntoPodsBy[i]; w.Point() == point {
			return !slices.ContainsFunc(w.Verbs, func(verb string) bool {
				return !slices.ContainsFunc(p.Rules, func(r *Rule) bool { return r.Denies(w, verb) && r.Spans(&Rule{anyName: true}) })
			})
		}
	}
	return false
}

// Spans reports whether the policy holds wherever another does, and refuses where that
// refuses.
func (p *Policy) Spans(other *Policy) bool {
	if p == other {
		return true
	}
	if other.Action == decision.Enforce && p.Action != decision.Enforce {
		return false
	}
	a, b := p.Scope.Written, other.Scope.Written
	if a == nil {
		return true
	}
	// A session may bring another policy along and not this one.
	if len(a.EscalationRefs)+len(a.Sessions) > 0 || b == nil {
		return false
	}
	within := func(mine, others []string) bool {
		return len(mine) == 0 || len(others) > 0 && glob.Includes(mine, others)
	}
	return within(a.Clusters, b.Clusters) && within(a.Tenants, b.Tenants)
}

// gap is what stays open beside what a rule denies.
type gap struct {
	ways         []string
	denied, open []string
	// named is set where the rule names the way, and not a pattern for it.
	named bool
}

// gaps are the verbs by which ways in stay open beside those by which a rule denies
// them. What another rule denies counts only if that rule is about all that this one
// is about.
func (p *Policy) gaps(rule *Rule, policies []*Policy) []gap {
	var gaps []gap
	for i := range IntoPodsBy {
		w := &IntoPodsBy[i]
		how := rule.ComesTo(w)
		g := gap{ways: []string{w.String()}, named: how == ByName}
		for _, verb := range w.Verbs {
			switch {
			case rule.Denies(w, verb):
				g.denied = append(g.denied, verb)
			case !slices.ContainsFunc(policies, func(q *Policy) bool {
				return q.Spans(p) && slices.ContainsFunc(q.Rules, func(r *Rule) bool { return r.Denies(w, verb) && r.Spans(rule) })
			}):
				g.open = append(g.open, verb)
			}
		}
		if len(g.denied) == 0 || len(g.open) == 0 || how == ByEverything && w.Connects && !slices.Contains(g.denied, "create") {
			continue
		}
		same := slices.IndexFunc(gaps, func(other gap) bool {
			return other.named == g.named && slices.Equal(other.open, g.open) && slices.Equal(other.denied, g.denied)
		})
		if same >= 0 {
			gaps[same].ways = append(gaps[same].ways, w.String())
			continue
		}
		gaps = append(gaps, g)
	}
	return gaps
}

// remedy says what is open, and what to write.
func (g *gap) remedy() string {
	is := "is"
	if len(g.ways) > 1 {
		is = "are"
	}
	text := fmt.Sprintf("%s %s reached by %s as well, which stays open at the authorizer; ", strings.Join(g.ways, ", "), is, strings.Join(g.open, " and "))
	if g.named {
		return text + fmt.Sprintf("write [%s], or \"*\"", strings.Join(g.all(), ", "))
	}
	return text + fmt.Sprintf("add a rule with resources: [%s] and verbs: [%s] for the same namespaces and names", strings.Join(g.ways, ", "), strings.Join(g.open, ", "))
}

// all are the verbs that leave nothing open, in the order in which ways have them.
func (g *gap) all() []string {
	return slices.DeleteFunc(slices.Clone(ProxyVerbs), func(verb string) bool {
		return !slices.Contains(g.denied, verb) && !slices.Contains(g.open, verb)
	})
}

// Denies reports whether the rule denies some of the requests that take a way by a
// verb.
func (d *Rule) Denies(w *Way, verb string) bool {
	return d.isAbout(ResourceKey{"", w.Resource, w.Subresource}) && (d.verbs.Match(verb) || w.Connects && d.verbs.Match(builtin.VerbConnect))
}

// guardsUsers reports whether the rule keeps people from acting as all users, or as all
// service accounts.
func (d *Rule) guardsUsers(resource string) bool {
	return d.everyName() && d.verbs.Match(impersonation.Verb) &&
		(d.isAbout(ResourceKey{"", resource, ""}) || d.isAbout(ResourceKey{impersonation.Group, resource, ""}))
}

// Spans reports whether the rule is about each object that another is about, verbs and
// resources aside.
func (d *Rule) Spans(other *Rule) bool {
	if !d.everyName() && (other.anyName || !glob.Includes(d.Written.ResourceNames, other.Written.ResourceNames)) {
		return false
	}
	if d.namespaces == nil || glob.Includes(d.Written.Namespaces.Patterns, []string{stored.Anything}) {
		return true
	}
	return other.namespaces != nil && d.namespaces.Includes(other.namespaces)
}

// Naming is how a rule comes to be about a way in.
type Naming int

const (
	ByEverything Naming = iota
	ByPattern
	ByName
)

// ComesTo says how the rule names a way in that it is about.
func (d *Rule) ComesTo(w *Way) Naming {
	if slices.Contains(d.Written.Resources, w.String()) || slices.Contains(d.Written.Subresources, w.Subresource) {
		return ByName
	}
	everySubresource := !d.HasSubresources || slices.Contains(d.Written.Subresources, stored.Anything)
	for _, entry := range d.Written.Resources {
		resource, subresource, with := strings.Cut(entry, "/")
		switch {
		case resource == stored.Anything && (subresource == stored.Anything || !with && everySubresource):
		case glob.Match(resource, w.Resource) && (glob.Match(subresource, w.Subresource) || d.HasSubresources):
			return ByPattern
		}
	}
	return ByEverything
}
