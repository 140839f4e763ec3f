package policies

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/watch/follow/ours"
)

// slim takes out of an object what is not read here before it is cached: what is
// written about it by others, and the status of what the workflow tells of; the rest of
// such an object is packed. Of ten thousand exceptions that is nine parts in ten. What
// kubectl apply has written of a policy stays, as it shows the nulls that patterns have
// lost.
func slim(object any) (any, error) {
	o, ok := object.(*unstructured.Unstructured)
	if !ok || !exception.InWorkflow(o.GetKind()) {
		return ours.Unmanaged(object)
	}
	delete(o.Object, "status")
	slimmed, err := ours.Slim(object)
	policy.Pack(o)
	return slimmed, err
}
