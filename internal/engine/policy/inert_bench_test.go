package policy

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// BenchmarkInert looks through a large installation with a thousand namespaces, most
// policies of which are about one of them, and exceptions that nothing narrows.
func BenchmarkInert(b *testing.B) {
	objects := largeInstallation(b)
	for i, o := range objects[manyPolicies:] {
		match := map[string]any{"any": []any{map[string]any{"resources": map[string]any{"kinds": []any{"Deployment"}}}}}
		if i%10 == 0 {
			o.Object["spec"].(map[string]any)["match"] = match
		}
	}
	store := NewStore(pod.Default(), func() time.Time { return judgedAt }, exception.Options{Began: judgedAt})
	NewFeed(store).Take(objects)
	in := &Surroundings{Now: judgedAt}
	for i := range manyPolicies {
		in.Namespaces = append(in.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("ns-%d", i)}})
	}
	b.ReportAllocs()
	for b.Loop() {
		store.Set().Inert(in)
	}
}
