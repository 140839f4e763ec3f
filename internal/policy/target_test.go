package policy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/pod"
	"github.com/sallyport-io/sallyport/internal/request"
)

// TestRelabelsByStatus says which requests change labels or annotations by way of
// the status.
func TestRelabelsByStatus(t *testing.T) {
	object := func(label, annotation string) *pod.Object {
		return &pod.Object{Meta: &metav1.ObjectMeta{Labels: map[string]string{"a": label}, Annotations: map[string]string{"a": annotation}}}
	}
	for name, c := range map[string]struct {
		operation    request.Operation
		subresource  string
		before, then *pod.Object
		want         bool
	}{
		"a label":                   {request.Update, "status", object("1", "1"), object("2", "1"), true},
		"an annotation":             {request.Update, "status", object("1", "1"), object("1", "2"), true},
		"neither":                   {request.Update, "status", object("1", "1"), object("1", "1"), false},
		"of the object itself":      {request.Update, "", object("1", "1"), object("2", "1"), false},
		"by another subresource":    {request.Update, "scale", object("1", "1"), object("2", "1"), false},
		"by a creation":             {request.Create, "status", object("1", "1"), object("2", "1"), false},
		"what was there not shown":  {request.Update, "status", nil, object("2", "1"), false},
		"what is to come not shown": {request.Update, "status", object("1", "1"), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &request.Request{Operation: c.operation, Subresource: c.subresource, OldObject: c.before, Object: c.then}
			if got := relabelsByStatus(r); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
