// Package identity finds the identities that pods carry, and asks whether a user
// may act as each of them. It implements document "Validated Pod Annotations".
//
// An identity is a key with a value: kerberos with legacy-frontend-app. Where the
// value stands in a pod is what an IdentitySource says. Sources that find no value
// in the pod, but a credential of its service account (a projected token, a pod
// certificate, a CSI volume without an attribute), give NAMESPACE:NAME of the
// account: a bare account name is whatever the administrator of some namespace
// wants it to be, a colon is in neither name, and a slash would end the
// subresource that the document puts the value into.
package identity

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// Claim is one identity that a pod carries. Two claims are the same if their keys
// and values are, byte for byte: nothing is folded, trimmed or decoded, so that
// what is granted is what the reader of the claim sees.
type Claim struct {
	Key, Value string
	// Path of the field that it was read from, from the root of the object.
	Path string
	// Source is the name of the IdentitySource; empty for what the document's own
	// field says under a key that no source has.
	Source string
	// Form in which the permission is asked for.
	Form v1alpha1.IdentityReviewForm
	// CacheFor is how long a permission may be taken to hold; 0: ask each time.
	CacheFor time.Duration
	// Fault says why nobody can be granted the claim; empty for most. A claim with
	// a fault is refused without a review.
	Fault string
}

// same tells claims by what is granted.
func (c *Claim) same(d *Claim) bool { return c.Key == d.Key && c.Value == d.Value }

// String is the claim as people write it: KEY="VALUE".
func (c Claim) String() string { return c.Key + "=" + strconv.Quote(cut(c.Value)) }

const (
	// maxValue bounds a value as the names of Kubernetes are bound.
	maxValue = 253
	// maxClaims bounds how many claims one object may carry. Each costs a review.
	maxClaims = 64
)

// cut shortens what is shown of a value that may be of any length.
func cut(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."
}

// faultOf says what is wrong with a value. Each fault is one by which the review
// would speak of something else than the pod carries:
//
//   - An empty value is neither a subresource nor a name: the review would ask for the
//     resource as a whole.
//   - A slash would end the subresource. In the form Resource the value is a name,
//     which may hold some.
//   - "*" stands in a review for everything, and in a rule for what its author
//     took it to mean: `validatedannotations/*` grants this one literal value and
//     is written by people who mean all of them.
//   - Characters that are not seen, or that are not text, are shown and sent as
//     others than they are.
//
// Spaces at the ends are kept: the value is another one, and is granted to nobody
// who was not granted it.
func faultOf(value string, form v1alpha1.IdentityReviewForm) string {
	switch {
	case value == "":
		return "its value is empty"
	case len(value) > maxValue:
		return fmt.Sprintf("its value is %d bytes long, at most %d are allowed", len(value), maxValue)
	case form != v1alpha1.ReviewResource && strings.IndexByte(value, '/') >= 0:
		return `its value contains "/"; the form ValidatedAnnotation cannot ask for it, the form Resource can`
	case strings.IndexByte(value, '*') >= 0:
		return `its value contains "*", which stands for every value in a permission`
	}
	for i := 0; i < len(value); i++ {
		if c := value[i]; c < ' ' || c >= 0x7f {
			return faultOfText(value)
		}
	}
	return ""
}

// faultOfText finds characters that are not seen.
func faultOfText(value string) string {
	if !utf8.ValidString(value) {
		return "its value is not UTF-8"
	}
	for _, r := range value {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return fmt.Sprintf("its value contains the control character %U", r)
		}
		if r == utf8.RuneError {
			return "its value contains the replacement character U+FFFD"
		}
	}
	return ""
}
