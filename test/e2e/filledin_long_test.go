//go:build long

package e2e

import "testing"

// TestFilledInLong is TestFilledIn with as many manifests as are worth waiting for.
func TestFilledInLong(t *testing.T) { filledIn(t, 900) }
