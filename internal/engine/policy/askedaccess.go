package policy

import (
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/impersonation"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/builtin"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// AskedAccess is what some door has to ask about for a DenyPolicy to be held to.
type AskedAccess struct {
	Policy stored.Ref
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
	for _, p := range s.Deny {
		a := AskedAccess{Policy: stored.Ref{Kind: stored.KindDenyPolicy, Namespace: "", Name: p.Name}}
		add := func(d AskedDoor) {
			if len(a.Doors) < mostAsked && !slices.Contains(a.Doors, d) {
				a.Doors = append(a.Doors, d)
			}
		}
		if p.Risk != nil {
			for _, point := range deny.AccessPoints {
				if p.Risk.CoversPoint(point) {
					add(doorOfPoint(point))
				}
			}
			a.PodLabels, a.NamespaceLabels = len(p.Risk.ExemptLabels()) > 0, p.Risk.NeedsNamespaceLabels()
		}
		for _, rule := range p.Rules {
			doors(rule, add)
		}
		all = append(all, a)
	}
	return all
}

// doorOfPoint is an access point as a request.
func doorOfPoint(point string) AskedDoor {
	for i := range deny.IntoPodsBy {
		if w := &deny.IntoPodsBy[i]; w.Point() == point {
			return door(w, w.Verbs[len(w.Verbs)-1])
		}
	}
	return AskedDoor{"", "get", "", "pods", point}
}

func door(w *deny.Way, verb string) AskedDoor {
	if w.Connects {
		// Whatever the verb, it comes to this one operation.
		return AskedDoor{request.Connect, verb, "", w.Resource, w.Subresource}
	}
	return AskedDoor{operationFor(verb), verb, "", w.Resource, w.Subresource}
}

func operationFor(verb string) request.Operation {
	for _, o := range []request.Operation{request.Create, request.Update, request.Delete} {
		if slices.Contains(builtin.VerbsOf(o), verb) {
			return o
		}
	}
	return ""
}

// StandIn is the name that stands for a group, a resource or a subresource that a
// pattern matches.
const StandIn = "sallyport-probe"

// doors adds requests that the rule is about.
func doors(d *deny.Rule, add func(AskedDoor)) {
	for i := range deny.IntoPodsBy {
		w := &deny.IntoPodsBy[i]
		for _, verb := range w.Verbs {
			if d.Denies(w, verb) {
				add(door(w, verb))
			}
		}
	}
	for _, group := range d.Written.APIGroups {
		for _, entry := range d.Written.Resources {
			resource, subresource, _ := strings.Cut(standing(entry), "/")
			subresources := []string{subresource}
			if d.HasSubresources {
				subresources = d.Written.Subresources
			}
			for _, subresource := range subresources {
				key := deny.ResourceKey{Group: standing(group), Resource: resource, Subresource: standing(subresource)}
				if slices.ContainsFunc(deny.IntoPodsBy, func(w deny.Way) bool {
					return key == deny.ResourceKey{Group: "", Resource: w.Resource, Subresource: w.Subresource}
				}) {
					continue
				}
				for _, verb := range askedVerbs(d) {
					add(AskedDoor{operationFor(verb), verb, key.Group, key.Resource, key.Subresource})
				}
			}
		}
	}
}

// askedVerbs are the verbs that stand for those of the rule. The front door's own word
// is none: it is about the ways into pods.
func askedVerbs(d *deny.Rule) []string {
	var verbs []string
	for _, verb := range d.Written.Verbs {
		switch {
		case verb == builtin.VerbConnect:
		case verb == stored.Anything:
			verbs = append(verbs, "get", "delete")
		case strings.Contains(verb, stored.Anything):
			for _, known := range append([]string{"get", "list", "watch", impersonation.Verb, "deletecollection"}, deny.ProxyVerbs...) {
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
	if entry == stored.Anything {
		return StandIn
	}
	return wildcards.Replace(entry)
}

var wildcards = strings.NewReplacer("*", "probe", "?", "p")

// IdentitySources are the sources of identities that are in force.
func (s *Set) IdentitySources() []stored.Ref {
	var refs []stored.Ref
	for id := range s.first {
		if id.Kind == identity.KindSource {
			refs = append(refs, id)
		}
	}
	return refs
}
