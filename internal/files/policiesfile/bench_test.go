package policiesfile_test

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/files/policiesfile"
)

func BenchmarkRead(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := policiesfile.Read("policies.yml", []byte(own)); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}
