package wiring

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/rules/builtin"
)

// needs is what the authorizer has to be asked about, and why.
type needs struct {
	// everything is why it has to be asked about all; empty where it has not.
	everything []string
	// further are the resources beyond what gets into a pod.
	further []wiring.Resource
	// why names the policies that each of them is for.
	why [][]string
}

// needed works out what the policies and escalations of a cluster need. asks reports whether
// a question is asked without being told.
func needed(set *policy.Set, sources *policy.Sources, asks func(wiring.Question) (bool, error)) (*needs, error) {
	n := &needs{}
	for _, p := range set.Deny {
		for _, rule := range p.Rules {
			if err := n.rule(rule, p.Name, asks); err != nil {
				return nil, err
			}
		}
	}
	for _, e := range sources.Escalations {
		if group := e.Object.Spec.EscalatedGroup; group != "" {
			n.all(fmt.Sprintf("sessions of the BreakglassEscalation %s give the rights of the group %s, and only what is asked about can be allowed", e.Object.Name, group))
		}
	}
	return n, nil
}

func (n *needs) all(why string) {
	if !slices.Contains(n.everything, why) {
		n.everything = append(n.everything, why)
	}
}

// rule notes what a rule is about, which is all that it names: what a pattern matches is not
// known to the API server.
func (n *needs) rule(rule *deny.Rule, by string, asks func(wiring.Question) (bool, error)) error {
	verbs := slices.DeleteFunc(slices.Clone(rule.Written.Verbs), func(verb string) bool {
		// The one is the front door's own word, and of the others each is asked about.
		return verb == builtin.VerbConnect || strings.HasPrefix(verb, "impersonate")
	})
	if len(verbs) == 0 {
		return nil
	}
	for _, group := range rule.Written.APIGroups {
		for _, entry := range rule.Written.Resources {
			resource, subresource, _ := strings.Cut(entry, "/")
			subresources := []string{subresource}
			if rule.HasSubresources {
				subresources = rule.Written.Subresources
			}
			for _, subresource := range subresources {
				r := wiring.Resource{Group: group, Resource: resource, Subresource: subresource, Verbs: verbs}
				if strings.ContainsAny(group+resource+subresource, "*?") {
					n.all(fmt.Sprintf("the DenyPolicy %s is about resources by a pattern, %s", by, named(r)))
					continue
				}
				already, err := asks(wiring.Question{User: "somebody", Verb: "get", Group: group, Resource: resource, Subresource: subresource})
				if err != nil {
					return err
				}
				if !already {
					n.add(r, by)
				}
			}
		}
	}
	return nil
}

// add notes a resource with verbs, by all of which it is asked about where one of them is a
// pattern.
func (n *needs) add(r wiring.Resource, by string) {
	if slices.ContainsFunc(r.Verbs, func(verb string) bool { return strings.ContainsAny(verb, "*?") }) {
		r.Verbs = nil
	}
	at := slices.IndexFunc(n.further, func(o wiring.Resource) bool {
		return r.Group == o.Group && r.Resource == o.Resource && r.Subresource == o.Subresource
	})
	if at < 0 {
		n.further, n.why = append(n.further, r), append(n.why, []string{by})
		return
	}
	known := &n.further[at]
	if known.Verbs == nil || r.Verbs == nil {
		known.Verbs = nil
	} else {
		known.Verbs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(known.Verbs, r.Verbs))))
	}
	if !slices.Contains(n.why[at], by) {
		n.why[at] = append(n.why[at], by)
	}
}
