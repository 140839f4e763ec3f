package policy

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/effect"
)

// TestOverridesThatLetIn says nothing of overrides that have a score or a factor to go by.
func TestOverridesThatLetIn(t *testing.T) {
	c := effectCase{rule: effect.LetsInNobody}
	for overrides, said := range map[string]int{
		"{enabled: true}": 1,
		"{enabled: true, exemptFactors: [hostPID]}":                                         0,
		"{enabled: true, maxAllowedScore: 0}":                                               0,
		"{enabled: true, maxAllowedScore: 90, exemptFactors: [hostPID]}":                    0,
		"{enabled: true, namespaceScope: {patterns: [shop]}, exemptFactors: [hostNetwork]}": 0,
	} {
		if got := c.saidOf(t, escalating(overrides)); len(got) != said {
			t.Errorf("%s: %v", overrides, got)
		}
	}
}
