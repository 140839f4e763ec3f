package policy

import (
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/pass"
	"github.com/sallyport-io/sallyport/internal/wire"
)

// storedException is an exception of which the Feed keeps what the cache has, packed,
// and not what it was decoded to.
type storedException struct {
	pass.Stored
	// object is the last version that says the same, so that no earlier one is kept.
	object atomic.Pointer[unstructured.Unstructured]
	// decoded is what it was decoded to, until it is compiled for the first time.
	decoded atomic.Pointer[exceptionObject]
}

// exceptionObject is what an exception is compiled from.
type exceptionObject struct {
	meta *metav1.ObjectMeta
	spec *v1alpha1.PolicyExceptionSpec
}

// storedIn is the one exception that sources hold; nil if they hold something else, or
// nothing.
func storedIn(sources *pass.Sources, object *unstructured.Unstructured) *storedException {
	decoded := exceptionIn(sources)
	if decoded == nil {
		return nil
	}
	e := &storedException{Stored: pass.Stored{
		Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(), Deleted: object.GetDeletionTimestamp() != nil,
	}}
	e.object.Store(object)
	if !e.Deleted {
		e.decoded.Store(decoded)
	}
	e.Read = e.read
	return e
}

func exceptionIn(sources *pass.Sources) *exceptionObject {
	switch {
	case len(sources.Exceptions) == 1:
		o := sources.Exceptions[0].Object
		return &exceptionObject{&o.ObjectMeta, &o.Spec}
	case len(sources.ClusterExceptions) == 1:
		o := sources.ClusterExceptions[0].Object
		return &exceptionObject{&o.ObjectMeta, &o.Spec}
	}
	return nil
}

// read returns what the exception is compiled from: what it was decoded to for the first
// time, which is let go of, and then what the cache has, decoded again.
func (e *storedException) read() (*metav1.ObjectMeta, *v1alpha1.PolicyExceptionSpec, error) {
	if decoded := e.decoded.Swap(nil); decoded != nil {
		return decoded.meta, decoded.spec, nil
	}
	return readAgain(e.object.Load())
}

// readAgain decodes an exception that was decoded strictly before, from the string that
// it is packed in.
func readAgain(object *unstructured.Unstructured) (*metav1.ObjectMeta, *v1alpha1.PolicyExceptionSpec, error) {
	raw, packed := object.Object[packedKey].(string)
	if !packed {
		whole, err := object.MarshalJSON()
		if err != nil {
			return nil, nil, fmt.Errorf("it cannot be read again: %w", err)
		}
		raw = string(whole)
	}
	// A ClusterPolicyException says the same in its spec.
	var decoded v1alpha1.PolicyException
	if err := wire.UnmarshalStrict([]byte(raw), &decoded); err != nil {
		return nil, nil, fmt.Errorf("it cannot be read again: %w", err)
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	var meta metav1.ObjectMeta
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, &meta); err != nil {
		return nil, nil, fmt.Errorf("its metadata cannot be read again: %w", err)
	}
	return &meta, &decoded.Spec, nil
}
