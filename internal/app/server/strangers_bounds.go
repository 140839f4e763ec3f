package server

import (
	"fmt"
	"net/http"

	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Bounds in bytes of what a review says of itself beside its objects, where it may be made
// up. Beyond them nothing is written by an API server; and what is kept of a review, in
// memory and in events, is counted and not weighed.
const (
	longestName = 253
	longestUser = 1024
	// mostSaid bounds groups and extra together: a token or a certificate holds less.
	mostSaid = 64 << 10
)

// withinBounds refuses a review by a caller that shows nothing which says more of itself than an
// API server does.
func withinBounds(r *request.Request) error {
	names := map[string]string{
		"resource": r.Resource.Resource, "resource.group": r.Resource.Group, "resource.version": r.Resource.Version, "subResource": r.Subresource,
		"kind": r.Kind.Kind, "kind.group": r.Kind.Group, "kind.version": r.Kind.Version,
		"namespace": r.Namespace, "name": r.Name, "uid": string(r.UID), "operation": string(r.Operation),
	}
	if r.Asked != nil {
		names["requestResource"], names["requestResource.group"], names["requestResource.version"] = r.Asked.Resource.Resource, r.Asked.Resource.Group, r.Asked.Resource.Version
		names["requestKind"], names["requestKind.group"], names["requestKind.version"] = r.Asked.Kind.Kind, r.Asked.Kind.Group, r.Asked.Kind.Version
		names["requestSubResource"] = r.Asked.Subresource
	}
	for field, value := range names {
		if len(value) > longestName {
			return saysMore("request."+field, len(value), longestName)
		}
	}
	for field, value := range map[string]string{"username": r.User.Name, "uid": r.User.UID} {
		if len(value) > longestUser {
			return saysMore("request.userInfo."+field, len(value), longestUser)
		}
	}
	said := 0
	for _, group := range r.User.Groups {
		said += len(group)
	}
	for key, values := range r.User.Extra {
		said += len(key)
		for _, value := range values {
			said += len(value)
		}
	}
	if said > mostSaid {
		return saysMore("request.userInfo", said, mostSaid)
	}
	return nil
}

func saysMore(field string, is, most int) error {
	return &door.Error{Status: http.StatusBadRequest, Message: fmt.Sprintf("%s has %d bytes, and a caller that shows no credentials may send %d", field, is, most)}
}
