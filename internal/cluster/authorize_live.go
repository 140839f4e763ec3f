package cluster

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

var _ request.Authorizer = (*Reviews)(nil)

// Reviews asks an API server what a user may do, by SubjectAccessReview.
type Reviews struct{ client *client }

// NewReviews makes a Reviews for the cluster that config describes. Nothing is
// sent yet. The account behind config needs the right to create
// subjectaccessreviews.
func NewReviews(config *rest.Config, options ...Option) (*Reviews, error) {
	s, err := newSettings(options)
	if err != nil {
		return nil, err
	}
	c, err := newClient(config, s)
	if err != nil {
		return nil, err
	}
	return &Reviews{client: c}, nil
}

// Close closes every connection. Questions that are under way fail; later ones
// connect again.
func (r *Reviews) Close() { r.client.connections.CloseAll() }

// Allowed asks again each time; there is no cache, so a right that is taken away
// ends at once. It is bounded and tried again as a read is: to ask changes
// nothing. An answer that an authorizer could not give is an error.
func (r *Reviews) Allowed(ctx context.Context, user request.User, attributes request.Attributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Name, UID: user.UID, Groups: user.Groups,
		Extra: make(map[string]authorizationv1.ExtraValue, len(user.Extra)),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: attributes.Verb, Group: attributes.Group, Version: attributes.Version,
			Resource: attributes.Resource, Subresource: attributes.Subresource,
			Namespace: attributes.Namespace, Name: attributes.Name,
		},
	}}
	for key, values := range user.Extra {
		review.Spec.Extra[key] = values
	}
	answer, err := read[authorizationv1.SubjectAccessReview](ctx, r.client, func() *rest.Request {
		return r.client.authorization.Post().Resource("subjectaccessreviews").VersionedParams(&metav1.CreateOptions{}, metav1.ParameterCodec).Body(review)
	})
	if err != nil {
		return false, fmt.Errorf("the API server was asked whether %s may %s %s and did not answer: %w", user.Name, attributes.Verb, attributes.Resource, err)
	}
	if answer.Status.Denied {
		return false, nil
	}
	if !answer.Status.Allowed && answer.Status.EvaluationError != "" {
		return false, fmt.Errorf("the API server could not tell whether %s may %s %s: %s", user.Name, attributes.Verb, attributes.Resource, answer.Status.EvaluationError)
	}
	return answer.Status.Allowed, nil
}
