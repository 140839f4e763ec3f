package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// BenchmarkDecodePod compares finding the pod in a Pod of 4.6 KB with merely
// decoding it.
func BenchmarkDecodePod(b *testing.B) {
	raw := readFile(b, "pod.json")
	b.Run("Decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Default().Decode(podGVK, raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Unmarshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := apijson.Unmarshal(raw, new(corev1.Pod)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	raw := readFile(b, "deployment.json")
	b.ReportAllocs()
	for b.Loop() {
		o, err := Default().Decode(deploymentGVK, raw)
		if err != nil || len(o.Pods) != 1 {
			b.Fatal(err)
		}
	}
}

func BenchmarkSignificantUpdate(b *testing.B) {
	raw := readFile(b, "pod.json")
	old, err := Default().Decode(podGVK, raw)
	if err != nil {
		b.Fatal(err)
	}
	updated, err := Default().Decode(podGVK, raw)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if SignificantUpdate(old, updated) {
			b.Fatal("nothing changed")
		}
	}
}
