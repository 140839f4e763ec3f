package workflow

import (
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/watch/follow/ours"
)

// slim takes out of an object what the workflow does not read before it is cached. What
// an exception says is read from the set in force, so that its status is enough here;
// and what one says is said of thousands, so that each text is held once.
func slim(object any) (any, error) {
	switch e := object.(type) {
	case *v1alpha1.PolicyException:
		e.Spec = v1alpha1.PolicyExceptionSpec{}
		shareTexts(&e.TypeMeta, &e.ObjectMeta, e.Status.Conditions)
	case *v1alpha1.ClusterPolicyException:
		e.Spec = v1alpha1.PolicyExceptionSpec{}
		shareTexts(&e.TypeMeta, &e.ObjectMeta, e.Status.Conditions)
	}
	return ours.Slim(object)
}

func shareTexts(kind *metav1.TypeMeta, meta *metav1.ObjectMeta, conditions []metav1.Condition) {
	share(&kind.Kind)
	share(&kind.APIVersion)
	share(&meta.Namespace)
	for i := range conditions {
		c := &conditions[i]
		share(&c.Type)
		share(&c.Status)
		share(&c.Reason)
		share(&c.Message)
	}
}

// share has a text be held once, however many objects have it.
func share[T ~string](text *T) { *text = unique.Make(*text).Value() }
