package identity

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

const (
	// Group, Resource and Verb of the document's review.
	Group    = "authorization.k8s.io"
	Resource = "validatedannotations"
	Verb     = "use"
)

// resources of the group, which rules speak of that are about no identity.
var resources = []string{Resource, "subjectaccessreviews", "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"}

// faultOfKey says what is wrong with a key; empty: nothing. Keys are written as
// those of annotations are, which leaves out "*", spaces and whatever else a
// permission could read as something wider.
//
// In the form Resource a key with a slash would be a resource with a subresource:
// validatedannotations/x named y is what the document's form asks of y with value
// x, and one would grant the other.
func faultOfKey(key string, form v1alpha1.IdentityReviewForm) string {
	if faults := validation.IsQualifiedName(key); len(faults) > 0 {
		return "is not a key: write it as the key of an annotation, such as kerberos or example.com/account (" + strings.Join(faults, "; ") + ")"
	}
	if form != v1alpha1.ReviewResource {
		return ""
	}
	switch {
	case strings.Contains(key, "/"):
		return `contains "/"; with reviewForm Resource the key is the name of a resource, and what follows the slash would read as a subresource`
	case slices.Contains(resources, strings.ToLower(key)):
		return "is a resource that " + Group + " has; with reviewForm Resource the rules about that would grant the identity"
	}
	return ""
}
