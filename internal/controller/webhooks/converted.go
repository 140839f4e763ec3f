package webhooks

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// written adds what an entry of a match block is about, as it is written; and where it
// can also be written by a version that no entry beside it names, as the API server
// converts it. A custom kind can have one at any moment. named is what the entry names:
// s, or the object of which s is a subresource.
func (n *needs) written(a *policy.Asked, rule []match.Ask, ask *match.Ask, k class, s, named *served, operation request.Operation, c *catalogue) {
	if !ask.OnlyConverted {
		n.add(a, k, s, operation)
	}
	may := ask.Kind != nil && !ask.Kind.EveryVersion() && !match.BuiltInGroup(s.group)
	if !may && !c.servedOtherwise(s, func(group, version string) bool {
		return slices.ContainsFunc(rule, func(other match.Ask) bool {
			return other.Filter == ask.Filter && named.namedBy(other.Kind, group, version)
		})
	}) {
		return
	}
	at := slices.IndexFunc(s.versions, func(version string) bool { return named.namedBy(ask.Kind, s.group, version) })
	k.version = schema.GroupVersion{Group: s.group, Version: s.versions[at]}
	n.add(a, k, s, operation)
}

// servedOtherwise reports whether a resource is served by a version, or by a second
// group, that is not among those that are named.
func (c *catalogue) servedOtherwise(s *served, named func(group, version string) bool) bool {
	homes := []*served{s}
	if other, ok := match.OtherGroup(s.group, s.resource); ok {
		if o := c.find(cell{group: other, resource: s.name()}); o != nil {
			homes = append(homes, o)
		}
	}
	return slices.ContainsFunc(homes, func(home *served) bool {
		return slices.ContainsFunc(home.versions, func(version string) bool { return !named(home.group, version) })
	})
}

// onlyConverted is the match condition of webhooks for what is converted: what is
// written by the version that they are about is asked about by others.
var onlyConverted = admissionregistrationv1.MatchCondition{
	Name:       "written-by-another-version",
	Expression: "request.kind.group != request.requestKind.group || request.kind.version != request.requestKind.version",
}

// hide reports whether some of the cells has a body of a kind of its own.
func (c *catalogue) hide(cells map[cell]bool) bool {
	for one := range cells {
		if s := c.find(one); s != nil && s.subresource != "" && !s.whole {
			return true
		}
	}
	return false
}

// converts reports whether a webhook asks about a resource in just one version,
// whichever it is written by, at the path for what is converted.
func (h *hook) converts(to schema.GroupVersion, s *served) bool {
	if h.match != nil && *h.match != admissionregistrationv1.Equivalent {
		return false
	}
	// A rule that names the version that something is written by takes precedence over one whose
	// version it would be converted to.
	return !slices.ContainsFunc(h.rules, func(r admissionregistrationv1.RuleWithOperations) bool {
		return aboutResource(&r, s) && !(slices.Equal(r.APIGroups, []string{to.Group}) && slices.Equal(r.APIVersions, []string{to.Version}))
	})
}

// missingAsWritten says why no hook asks about what is written by the version that is
// asked for, without a conversion; "" where one does. A webhook that names other
// versions only is asked about it as one of those.
func missingAsWritten(q question, one cell, s *served, hooks []hook) string {
	version := q.version
	q.version = schema.GroupVersion{}
	names := slices.DeleteFunc(slices.Clone(hooks), func(h hook) bool {
		return !slices.ContainsFunc(h.rules, func(r admissionregistrationv1.RuleWithOperations) bool {
			return contains(r.APIVersions, version.Version) && h.asksBy(&r, one, s)
		})
	})
	if why := missing(q, one, s, names); why != "" {
		return why + " as " + version.String()
	}
	return ""
}

// lack reports whether hooks do not ask about a cell as policies need it: those that
// name a version also where it is written by that one.
func (n *needs) lack(q question, one cell, has *catalogue, hooks []hook) bool {
	s := has.find(one)
	if s == nil || len(gaps(q, []cell{one}, has, hooks)) > 0 {
		return s != nil
	}
	for k, cells := range n.cells {
		version := k.version
		k.version = schema.GroupVersion{}
		if k != q.class || version == k.version || !cells[one] {
			continue
		}
		k.version = version
		if missingAsWritten(question{class: k, further: q.further, namespace: q.namespace}, one, s, hooks) != "" {
			return true
		}
	}
	return false
}
