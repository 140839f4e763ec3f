package call

import (
	"maps"
	"reflect"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// PodGVK is the kind of Pods.
var PodGVK = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// SameBody compares all of two objects but their metadata and status.
func SameBody(old, updated *pod.Object) (bool, error) {
	before, err := old.Tree()
	if err != nil {
		return false, err
	}
	after, err := updated.Tree()
	if err != nil {
		return false, err
	}
	body := func(tree map[string]any) map[string]any {
		rest := maps.Clone(tree)
		for _, name := range []string{"metadata", "status", "apiVersion", "kind"} {
			delete(rest, name)
		}
		return rest
	}
	return apiequality.Semantic.DeepEqual(body(before), body(after)), nil
}

// IsRevision reports whether an object is a ControllerRevision.
func IsRevision(o *pod.Object) bool {
	return o.GVK.Group == "apps" && o.GVK.Kind == "ControllerRevision"
}

// WholeTemplate reports whether the data of a revision is a template that takes
// the place of its owner's, as the controllers of Kubernetes write it, and nothing
// beside.
func WholeTemplate(data any) bool {
	template, _ := soleField(soleField(data, "spec"), "template").(map[string]any)
	return template["$patch"] == "replace"
}

// soleField is the value of the one key that a map has; nil for anything else.
func soleField(value any, key string) any {
	fields, _ := value.(map[string]any)
	if len(fields) != 1 {
		return nil
	}
	return fields[key]
}

// SameSpec reports whether an update leaves the spec of the object as it was: its
// labels and finalizers can be changed whatever has become of its module.
func (c *Call) SameSpec() bool {
	r := c.Request
	if r.Operation != request.Update || r.OldObject == nil {
		return false
	}
	now, err := r.Object.Tree()
	if err != nil {
		return false
	}
	before, err := r.OldObject.Tree()
	return err == nil && reflect.DeepEqual(now["spec"], before["spec"])
}

// IsPod reports whether a kind is Kubernetes' own Pod.
func IsPod(kind schema.GroupKind) bool { return kind == PodGVK.GroupKind() }

// AboutSecret reports whether the object is a Secret, whose values are shown to
// nobody: findings stand in reports, audit events and logs, which others read.
func (c *Call) AboutSecret() bool {
	object := c.Request.Object
	return object != nil && object.GVK.Group == "" && object.GVK.Kind == "Secret"
}

// WithoutValues takes out of findings the values that they found.
func WithoutValues(findings []decision.Finding) {
	for i := range findings {
		findings[i].Value = ""
	}
}
