package policy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/match"
)

// waysIn are the ways by which somebody gets into a pod, in the order in which they
// are named. Reading a log is none.
var waysIn = []string{"exec", "attach", "portforward", "ephemeralcontainers", "proxy", "nodes/proxy"}

// wayVerbs are the verbs by which the ways in are taken, by resource and
// subresource, and connects whether they lead to a CONNECT.
var wayVerbs = []struct {
	resource, subresource string
	verbs                 []string
	connects              bool
}{
	{"pods", "exec", []string{"get", "create"}, true},
	{"pods", "attach", []string{"get", "create"}, true},
	{"pods", "portforward", []string{"get", "create"}, true},
	{"pods", "ephemeralcontainers", []string{"update", "patch"}, false},
	{"pods", "proxy", proxyVerbs, true},
	{"services", "proxy", proxyVerbs, true},
	{"nodes", "proxy", proxyVerbs, true},
}

// proxyVerbs are those that the methods of HTTP lead to.
var proxyVerbs = []string{"get", "create", "update", "patch", "delete"}

// leavesOpen says what a DenyPolicy leaves open next to what it guards.
func (p *denyPolicy) leavesOpen(source *v1alpha1.DenyPolicy) []warning {
	spec := field.NewPath("spec")
	var notes []warning
	if open := p.openWays(); len(open) > 0 {
		notes = append(notes, warning{spec.Child("podSecurityRules", "appliesTo", "subresources"), fmt.Sprintf(
			"%s lead into the same pods and are not judged; unless another policy guards them, add them: [%s]",
			strings.Join(open, ", "), strings.Join(append(p.guardedWays(), open...), ", "))})
	}
	for _, way := range wayVerbs {
		var missing []string
		for _, verb := range way.verbs {
			if !slices.ContainsFunc(p.rules, func(r *denyRule) bool { return r.denies(way.resource, way.subresource, verb, way.connects) }) {
				missing = append(missing, verb)
			}
		}
		if len(missing) == 0 || len(missing) == len(way.verbs) {
			continue
		}
		for i := range source.Spec.Rules {
			if p.rules[i].spellsOut(&source.Spec.Rules[i], way.resource, way.subresource) {
				notes = append(notes, warning{spec.Child("rules").Index(i).Child("verbs"), fmt.Sprintf(
					"%s/%s is reached by %s as well, which stays open at the authorizer; write [%s], or \"*\"",
					way.resource, way.subresource, strings.Join(missing, " and "), strings.Join(way.verbs, ", "))})
				break
			}
		}
	}
	return notes
}

// denies reports whether the rule denies some of the requests that take a way by a
// verb.
func (d *denyRule) denies(resource, subresource, verb string, connects bool) bool {
	return d.isAbout(resourceKey{"", resource, subresource}) && (d.verbs.Match(verb) || connects && d.verbs.Match(verbConnect))
}

// spellsOut reports whether the rule names a way in, and not merely everything.
func (d *denyRule) spellsOut(source *v1alpha1.DenyRule, resource, subresource string) bool {
	return d.isAbout(resourceKey{"", resource, subresource}) &&
		(slices.Contains(source.Resources, resource+"/"+subresource) || slices.Contains(source.Subresources, subresource))
}

// openWays are the ways in that podSecurityRules do not judge, where they judge one.
func (p *denyPolicy) openWays() []string {
	if p.risk == nil || len(p.guardedWays()) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(waysIn), p.risk.CoversPoint)
}

func (p *denyPolicy) guardedWays() []string {
	return slices.DeleteFunc(slices.Clone(waysIn), func(way string) bool { return !p.risk.CoversPoint(way) })
}

// OpenBeside says, of the DenyPolicies that hold in a cluster, which ways into pods
// none of them judges beside those that one does.
func (s *Set) OpenBeside(cluster string) []string {
	var said []string
	for _, p := range s.deny {
		if !p.scope.inCluster(cluster) {
			continue
		}
		open := slices.DeleteFunc(p.openWays(), func(way string) bool {
			return slices.ContainsFunc(s.byPoint[way], func(q *denyPolicy) bool { return q.scope.inCluster(cluster) })
		})
		if len(open) > 0 {
			said = append(said, fmt.Sprintf("DenyPolicy %s judges %s, and no policy judges %s, by which the same pods are reached",
				p.name, strings.Join(p.guardedWays(), ", "), strings.Join(open, ", ")))
		}
	}
	return said
}

// connectKinds are the ways in that are a CONNECT at the front door, as rules name
// them. The side door has nothing of what such a request carries.
var connectKinds = []struct{ kind, subresource string }{
	{"Pod", "exec"}, {"Pod", "attach"}, {"Pod", "portforward"}, {"Pod", "proxy"}, {"Service", "proxy"}, {"Node", "proxy"},
}

const frontDoorOnly = "is about %s, which rules judge at the front door only: the side door has neither what is run nor the container or the ports, and leaves it to the front door; it needs a webhook that asks about CONNECT to %s"

// atFrontDoor says which rules are about ways in, and so need the front door.
func atFrontDoor(rules []*rule) []warning {
	var notes []warning
	for i, r := range rules {
		at := field.NewPath("spec").Child("rules").Index(i).Child("match")
		r.match.Kinds(at, func(kind match.Kind, at *field.Path) {
			name, exact := kind.Exact()
			for _, way := range connectKinds {
				if exact && name == way.kind && kind.Subresource() == way.subresource {
					notes = append(notes, warning{at, fmt.Sprintf(frontDoorOnly, name+"/"+way.subresource, strings.ToLower(name)+"s/"+way.subresource)})
				}
			}
		})
	}
	return notes
}

// modulesAtFrontDoor is atFrontDoor for a module.
func modulesAtFrontDoor(spec *v1alpha1.AdmissionPolicySpec) []warning {
	var notes []warning
	for i := range spec.Rules {
		for j, resource := range spec.Rules[i].Resources {
			for _, way := range connectKinds {
				if resource == strings.ToLower(way.kind)+"s/"+way.subresource {
					notes = append(notes, warning{field.NewPath("spec").Child("rules").Index(i).Child("resources").Index(j), fmt.Sprintf(frontDoorOnly, resource, resource)})
				}
			}
		}
	}
	return notes
}

// NeedFrontDoor says which rules are about a way in and so give no opinion at the
// side door.
func (s *Set) NeedFrontDoor(kind, subresource string) []string {
	var said []string
	s.rules.about(kind, func(r *rule) {
		named := false
		r.match.Kinds(nil, func(k match.Kind, _ *field.Path) {
			name, exact := k.Exact()
			named = named || exact && name == kind && k.Subresource() == subresource
		})
		if named {
			said = append(said, fmt.Sprintf("%s %s, rule %s, gives no opinion at the side door: it goes by what the front door alone has; ask with --door admission",
				r.kind, qualified(r.namespace, r.policy), r.name))
		}
	})
	return said
}

func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
