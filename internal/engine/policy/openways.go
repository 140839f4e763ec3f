package policy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/review/impersonation"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// way is a subresource that leads into pods, the verbs by which it is taken, and
// whether it leads to a CONNECT.
type way struct {
	resource, subresource string
	verbs                 []string
	connects              bool
}

// intoPodsBy are the ways by which someone gets into a pod, in the order in which they
// are named. Reading a log is not one.
var intoPodsBy = []way{
	{"pods", "exec", []string{"get", "create"}, true},
	{"pods", "attach", []string{"get", "create"}, true},
	{"pods", "portforward", []string{"get", "create"}, true},
	{"pods", "ephemeralcontainers", []string{"update", "patch"}, false},
	{"pods", "proxy", proxyVerbs, true},
	{"services", "proxy", proxyVerbs, true},
	{"nodes", "proxy", proxyVerbs, true},
}

func (w *way) String() string { return w.resource + "/" + w.subresource }

// waysIn are the ways in as podSecurityRules name them, which have no name for those
// through a service.
var waysIn = func() (points []string) {
	for i := range intoPodsBy {
		if w := &intoPodsBy[i]; w.resource != "services" {
			points = append(points, w.point())
		}
	}
	return points
}()

// point is how podSecurityRules name the way.
func (w *way) point() string {
	if w.resource == "pods" {
		return w.subresource
	}
	return w.String()
}

// leavesOpen says what a DenyPolicy leaves open next to what it guards.
func (p *denyPolicy) leavesOpen() []effect.Note {
	spec := field.NewPath("spec")
	var notes []effect.Note
	own := []*denyPolicy{p}
	if open := p.openWays(own); len(open) > 0 {
		notes = append(notes, effect.Note{Path: spec.Child("podSecurityRules", "appliesTo", "subresources"), Detail: fmt.Sprintf(
			"%s lead into the same pods and are not judged; unless another policy guards them, add them: [%s]",
			strings.Join(open, ", "), strings.Join(append(p.guardedWays(), open...), ", "))})
	}
	for i, rule := range p.rules {
		for _, g := range p.gaps(rule, own) {
			at := spec.Child("rules").Index(i).Child("verbs")
			if g.named {
				notes = append(notes, effect.HalfOpen.Note(at, g.remedy()))
				continue
			}
			notes = append(notes, effect.Note{Path: at, Detail: g.remedy()})
		}
		if rule.guardsUsers("users") && !slices.ContainsFunc(p.rules, func(r *denyRule) bool { return r.guardsUsers("serviceaccounts") && r.spans(rule) }) {
			notes = append(notes, effect.Note{Path: spec.Child("rules").Index(i).Child("resources"),
				Detail: "does not keep anyone from acting as a service account: to the API server serviceaccounts are another resource; add it to resources if they are meant too"})
		}
	}
	return notes
}

// OpenBeside says, of the DenyPolicies that hold in a cluster, which ways into pods
// stay open beside those that they guard.
func (s *denyPolicies) OpenBeside(cluster string) []string {
	var here []*denyPolicy
	for _, p := range s.deny {
		if p.scope.inCluster(cluster) && p.broken == nil {
			here = append(here, p)
		}
	}
	var said []string
	for _, p := range here {
		if open := p.openWays(here); len(open) > 0 {
			said = append(said, fmt.Sprintf("DenyPolicy %s judges %s, and no policy judges %s as strictly, by which the same pods are reached",
				p.name, strings.Join(p.guardedWays(), ", "), strings.Join(open, ", ")))
		}
		for i, rule := range p.rules {
			for _, g := range p.gaps(rule, here) {
				said = append(said, fmt.Sprintf("DenyPolicy %s, rules[%d], denies %s by %s, and no rule denies all of that by %s, which stays open at the authorizer",
					p.name, i, strings.Join(g.ways, ", "), strings.Join(g.denied, ", "), strings.Join(g.open, " and ")))
			}
		}
	}
	return said
}

