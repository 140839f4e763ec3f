package runner_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// TestSlowServersOfNamespaces has policies of a namespace name servers that do not
// answer, more of them than are loaded at a time: those of the cluster are loaded
// and tried all the same.
func TestSlowServersOfNamespaces(t *testing.T) {
	w := newWorld(t, nil)
	w.store.slow = map[string]bool{"https://slow.example/p.wasm": true}
	var wanted []*runner.Policy
	for i := range 20 {
		wanted = append(wanted, made(t, runner.Spec{Kind: "AdmissionPolicy", Namespace: "shop", Name: fmt.Sprintf("slow-%d", i), Module: "https://slow.example/p.wasm"}))
	}
	w.Want(wanted)
	tried, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, p := range wanted[:5] {
		go w.Try(tried, p) //nolint:errcheck // it ends with the test
	}
	// Four are loaded and two are tried at a time; all of these places are taken.
	until(t, "the slow server is asked", func() bool { return w.store.hanging.Load() == 6 })
	good := made(t, runner.Spec{Name: "good"})
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	w.Want(append(wanted, good))
	until(t, "the policy of the cluster", func() bool { _, err := w.Status(good); return err == nil })
	if _, err := w.Try(ctx, made(t, runner.Spec{Name: "tried"})); err != nil {
		t.Errorf("a policy of the cluster cannot be tried: %v", err)
	}
}
