package policy

import (
	"encoding/json"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// storedException is an exception of which the Feed keeps the string that it is packed
// in, and not what it was decoded to.
type storedException struct {
	exception.Stored
	// said is the exception as JSON, without its metadata, of which only this counts. A
	// cache has the same string.
	said        string
	uid         types.UID
	created     metav1.Time
	annotations map[string]string
	// decoded is what it was decoded to, until it is compiled for the first time.
	decoded atomic.Pointer[exceptionObject]
}

// exceptionObject is what an exception is compiled from.
type exceptionObject struct {
	meta *metav1.ObjectMeta
	spec *v1alpha1.PolicyExceptionSpec
}

// storedIn is the one exception that sources hold, as an object was decoded to; nil if
// they hold something else, or nothing.
func storedIn(sources *exception.Sources, object *unstructured.Unstructured) *storedException {
	decoded := exceptionIn(sources)
	if decoded == nil {
		return nil
	}
	said, packed := object.Object[packedKey].(string)
	if !packed {
		raw, err := json.Marshal(map[string]any{"spec": object.Object["spec"]})
		if err != nil {
			return nil
		}
		said = string(raw)
	}
	e := &storedException{
		Stored: exception.Stored{Kind: object.GetKind(), Namespace: decoded.meta.Namespace, Name: decoded.meta.Name, Deleted: decoded.meta.DeletionTimestamp != nil},
		said:   said, uid: decoded.meta.UID, created: decoded.meta.CreationTimestamp, annotations: decoded.meta.Annotations,
	}
	if !e.Deleted {
		e.decoded.Store(decoded)
	}
	e.Read = e.read
	return e
}

func exceptionIn(sources *exception.Sources) *exceptionObject {
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
// time, which is let go of, and then the same, decoded again.
func (e *storedException) read() (*metav1.ObjectMeta, *v1alpha1.PolicyExceptionSpec, error) {
	if decoded := e.decoded.Swap(nil); decoded != nil {
		return decoded.meta, decoded.spec, nil
	}
	// A ClusterPolicyException says the same in its spec.
	var decoded v1alpha1.PolicyException
	if err := apijson.UnmarshalStrict([]byte(e.said), &decoded); err != nil {
		return nil, nil, fmt.Errorf("it cannot be read again: %w", err)
	}
	return &metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name, UID: e.uid, CreationTimestamp: e.created, Annotations: e.annotations}, &decoded.Spec, nil
}
