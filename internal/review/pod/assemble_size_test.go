package pod

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// workflow is an Argo Workflow with volumes, and with templates that each have one of
// them, and so all of them.
func workflow(volumes, templates int) []byte {
	var b strings.Builder
	b.WriteString(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Workflow","metadata":{"name":"w"},"spec":{"volumes":[`)
	for i := range volumes {
		fmt.Fprintf(&b, `{"name":"v%d","hostPath":{"path":"/"}},`, i)
	}
	b.WriteString(`{"name":"last","emptyDir":{}}],"templates":[`)
	for i := range templates {
		fmt.Fprintf(&b, `{"name":"t%d","container":{"image":"a"}},`, i)
	}
	b.WriteString(`{"name":"last","container":{"image":"a","securityContext":{"privileged":true}}}]}}`)
	return []byte(b.String())
}

// TestPodsThatShareParts are read as long as they are not much larger than the object.
// The others are not read to the end, and the object is said to be one that cannot be.
func TestPodsThatShareParts(t *testing.T) {
	for _, c := range []struct {
		volumes, templates int
		read               bool
	}{{0, 3000, true}, {3000, 0, true}, {40, 999, true}, {300, 150, true}, {1000, 1000, false}, {3000, 3000, false}} {
		raw := workflow(c.volumes, c.templates)
		started := time.Now()
		o, err := Default().Decode(schema.GroupVersionKind{}, raw)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(started); took > 20*time.Second {
			t.Errorf("%d volumes and %d templates, %d bytes, took %s", c.volumes, c.templates, len(raw), took)
		}
		if (o.Fault == nil) != c.read || c.read && len(o.Pods) != c.templates+1 {
			t.Errorf("%d volumes and %d templates: %d pods, %v", c.volumes, c.templates, len(o.Pods), o.Fault)
		}
		if !c.read && !strings.Contains(o.Fault.Error(), fmt.Sprintf("is one of %d pods that share parts", c.templates+1)) {
			t.Error(o.Fault)
		}
	}
}

// TestPlacesOfLargePods finds where fields stand in a time that does not grow with how
// many there are.
func TestPlacesOfLargePods(t *testing.T) {
	o, err := Default().Decode(schema.GroupVersionKind{}, workflow(30000, 0))
	if err != nil || o.Fault != nil {
		t.Fatal(err, o.Fault)
	}
	started := time.Now()
	for i := range 30000 {
		field := fmt.Sprintf("spec.volumes[%d].hostPath", i)
		path := o.Pods[0].FieldPath(field)
		back, ok := o.Pods[0].Relative(path)
		if path != field || back != field || !ok {
			t.Fatalf("%s stands at %s, and back at %s", field, path, back)
		}
	}
	// Looked for one by one it is minutes.
	if took := time.Since(started); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func BenchmarkDecodeAssembled(b *testing.B) {
	for _, templates := range []int{1, 100} {
		raw := workflow(40, templates)
		b.Run(fmt.Sprint(templates), func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if o, err := Default().Decode(schema.GroupVersionKind{}, raw); err != nil || o.Fault != nil {
					b.Fatal(err, o)
				}
			}
		})
	}
}
