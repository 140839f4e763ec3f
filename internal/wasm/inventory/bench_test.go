package inventory_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/wasm/inventory"
)

func namespace(i int) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("team-%04d", i), UID: "8288b7fd-3fd8-41bb-941b-09754df5caf6",
		Labels:      map[string]string{"kubernetes.io/metadata.name": fmt.Sprintf("team-%04d", i), "team": "a"},
		Annotations: map[string]string{"note": strings.Repeat("x", 500)},
	}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
}

// BenchmarkTwoFields reads two fields of 3,000 namespaces, for the first time and
// when none of them changed since.
func BenchmarkTwoFields(b *testing.B) {
	var objects []k8sruntime.Object
	for i := range 3000 {
		objects = append(objects, namespace(i))
	}
	read := hostcall.Read{Operation: hostcall.ListAll, FieldMasks: []string{"metadata.labels", "status.phase"}}
	run := func(b *testing.B, l *lab) {
		admitted := admit(b, namespaces, contextgate.Grant{}, read)
		answer, err := l.Read(b.Context(), admitted)
		if err != nil || strings.Count(string(answer), `"phase"`) != 3000 {
			b.Fatal(err)
		}
	}
	b.Run("first", func(b *testing.B) {
		l := newLab(b, inventory.Options{}, objects...)
		defer l.Hold(namespaces)()
		run(b, l)
		for i := 0; b.Loop(); i++ {
			// A view of its own each time, so that nothing was written for it yet.
			fresh := read
			fresh.LabelSelector = fmt.Sprintf("team!=b%d", i)
			admitted := admit(b, namespaces, contextgate.Grant{}, fresh)
			if _, err := l.Read(b.Context(), admitted); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		l := newLab(b, inventory.Options{}, objects...)
		defer l.Hold(namespaces)()
		admitted := admit(b, namespaces, contextgate.Grant{}, read)
		run(b, l)
		for b.Loop() {
			if _, err := l.Read(b.Context(), admitted); err != nil {
				b.Fatal(err)
			}
		}
	})
}
