package lab

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A lab of its own: the other tests need an API server that stays.
func TestAPIServerFaults(t *testing.T) {
	l, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := l.CreateNamespace(t.Context(), "kept", nil); err != nil {
		t.Fatal(err)
	}
	answers := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := l.Client.CoreV1().Namespaces().Get(ctx, "kept", metav1.GetOptions{})
		return err
	}
	if err := l.KillAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if answers(time.Second) == nil {
		t.Error("an API server that was killed answers")
	}
	if err := l.PauseAPIServer(); err == nil {
		t.Error("an API server that does not run was paused")
	}
	if err := l.StartAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := answers(startTimeout); err != nil {
		t.Errorf("after it was started again: %v", err)
	}
	if err := l.PauseAPIServer(); err != nil {
		t.Fatal(err)
	}
	if answers(time.Second) == nil {
		t.Error("an API server that was paused answers")
	}
	if err := l.ResumeAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := answers(startTimeout); err != nil {
		t.Errorf("after it was resumed: %v", err)
	}
	// Stop ends one that stands still.
	if err := l.PauseAPIServer(); err != nil {
		t.Fatal(err)
	}
}
