package webhooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// served is a resource, or a subresource, that an API server has.
type served struct {
	group, resource, subresource string
	// kind is that of the resource.
	kind string
	// versions in which it is served, the preferred first.
	versions []string
	// verbs are those of any version.
	verbs []string
	// namespaced is set for what is in namespaces.
	namespaced bool
	// whole is set for a subresource that is written as the whole object, so that its
	// labels and annotations can change with it.
	whole bool
	// by is the Service of the API server that serves it, where that is another one;
	// empty for the API server itself.
	by string
}

// name is RESOURCE or RESOURCE/SUBRESOURCE, as a rule of a webhook has it.
func (s *served) name() string {
	if s.subresource == "" {
		return s.resource
	}
	return s.resource + "/" + s.subresource
}

// can reports whether requests of an operation can be made of it.
func (s *served) can(operation request.Operation) bool {
	has := func(verbs ...string) bool {
		return slices.ContainsFunc(verbs, func(v string) bool { return slices.Contains(s.verbs, v) })
	}
	switch operation {
	case request.Create:
		return has("create")
	case request.Update:
		return has("update", "patch")
	case request.Delete:
		return has("delete", "deletecollection")
	}
	return s.subresource != "" && has("create", "get")
}

// catalogue is what an API server has.
type catalogue struct {
	all []served
	// at is where each stands, by its group and its name.
	at map[schema.GroupResource]int
	// unread are the groups of which it is not known, with why.
	unread map[string]string
}

// servedElsewhere marks what API servers of their own serve, by the Service of each.
func (c *catalogue) servedElsewhere(by map[schema.GroupVersion]string) {
	for i := range c.all {
		s := &c.all[i]
		for _, version := range s.versions {
			if service := by[schema.GroupVersion{Group: s.group, Version: version}]; service != "" {
				s.by = service
			}
		}
	}
}

// readTimeout bounds the question.
const readTimeout = 10 * time.Second

// read asks an API server what it has. Groups whose own server does not answer are
// noted, and are not an error.
func read(ctx context.Context, from discovery.ServerResourcesInterfaceWithContext) (*catalogue, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	_, lists, err := from.ServerGroupsAndResourcesWithContext(ctx)
	c := &catalogue{at: map[schema.GroupResource]int{}, unread: map[string]string{}}
	var failed *discovery.ErrGroupDiscoveryFailed
	switch {
	case errors.As(err, &failed):
		for version, why := range failed.Groups {
			c.unread[version.Group] = why.Error()
		}
	case err != nil:
		return nil, fmt.Errorf("what the API server has cannot be read: %w", err)
	}
	c.add(lists)
	return c, nil
}

// unreadGroups are the groups of which it is not known what they have.
func (c *catalogue) unreadGroups() []string { return slices.Sorted(maps.Keys(c.unread)) }

func (c *catalogue) add(lists []*metav1.APIResourceList) {
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		kinds := map[string]string{}
		for i := range list.APIResources {
			if r := &list.APIResources[i]; !strings.Contains(r.Name, "/") {
				kinds[r.Name] = r.Kind
			}
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			key := schema.GroupResource{Group: version.Group, Resource: r.Name}
			if _, ok := c.at[key]; !ok {
				resource, subresource, _ := strings.Cut(r.Name, "/")
				kind := kinds[resource]
				if kind == "" {
					kind = r.Kind
				}
				c.at[key] = len(c.all)
				c.all = append(c.all, served{group: version.Group, resource: resource, subresource: subresource, kind: kind, namespaced: r.Namespaced, whole: subresource != "" && r.Kind == kind && (r.Group == "" || r.Group == version.Group)})
			}
			s := &c.all[c.at[key]]
			s.versions = append(s.versions, version.Version)
			for _, verb := range r.Verbs {
				if !slices.Contains(s.verbs, verb) {
					s.verbs = append(s.verbs, verb)
				}
			}
		}
	}
	slices.SortFunc(c.all, func(a, b served) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.resource, b.resource), cmp.Compare(a.subresource, b.subresource))
	})
	for i := range c.all {
		c.at[schema.GroupResource{Group: c.all[i].group, Resource: c.all[i].name()}] = i
	}
}
