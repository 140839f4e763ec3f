package clustertest

import (
	"runtime"
	"testing"
	"time"
)

// CheckGoroutines fails the test if, within ten seconds after its end, there
// are more goroutines than now. It is called first in the test, so that it looks
// after every other clean-up has run; other tests must not run at the same time.
func CheckGoroutines(t testing.TB) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		if !Eventually(10*time.Second, func() bool { return runtime.NumGoroutine() <= before }) {
			stacks := make([]byte, 1<<20)
			t.Errorf("there were %d goroutines before and are %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	})
}

// Eventually waits until the condition holds, and reports whether it did within
// the time.
func Eventually(within time.Duration, condition func() bool) bool {
	end := time.NewTimer(within)
	defer end.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-end.C:
			return condition()
		}
	}
	return true
}
