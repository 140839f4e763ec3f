package holders

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// guard says when Sallyport's doors refuse somebody a way whom RBAC allows it,
// because of a claim that they do not hold.
type guard uint8

const (
	// unguarded: the doors are not asked, or cannot tell whose runtime it leads to.
	unguarded guard = iota
	// always: every claim is asked for.
	always
	// The claims whose source has the subresource of pods.
	byPortForward
	byProxy
	// byToken: the claims that follow from the service account.
	byToken
	// byKind: the claims whose source reads the custom kind.
	byKind
)

// asked is what the doors ask of somebody who lacks some claims.
type asked struct {
	// any claim is asked for at all.
	any, portForward, proxy, token bool
	kinds                          []schema.GroupResource
}

// asksFor gathers what the doors ask of somebody who holds none of the claims.
func asksFor(claims []Carried) *asked {
	a := &asked{any: len(claims) > 0}
	for i := range claims {
		g := &claims[i].Guards
		a.portForward = a.portForward || g.PortForward
		a.proxy = a.proxy || g.Proxy
		a.token = a.token || g.Token
		for _, gk := range g.Kinds {
			a.kinds = append(a.kinds, resourceOf(gk))
		}
	}
	return a
}

// guard reports whether the doors stop who has what is asked only by RBAC.
func (a *asked) guard(by *ask) bool {
	switch by.guard {
	case always:
		return a.any
	case byPortForward:
		return a.portForward
	case byProxy:
		return a.proxy
	case byToken:
		return a.token
	case byKind:
		return slices.Contains(a.kinds, schema.GroupResource{Group: by.group, Resource: by.resource})
	default:
		return false
	}
}

// resourceOf guesses the resource of a custom kind, as its CustomResourceDefinition
// most likely names it.
func resourceOf(gk schema.GroupKind) schema.GroupResource {
	plural, _ := meta.UnsafeGuessKindToResource(gk.WithVersion(""))
	return plural.GroupResource()
}
