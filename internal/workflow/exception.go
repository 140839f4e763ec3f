package workflow

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/request"
)

// PolicyException and ClusterPolicyException differ in their scope alone, and are
// read as the first.
func exceptionsOf(r *request.Request) (e, old *v1alpha1.PolicyException, err error) {
	if e, err = decode[v1alpha1.PolicyException](r.Object.Raw); err != nil {
		return nil, nil, err
	}
	if r.Operation == request.Update && r.OldObject != nil {
		old, err = decode[v1alpha1.PolicyException](r.OldObject.Raw)
	}
	return e, old, err
}

// writer is who wrote the spec of an exception.
func writer(user string, e, old *v1alpha1.PolicyException) string {
	if sameException(e, old) {
		return old.Annotations[v1alpha1.AnnotationCreatedBy]
	}
	return user
}

// sameException reports whether a change leaves the spec as it is.
func sameException(e, old *v1alpha1.PolicyException) bool {
	return old != nil && apiequality.Semantic.DeepEqual(e.Spec, old.Spec)
}

func (g *Guard) validateException(r *request.Request) error {
	e, old, err := exceptionsOf(r)
	if err != nil {
		return err
	}
	want := writer(r.User.Name, e, old)
	if got := e.Annotations[v1alpha1.AnnotationCreatedBy]; got != want {
		return refuse("metadata.annotations["+v1alpha1.AnnotationCreatedBy+"]", got, "is filled in from the authenticated request; %q belongs there (is the webhook that fills it in, /mutate, configured?)", want)
	}
	if sameException(e, old) {
		return nil
	}
	if err := g.mayAsk(r, e.Namespace, e.Spec.Exceptions); err != nil {
		return err
	}
	return notPast(r, e.Spec.ExpiresAt, "spec.expiresAt")
}
