package webhooks

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// neverGroups are groups about which an API server asks no webhook.
var neverGroups = []string{"admissionregistration.k8s.io"}

// neverResources are what an API server answers itself, and asks no webhook about from
// Kubernetes 1.37 on. Before, webhooks that ask about them have it wait for them to find
// out who somebody is and what he may do, so that none does.
var neverResources = []schema.GroupResource{
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	{Group: "authentication.k8s.io", Resource: "tokenreviews"},
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
}

// never reports whether webhooks are never asked about it.
func (s *served) never() bool {
	return slices.Contains(neverGroups, s.group) || slices.Contains(neverResources, schema.GroupResource{Group: s.group, Resource: s.resource})
}
