// Package door holds what the two doors share: the error that a request gets
// which cannot even be read, and how names in a request are normalised.
package door

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// Error says why a request was not judged at all. It is answered with an HTTP
// status and not with a review: the API server then does what the webhook's or
// the authorizer's failurePolicy says.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Message is one sentence that says what was found and what would be right.
	Message string
	// Err is what caused it, if anything did.
	Err error
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Malformed is the error for a request that is not what belongs at a door: a
// status of 400. An error that is formatted with %w becomes its cause.
func Malformed(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Status: http.StatusBadRequest, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Review checks that a body names itself as the review that belongs at a door.
func Review(kind, apiVersion, wantKind, wantAPIVersion string) *Error {
	switch {
	case kind == "" && apiVersion == "":
		return Malformed("the body names no kind and no apiVersion, %s of %s belongs here", decision.A(wantKind), wantAPIVersion)
	case kind != wantKind:
		return Malformed("kind is %q, %s belongs here", kind, decision.A(wantKind))
	case apiVersion != wantAPIVersion:
		return Malformed("apiVersion is %q, this door reads only %s", apiVersion, wantAPIVersion)
	default:
		return nil
	}
}

// Resource normalises a resource and its subresource to what stands in a URL:
// lower case, and the two apart where they came as one ("pods/exec"). A rule
// about pods/exec must not be passed by asking about Pods/Exec.
func Resource(group, version, resource, subresource string) (schema.GroupVersionResource, string) {
	resource, subresource = strings.ToLower(resource), strings.ToLower(subresource)
	if first, rest, ok := strings.Cut(resource, "/"); ok && subresource == "" {
		resource, subresource = first, rest
	}
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, subresource
}