// openWays are the ways in that podSecurityRules do not judge, where they judge one,
// and that none of the policies closes.
func (p *denyPolicy) openWays(policies []*denyPolicy) []string {
	if p.risk == nil || len(p.guardedWays()) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(waysIn), func(point string) bool {
		return slices.ContainsFunc(policies, func(q *denyPolicy) bool {
			return q.spans(p) && (q.risk != nil && q.risk.CoversPoint(point) && q.risk.AsStrictAs(p.risk) || q.closes(point))
		})
	})
}

func (p *denyPolicy) guardedWays() []string {
	return slices.DeleteFunc(slices.Clone(waysIn), func(way string) bool { return !p.risk.CoversPoint(way) })
}

// closes reports whether the rules deny everyone a way into every pod.
func (p *denyPolicy) closes(point string) bool {
	for i := range intoPodsBy {
		if w := &intoPodsBy[i]; w.point() == point {
			return !slices.ContainsFunc(w.verbs, func(verb string) bool {
				return !slices.ContainsFunc(p.rules, func(r *denyRule) bool { return r.denies(w, verb) && r.spans(&denyRule{anyName: true}) })
			})
		}
	}
	return false
}

// spans reports whether the policy holds wherever another does.
func (p *denyPolicy) spans(other *denyPolicy) bool {
	if p == other {
		return true
	}
	a, b := p.scope.written, other.scope.written
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
func (p *denyPolicy) gaps(rule *denyRule, policies []*denyPolicy) []gap {
	var gaps []gap
	for i := range intoPodsBy {
		w := &intoPodsBy[i]
		how := rule.comesTo(w)
		g := gap{ways: []string{w.String()}, named: how == byName}
		for _, verb := range w.verbs {
			switch {
			case rule.denies(w, verb):
				g.denied = append(g.denied, verb)
			case !slices.ContainsFunc(policies, func(q *denyPolicy) bool {
				return q.spans(p) && slices.ContainsFunc(q.rules, func(r *denyRule) bool { return r.denies(w, verb) && r.spans(rule) })
			}):
				g.open = append(g.open, verb)
			}
		}
		if len(g.denied) == 0 || len(g.open) == 0 || how == byEverything && w.connects && !slices.Contains(g.denied, "create") {
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
	return slices.DeleteFunc(slices.Clone(proxyVerbs), func(verb string) bool {
		return !slices.Contains(g.denied, verb) && !slices.Contains(g.open, verb)
	})
}

// denies reports whether the rule denies some of the requests that take a way by a
// verb.
func (d *denyRule) denies(w *way, verb string) bool {
	return d.isAbout(resourceKey{"", w.resource, w.subresource}) && (d.verbs.Match(verb) || w.connects && d.verbs.Match(verbConnect))
}

// guardsUsers reports whether the rule keeps people from acting as all users, or as all
// service accounts.
func (d *denyRule) guardsUsers(resource string) bool {
	return d.everyName() && d.verbs.Match(impersonation.Verb) &&
		(d.isAbout(resourceKey{"", resource, ""}) || d.isAbout(resourceKey{impersonation.Group, resource, ""}))
}

// spans reports whether the rule is about each object that another is about, verbs and
// resources aside.
func (d *denyRule) spans(other *denyRule) bool {
	if !d.everyName() && (other.anyName || !glob.Includes(d.written.ResourceNames, other.written.ResourceNames)) {
		return false
	}
	if d.namespaces == nil || glob.Includes(d.written.Namespaces.Patterns, []string{anything}) {
		return true
	}
	return other.namespaces != nil && d.namespaces.Includes(other.namespaces)
}

// naming is how a rule comes to be about a way in.
type naming int

const (
	byEverything naming = iota
	byPattern
	byName
)

// comesTo says how the rule names a way in that it is about.
func (d *denyRule) comesTo(w *way) naming {
	if slices.Contains(d.written.Resources, w.String()) || slices.Contains(d.written.Subresources, w.subresource) {
		return byName
	}
	everySubresource := !d.hasSubresources || slices.Contains(d.written.Subresources, anything)
	for _, entry := range d.written.Resources {
		resource, subresource, with := strings.Cut(entry, "/")
		switch {
		case resource == anything && (subresource == anything || !with && everySubresource):
		case glob.Match(resource, w.resource) && (glob.Match(subresource, w.subresource) || d.hasSubresources):
			return byPattern
		}
	}
	return byEverything
}
