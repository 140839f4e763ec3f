package identity

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// Guards says at which doors the claims of one key are asked for, beside those at
// which every claim is.
type Guards struct {
	// PortForward and Proxy: the source has these subresources of pods.
	PortForward, Proxy bool
	// Token: the claim follows from a token of the service account.
	Token bool
	// Annotation: the claim follows from an annotation of the service account.
	Annotation bool
	// Kinds are the custom kinds in which the source finds the claim.
	Kinds []schema.GroupKind
}

// GuardsOf tells of the source that has the key; of a key without a source it
// tells nothing.
func (s *Set) GuardsOf(key string) Guards {
	if s == nil || s.byKey[key] == nil {
		return Guards{}
	}
	src := s.byKey[key]
	g := Guards{
		PortForward: slices.Contains(src.subresources, "portforward"),
		Proxy:       slices.Contains(src.subresources, "proxy"),
		Token:       slices.Contains(s.accounts, src),
	}
	g.Annotation = g.Token && src.annotation != ""
	for _, list := range s.audiences {
		g.Token = g.Token || slices.Contains(list, src)
	}
	for _, gk := range s.Kinds() {
		if slices.ContainsFunc(s.fields[gk], func(k kindSource) bool { return k.identitySource == src }) {
			g.Kinds = append(g.Kinds, gk)
		}
	}
	return g
}

// ReadsAccounts reports whether some source reads annotations of service
// accounts.
func (s *Set) ReadsAccounts() bool {
	return s != nil && slices.ContainsFunc(s.accounts, func(src *identitySource) bool { return src.annotation != "" })
}

// KeyFault says why no identity has the key; empty: one can.
func KeyFault(key string, form v1alpha1.IdentityReviewForm) string { return faultOfKey(key, form) }

// ValueFault says why nobody can be granted the value; empty: somebody can.
func ValueFault(value string, form v1alpha1.IdentityReviewForm) string { return faultOf(value, form) }
