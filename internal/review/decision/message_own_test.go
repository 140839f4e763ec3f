package decision

import (
	"strings"
	"testing"
)

// TestNextOfOwnRules advises no exception where there can be none: to a rule of
// Sallyport itself.
func TestNextOfOwnRules(t *testing.T) {
	found := []Finding{{Path: "metadata.name"}}
	for name, c := range map[string]struct {
		result Result
		want   string
	}{
		"with fields":    {Result{Kind: KindOwn, Policy: "sallyport", Rule: "names", Status: Fail, Findings: found}, "Next: change these fields, or ask those who run Sallyport."},
		"without fields": {Result{Kind: KindOwn, Policy: "sallyport", Rule: "caller", Status: Fail}, "Next: ask those who run Sallyport."},
		"to be granted":  {Result{Kind: KindOwn, Policy: "sallyport", Rule: "x", Status: Fail, Remedy: RemedyGrant}, "Next: have that rule bound to you by a ClusterRoleBinding, or ask those who run Sallyport."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Next([]*Result{&c.result}); got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
	other := Result{Kind: "ClusterPolicy", Policy: "sallyport", Rule: "names", Status: Fail, Findings: found}
	if got := Next([]*Result{&other}); !strings.Contains(got, "PolicyExceptionRequest") {
		t.Errorf("%q", got)
	}
}
