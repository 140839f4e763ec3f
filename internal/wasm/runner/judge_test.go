package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// TestJudgeWaits says that a request waits for a module that is being loaded, but
// not for long.
func TestJudgeWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		timeout, bound time.Duration
	}{
		"two seconds":          {10 * time.Second, 2 * time.Second},
		"the policy's timeout": {time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.store.gate = make(chan struct{})
			p := made(t, runner.Spec{Timeout: tt.timeout})
			w.Want([]*runner.Policy{p})
			judged := make(chan error, 1)
			go func() { _, err := w.Judge(context.Background(), p, json.RawMessage(plainPod), nil); judged <- err }()
			until(t, "the request to wait", w.clock.HasWaiters)
			w.clock.Step(tt.bound - 1)
			select {
			case err := <-judged:
				t.Fatalf("it did not wait: %v", err)
			default:
			}
			w.clock.Step(1)
			if err := <-judged; !isLoading(err) || !strings.Contains(err.Error(), "try again in a moment") {
				t.Errorf("a module that is being loaded: %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := w.Judge(ctx, p, json.RawMessage(plainPod), nil); !isLoading(err) {
				t.Errorf("a request that is given up: %v", err)
			}
			go func() { _, err := w.Judge(context.Background(), p, json.RawMessage(plainPod), nil); judged <- err }()
			until(t, "the next request to wait", w.clock.HasWaiters)
			close(w.store.gate)
			if err := <-judged; err != nil {
				t.Errorf("a module that comes in time: %v", err)
			}
		})
	}
}

func TestJudgeFails(t *testing.T) {
	w := newWorld(t, nil)
	p := made(t, runner.Spec{Settings: settings(`{"panic":true}`)})
	if _, err := w.load(t, p); err != nil {
		t.Fatal(err)
	}
	_, err := w.judge(t, p, plainPod)
	var failed *wasm.Error
	if err == nil || errors.As(err, &failed) || strings.Contains(err.Error(), "ClusterAdmissionPolicy/p") || !strings.HasPrefix(err.Error(), "the module failed (") {
		t.Errorf("a crash: %v", err)
	}
	if _, err := w.judge(t, made(t, runner.Spec{Name: "unknown"}), plainPod); !isLoading(err) {
		t.Errorf("a policy that nobody wanted: %v", err)
	}
}

func TestTry(t *testing.T) {
	w := newWorld(t, nil)
	good, bad := made(t, runner.Spec{}), made(t, runner.Spec{Settings: settings(`{"label":"forbidden"}`)})
	if info, err := w.Try(t.Context(), good); err != nil || info.Runtime != "wapc" {
		t.Errorf("%+v, %v", info, err)
	}
	var refused *runner.SettingsRefused
	if _, err := w.Try(t.Context(), bad); !errors.As(err, &refused) || refused.Message != "the label must not be forbidden" {
		t.Errorf("settings: %v", err)
	}
	if _, err := w.Status(good); !isLoading(err) {
		t.Errorf("what was tried is in force: %v", err)
	}
	if _, err := w.Try(t.Context(), made(t, runner.Spec{Module: "file:///none.wasm"})); err == nil || errors.As(err, &refused) {
		t.Errorf("no module: %v", err)
	}
}

// TestTryIsBounded says that neither a module that does not come nor the trials of
// others hold up whoever asks.
func TestTryIsBounded(t *testing.T) {
	w := newWorld(t, nil)
	w.store.gate = make(chan struct{})
	p := made(t, runner.Spec{})
	began, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	if _, err := w.Try(began, p); err == nil {
		t.Error("a module that does not come")
	}
	stuck, release := context.WithCancel(context.Background())
	ended := make(chan struct{})
	for range 2 {
		go func() { _, _ = w.Try(stuck, p); ended <- struct{}{} }()
	}
	short, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	until(t, "no place to be left", func() bool {
		_, err := w.Try(short, p)
		return err != nil && strings.Contains(err.Error(), "other policies are being tried")
	})
	release()
	<-ended
	<-ended
	close(w.store.gate)
	if _, err := w.Try(t.Context(), p); err != nil {
		t.Error(err)
	}
}
