package cli

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

// guestModule is the file of a test policy.
func guestModule(t *testing.T, build func(testing.TB) []byte) string {
	t.Helper()
	if testing.Short() {
		t.Skip("building the guest takes its time: not with -short")
	}
	return wasmtest.File(t, build(t))
}
