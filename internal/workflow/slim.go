package workflow

import (
	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/follow/ours"
)

// slim takes out of an object what the workflow does not read before it is cached. What
// an exception says is read from the set in force, so that its status is enough here.
func slim(object any) (any, error) {
	switch e := object.(type) {
	case *v1alpha1.PolicyException:
		e.Spec = v1alpha1.PolicyExceptionSpec{}
	case *v1alpha1.ClusterPolicyException:
		e.Spec = v1alpha1.PolicyExceptionSpec{}
	}
	return ours.Slim(object)
}
