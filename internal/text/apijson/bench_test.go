package apijson

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
)

// Both decoders side by side, so that one run compares them.
func BenchmarkUnmarshalPod(b *testing.B) {
	data := read(b, "pod.json")
	b.Run("wire", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if err := Unmarshal(data, new(corev1.Pod)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sigs.k8s.io", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if err := kjson.UnmarshalCaseSensitivePreserveInts(data, new(corev1.Pod)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkTree(b *testing.B) {
	data := read(b, "pod.json")
	b.Run("wire", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Tree(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sigs.k8s.io", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var tree map[string]any
			if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &tree); err != nil {
				b.Fatal(err)
			}
		}
	})
}
