package pod

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// FuzzDecode reads anything as every kind: nothing may panic, whatever comes out
// can be walked, defaulted and compared, and paths stay what they were.
func FuzzDecode(f *testing.F) {
	for i, tt := range kinds {
		f.Add(i, objectText(tt.apiVersion, tt.kind, tt.body))
	}
	f.Add(0, readFile(f, "pod.json"))
	f.Add(4, readFile(f, "deployment.json"))
	f.Add(-1, []byte(`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod"},null]}`))
	f.Add(-1, []byte(`{"apiVersion":"v1","kind":"ConfigMap","items":[{"apiVersion":"v1","kind":"Pod"},1]}`))
	f.Fuzz(func(t *testing.T, kind int, raw []byte) {
		var gvk schema.GroupVersionKind
		if kind >= 0 {
			tt := kinds[kind%len(kinds)]
			gvk = gvkOf(t, tt.apiVersion, tt.kind)
		}
		o, err := Default().Decode(gvk, raw)
		if err != nil {
			if err.Error() == "" || o != nil {
				t.Fatal("an error without words, or with an object")
			}
			return
		}
		if o.Meta == nil {
			t.Fatal("no metadata")
		}
		for i := range o.Pods {
			p := &o.Pods[i]
			if p.Meta == nil || p.Spec == nil {
				t.Fatal("a pod without metadata or spec")
			}
			for c := range p.Containers() {
				if !strings.HasSuffix(p.ContainerPath(c, "image"), ".image") {
					t.Fatal("a container without a place")
				}
			}
			_ = p.ServiceAccountName()
		}
		if SignificantUpdate(o, o) {
			t.Fatal("an update that changes nothing counts")
		}
		_, _ = o.Tree()
	})
}
