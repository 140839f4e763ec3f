package stored

import (
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// Spared reports whether a request is left out by whatever answers for a broken
// object: objects of Sallyport and their definitions, or nobody could mend it.
func Spared(r *request.Request) bool {
	return r.Resource.Group == v1alpha1.GroupVersion.Group || ownDefinition(r)
}

// ownDefinition reports whether a request is about the definition of one of
// Sallyport's kinds.
func ownDefinition(r *request.Request) bool {
	return r.Resource.Group == "apiextensions.k8s.io" && r.Resource.Resource == "customresourcedefinitions" &&
		strings.HasSuffix(r.Name, "."+v1alpha1.GroupVersion.Group)
}

// Beside reports whether a request is left out where a broken object names no kinds
// or resources, or none that can be read: what only says how things are, and what
// keeps the cluster itself together.
func Beside(r *request.Request) bool {
	switch r.Resource.Group {
	case "coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io", EventsGroup:
		return true
	}
	return r.Subresource == "status" || r.Resource.Group == "" && r.Resource.Resource == "events"
}

// EventsGroup is the group of Events beside the core group.
const EventsGroup = match.EventsGroup
