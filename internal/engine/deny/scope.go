package deny

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Scope is a compiled DenyPolicyScope.
//
// tenants, escalationRefs and sessions narrow a policy to what only breakglass
// sessions and ClusterConfigs can tell. Where nothing is known of those, as there
// are none at all, they do not narrow: a policy that restricts holds for too many
// rather than for none. See docs/decisions/0004-unknown-scopes.md.
type Scope struct {
	clusters, tenants, escalations, sessions *glob.List
	Written                                  *v1alpha1.DenyPolicyScope
}

func compileScope(s *v1alpha1.DenyPolicyScope, path *field.Path) (Scope, field.ErrorList) {
	if s == nil {
		return Scope{}, nil
	}
	lists := []struct {
		name    string
		entries []string
	}{
		{"clusters", s.Clusters}, {"tenants", s.Tenants},
		{"escalationRefs", s.EscalationRefs}, {"sessions", s.Sessions},
	}
	var errs field.ErrorList
	given := false
	for _, list := range lists {
		if list.entries == nil {
			continue
		}
		given = true
		at := path.Child(list.name)
		if len(list.entries) == 0 {
			errs = append(errs, field.Required(at, "an empty list matches nothing; name one or more, or leave the field out"))
		}
		for i, entry := range list.entries {
			if entry == "" {
				errs = append(errs, field.Invalid(at.Index(i), entry, "an empty name matches nothing"))
			}
			if strings.ContainsAny(entry, "[]{}\\ ") {
				errs = append(errs, field.Invalid(at.Index(i), entry, "patterns know only * and ?; list each name or pattern on its own"))
			}
		}
	}
	if !given {
		errs = append(errs, field.Required(path, "names nothing; give clusters, tenants, escalationRefs or sessions, or leave the field out for every request"))
	}
	if len(errs) > 0 {
		return Scope{}, errs
	}
	compiled := Scope{Written: s}
	if s.Clusters != nil {
		list := glob.NewList(s.Clusters)
		compiled.clusters = &list
	}
	for _, given := range []struct {
		names []string
		into  **glob.List
	}{{s.Tenants, &compiled.tenants}, {s.EscalationRefs, &compiled.escalations}, {s.Sessions, &compiled.sessions}} {
		if given.names != nil {
			list := glob.NewList(given.names)
			*given.into = &list
		}
	}
	return compiled, nil
}

// inCluster reports whether the policy is for a cluster by its name.
func (s *Scope) inCluster(cluster string) bool {
	return s.clusters == nil || s.clusters.Match(cluster)
}

// Covers reports whether a policy is about a request: by its own scope, or because a
// session of the user brings it along.
func (p *Policy) Covers(c *call.Call) bool {
	s, r := &p.Scope, c.Request
	if !c.Here[p.Place] || s.tenants != nil && r.Tenant != "" && !s.tenants.Match(r.Tenant) {
		return false
	}
	if s.escalations == nil && s.sessions == nil || c.Breakglass.Empty() {
		return true
	}
	return slices.ContainsFunc(c.Sessions(), func(g breakglass.Grant) bool {
		return g.BringsAlong(p.Name) ||
			(s.escalations == nil || s.escalations.Match(g.Escalation.Name)) && (s.sessions == nil || s.sessions.Match(g.Name))
	})
}
