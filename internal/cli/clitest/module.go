package clitest

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

// Module is the file of a test policy that is a module. It takes its time to build, and is
// not there with -short.
func Module(t *testing.T, build func(testing.TB) []byte) string {
	t.Helper()
	if testing.Short() {
		t.Skip("building the guest takes its time: not with -short")
	}
	return wasmtest.File(t, build(t))
}
