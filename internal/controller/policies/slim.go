package policies

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sallyport-io/sallyport/internal/follow/ours"
	"github.com/sallyport-io/sallyport/internal/pass"
)

// slim takes out of an object what nobody reads here before it is cached: what is
// written about it by others, and the status of what the workflow tells of. Of ten
// thousand exceptions that is a third.
func slim(object any) (any, error) {
	if o, ok := object.(*unstructured.Unstructured); ok && pass.InWorkflow(o.GetKind()) {
		delete(o.Object, "status")
	}
	return ours.Slim(object)
}
