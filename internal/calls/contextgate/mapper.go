package contextgate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is a resource of the cluster in one of its versions.
type Resource struct {
	Group, Version, Resource, Kind string
	Namespaced                     bool
}

// String is the resource as plural.group.
func (r Resource) String() string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

// APIVersion is group/version, or the version for the core group.
func (r Resource) APIVersion() string {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
}

// Mapper finds the resource that an apiVersion and a kind name. The kind may as
// well be the plural or the singular. What the cluster does not serve is an
// *Unserved; every other error means that nobody knows.
type Mapper interface {
	Resolve(ctx context.Context, apiVersion, kind string) (Resource, error)
}

// Unserved is the error for a resource that is not there.
type Unserved struct{ APIVersion, Kind string }

// Error says what is not there.
func (u *Unserved) Error() string {
	return fmt.Sprintf("the cluster serves no %s of %s", clip(u.Kind), clip(u.APIVersion))
}

func (u *Unserved) name() string {
	group, _, ok := strings.Cut(u.APIVersion, "/")
	if !ok {
		return clip(u.Kind)
	}
	return clip(u.Kind + "." + group)
}

// RESTMapper makes a Mapper of one that discovers what an API server serves.
func RESTMapper(from meta.RESTMapper) Mapper { return restMapper{from} }

type restMapper struct{ meta.RESTMapper }

func (m restMapper) Resolve(_ context.Context, apiVersion, kind string) (Resource, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || version.Version == "" {
		return Resource{}, &Unserved{apiVersion, kind}
	}
	asked := version.WithKind(kind)
	mapping, err := m.RESTMapping(asked.GroupKind(), asked.Version)
	if meta.IsNoMatchError(err) && kind == strings.ToLower(kind) {
		// Not a kind, but maybe a plural or a singular. A group that is left out
		// stands for any one, so what comes back is held to what was asked for.
		var found schema.GroupVersionKind
		if found, err = m.KindFor(version.WithResource(kind)); err == nil {
			if found.GroupVersion() != version {
				return Resource{}, &Unserved{apiVersion, kind}
			}
			mapping, err = m.RESTMapping(found.GroupKind(), found.Version)
		}
	}
	switch {
	case meta.IsNoMatchError(err):
		return Resource{}, &Unserved{apiVersion, kind}
	case err != nil:
		return Resource{}, err
	case mapping.Resource.GroupVersion() != version:
		return Resource{}, &Unserved{apiVersion, kind}
	}
	return Resource{
		Group: mapping.Resource.Group, Version: mapping.Resource.Version, Resource: mapping.Resource.Resource,
		Kind: mapping.GroupVersionKind.Kind, Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
	}, nil
}

// Guess is a Mapper for when there is no cluster to ask, such as for a recorded
// session: plurals are made from kinds by rule, and every object is taken to have
// a namespace unless Cluster lists its kind.
type Guess struct {
	// Cluster are kinds whose objects have no namespace.
	Cluster []string
}

// Resolve never fails for a kind that is written as one.
func (g Guess) Resolve(_ context.Context, apiVersion, kind string) (Resource, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return Resource{}, err
	}
	if kind == "" || strings.ContainsAny(kind, "/ .*") {
		return Resource{}, errors.New("the kind is not one")
	}
	resource := Resource{Group: version.Group, Version: version.Version, Kind: kind, Namespaced: true}
	if kind == strings.ToLower(kind) && strings.HasSuffix(kind, "s") && !strings.HasSuffix(kind, "ss") {
		// No kind is written so, but plurals are.
		resource.Resource = kind
	} else {
		resource.Resource = pluralOf(version, kind)
	}
	for _, one := range g.Cluster {
		if pluralOf(version, one) == resource.Resource {
			resource.Kind, resource.Namespaced = one, false
		}
	}
	return resource, nil
}

func pluralOf(version schema.GroupVersion, kind string) string {
	plural, _ := meta.UnsafeGuessKindToResource(version.WithKind(kind))
	return plural.Resource
}
