package pod

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is an object that was decoded once, with the pods that stand in it.
type Object struct {
	// GVK as the object names itself.
	GVK schema.GroupVersionKind
	// Raw is the object's JSON.
	Raw []byte
	// Meta is never nil.
	Meta *metav1.ObjectMeta
	// Pods in the order of their paths; empty for an object that makes none.
	Pods []Pod
}
