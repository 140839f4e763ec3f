package webhooks

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/match"
	"github.com/sallyport-io/sallyport/internal/policy"
)

// served notes by which versions a resource is served that a policy names by others
// only. The same object can be written by each of them, and webhooks hand it on as it
// was written: a policy that names one version does not hold for the others.
func (n *needs) served(a *policy.Asked, c *catalogue) {
	for i := range c.all {
		s := &c.all[i]
		homes := []*served{s}
		if other, ok := match.OtherGroup(s.group, s.resource); ok {
			if o := c.find(cell{group: other, resource: s.name()}); o != nil {
				homes = append(homes, o)
			}
		}
		if s.never() || len(homes) == 1 && len(s.versions) == 1 {
			continue
		}
		names := func(group, version string) bool {
			return slices.ContainsFunc(a.Kinds, func(ask match.Ask) bool {
				return ask.Kind == nil || ask.Kind.Match(schema.GroupVersionKind{Group: group, Version: version, Kind: s.kind}, s.subresource)
			})
		}
		if !slices.ContainsFunc(s.versions, func(version string) bool { return names(s.group, version) }) {
			continue
		}
		for _, home := range homes {
			for _, version := range home.versions {
				if !names(home.group, version) {
					by := schema.GroupVersion{Group: home.group, Version: version}
					n.otherwise[a.Policy] = append(n.otherwise[a.Policy], s.name()+" by "+by.String())
				}
			}
		}
	}
}
