package policy

import (
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/impersonation"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// AskedAccess is what some door has to ask about for a DenyPolicy to be held to.
type AskedAccess struct {
	Policy PolicyRef
	// Doors are the requests, each of which one of the two doors has to ask about.
	Doors []AskedDoor
	// PodLabels and NamespaceLabels are set where these exempt from the policy, so that
	// whoever changes them has to be asked about.
	PodLabels, NamespaceLabels bool
}

// AskedDoor is a request as either door hears of it.
type AskedDoor struct {
	// Operation is what the front door hears; empty where it hears of none.
	Operation request.Operation
	// Verb, Group, Resource and Subresource are what the side door hears.
	Verb, Group, Resource, Subresource string
}

// String is VERB of RESOURCE, with its subresource and its group.
func (d AskedDoor) String() string {
	name := d.Resource
	if name == StandIn {
		name = "other resources"
	}
	if d.Group != "" && d.Group != StandIn {
		name += "." + d.Group
	}
	if d.Subresource != "" {
		name += "/" + d.Subresource
	}
	return d.Verb + " of " + name
}

// mostAsked bounds how many requests stand for what a policy is about.
const mostAsked = 100

// AskedAccess lists what the DenyPolicies are about. Patterns are stood for by the ways
// into pods that they match and by a name that nothing has.
func (s *Set) AskedAccess() []AskedAccess {
	var all []AskedAccess
	for _, p := range s.deny {
		a := AskedAccess{Policy: PolicyRef{KindDenyPolicy, "", p.name}}
		add := func(d AskedDoor) {
			if len(a.Doors) < mostAsked && !slices.Contains(a.Doors, d) {
				a.Doors = append(a.Doors, d)
			}
		}
		if p.risk != nil {
			for _, point := range AccessPoints {
				if p.risk.CoversPoint(point) {
					add(doorOfPoint(point))
				}
			}
			a.PodLabels, a.NamespaceLabels = len(p.risk.ExemptLabels()) > 0, p.risk.NeedsNamespaceLabels()
		}
		for _, rule := range p.rules {
			rule.doors(add)
		}
		all = append(all, a)
	}
	return all
}

// doorOfPoint is an access point as a request.
func doorOfPoint(point string) AskedDoor {
	for i := range intoPodsBy {
		if w := &intoPodsBy[i]; w.point() == point {
			return w.door(w.verbs[len(w.verbs)-1])
		}
	}
	return AskedDoor{"", "get", "", "pods", point}
}

func (w *way) door(verb string) AskedDoor {
	if w.connects {
		// Whatever the verb, it comes to this one operation.
		return AskedDoor{request.Connect, verb, "", w.resource, w.subresource}
	}
	return AskedDoor{operationFor(verb), verb, "", w.resource, w.subresource}
}

func operationFor(verb string) request.Operation {
	for _, o := range []request.Operation{request.Create, request.Update, request.Delete} {
		if slices.Contains(verbsOf(o), verb) {
			return o
		}
	}
	return ""
}

// StandIn is the name that stands for a group, a resource or a subresource that a
// pattern matches.
const StandIn = "sallyport-probe"

// doors adds requests that the rule is about.
func (d *denyRule) doors(add func(AskedDoor)) {
	for i := range intoPodsBy {
		w := &intoPodsBy[i]
		for _, verb := range w.verbs {
			if d.denies(w, verb) {
				add(w.door(verb))
			}
		}
	}
	for _, group := range d.written.APIGroups {
		for _, entry := range d.written.Resources {
			resource, subresource, _ := strings.Cut(standing(entry), "/")
			subresources := []string{subresource}
			if d.hasSubresources {
				subresources = d.written.Subresources
			}
			for _, subresource := range subresources {
				key := resourceKey{standing(group), resource, standing(subresource)}
				if slices.ContainsFunc(intoPodsBy, func(w way) bool { return key == resourceKey{"", w.resource, w.subresource} }) {
					continue
				}
				for _, verb := range d.askedVerbs() {
					add(AskedDoor{operationFor(verb), verb, key.group, key.resource, key.subresource})
				}
			}
		}
	}
}

// askedVerbs are the verbs that stand for those of the rule. The front door's own word
// is none: it is about the ways into pods.
func (d *denyRule) askedVerbs() []string {
	var verbs []string
	for _, verb := range d.written.Verbs {
		switch {
		case verb == verbConnect:
		case verb == anything:
			verbs = append(verbs, "get", "delete")
		case strings.Contains(verb, anything):
			for _, known := range append([]string{"get", "list", "watch", impersonation.Verb, "deletecollection"}, proxyVerbs...) {
				if glob.Match(verb, known) {
					verbs = append(verbs, known)
				}
			}
		default:
			verbs = append(verbs, verb)
		}
	}
	return verbs
}

// standing is a name with something in place of its wildcards.
func standing(entry string) string {
	if entry == anything {
		return StandIn
	}
	return wildcards.Replace(entry)
}

var wildcards = strings.NewReplacer("*", "probe", "?", "p")

// IdentitySources are the sources of identities that are in force.
func (s *Set) IdentitySources() []PolicyRef {
	var refs []PolicyRef
	for id := range s.first {
		if id.kind == identity.KindSource {
			refs = append(refs, PolicyRef{id.kind, id.namespace, id.name})
		}
	}
	return refs
}
