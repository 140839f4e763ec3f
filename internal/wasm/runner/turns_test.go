package runner

import (
	"context"
	"strings"
	"testing"

	"k8s.io/utils/clock"
)

// TestTurns says that the policies of one namespace wait for each other, and nobody
// else for them.
func TestTurns(t *testing.T) {
	of := func(namespace string) *Policy {
		kind := "AdmissionPolicy"
		if namespace == "" {
			kind = "ClusterAdmissionPolicy"
		}
		p, err := New(Spec{Kind: kind, Namespace: namespace, Name: "p", Module: "https://modules.example/p.wasm"})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	all := &turns{}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var done func()
	for range turnsEach() {
		var err error
		if done, err = all.take(ended, clock.RealClock{}, of("shop")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := all.take(ended, clock.RealClock{}, of("shop")); err == nil || !strings.Contains(err.Error(), "the policies of the namespace shop are busy") {
		t.Errorf("one more of the namespace: %v", err)
	}
	for _, namespace := range []string{"bank", ""} {
		if _, err := all.take(ended, clock.RealClock{}, of(namespace)); err != nil {
			t.Errorf("one of %q: %v", namespace, err)
		}
	}
	done()
	if _, err := all.take(ended, clock.RealClock{}, of("shop")); err != nil {
		t.Errorf("after one had ended: %v", err)
	}
}
