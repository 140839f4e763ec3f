package webhooks

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/policy"
)

// served notes by which versions a resource is served that a policy names by others
// only. The same object can be written by each of them, and webhooks hand it on as it
// was written: a policy that names one version does not hold for the others.
func (n *needs) served(a *policy.Asked, c *catalogue) {
	for i := range c.all {
		s := &c.all[i]
		if s.never() {
			continue
		}
		names := func(group, version string) bool {
			for _, ask := range a.Kinds {
				if ask.Kind == nil || ask.Kind.Match(schema.GroupVersionKind{Group: group, Version: version, Kind: s.kind}, s.subresource) {
					return true
				}
			}
			return false
		}
		if !slices.ContainsFunc(s.versions, func(version string) bool { return names(s.group, version) }) {
			continue
		}
		for _, version := range s.versions {
			if !names(s.group, version) {
				n.otherwise[a.Policy] = append(n.otherwise[a.Policy], s.writtenBy(schema.GroupVersion{Group: s.group, Version: version}))
			}
		}
		other, same := s.sameIn()
		if _, served := c.at[schema.GroupResource{Group: other.Group, Resource: s.name()}]; same && served && !names(other.Group, other.Version) {
			n.otherwise[a.Policy] = append(n.otherwise[a.Policy], s.writtenBy(other))
		}
	}
}

func (s *served) writtenBy(version schema.GroupVersion) string {
	return s.name() + " by " + version.String()
}

// sameIn is the other group that serves the same objects: Events are served by two.
func (s *served) sameIn() (other schema.GroupVersion, same bool) {
	switch {
	case s.kind != "Event" || s.resource != "events":
		return other, false
	case s.group == "":
		return schema.GroupVersion{Group: eventsGroup, Version: "v1"}, true
	case s.group == eventsGroup:
		return schema.GroupVersion{Version: "v1"}, true
	}
	return other, false
}

const eventsGroup = "events.k8s.io"
