package policy

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Holds reports whether just these objects were taken last, each in the version that
// it is in here.
func (f *Feed) Holds(objects []*unstructured.Unstructured) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.read) != len(objects) {
		return false
	}
	for _, object := range objects {
		d := f.read[object.GetUID()]
		if d == nil || !d.version.same(versionOf(object), object.GetKind()) {
			return false
		}
	}
	return true
}
