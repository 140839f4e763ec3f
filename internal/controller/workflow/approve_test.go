package workflow

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// TestWhatApproveLacks says, of a name, what it can mean and which rights that takes.
func TestWhatApproveLacks(t *testing.T) {
	const (
		later   = ", which no policy is called now, so that it could come to mean one of several kinds (policyKind says which)"
		pattern = ", which can mean policies of several kinds (policyKind says which)"
		needs   = ", and that needs the verb approve on "
		allOfX  = `clusterpolicies.sallyport.io "x" cluster-wide, on policies.sallyport.io "x" in namespace dev, on clusteradmissionpolicies.sallyport.io "x" cluster-wide, on admissionpolicies.sallyport.io "x" in namespace dev`
	)
	for name, c := range map[string]struct {
		entries string
		says    string
	}{
		"one that is there": {"{policyName: p}", `exceptions[0] names "p"` + needs + `clusterpolicies.sallyport.io "p" cluster-wide`},
		"a kind":            {"{policyName: x, policyKind: Policy}", `exceptions[0] names "x"` + needs + `policies.sallyport.io "x" in namespace dev`},
		"for later":         {"{policyName: x}", `exceptions[0] names "x"` + later + needs + allOfX},
		"a pattern of a kind": {"{policyName: 'p*', policyKind: Policy}",
			`exceptions[0] names "p*"` + needs + `policies.sallyport.io, whatever its name, in namespace dev`},
		"a pattern": {"{policyName: 'p*'}", `exceptions[0] names "p*"` + pattern + needs +
			`clusterpolicies.sallyport.io, whatever its name, cluster-wide, on policies.sallyport.io, whatever its name, in namespace dev, on clusteradmissionpolicies.sallyport.io, whatever its name, cluster-wide, on admissionpolicies.sallyport.io, whatever its name, in namespace dev`},
		"two": {"{policyName: p}, {policyName: local}", `exceptions[0] names "p"` + needs + `clusterpolicies.sallyport.io "p" cluster-wide, exceptions[1] names "local"` + needs + `policies.sallyport.io "local" in namespace dev`},
		"six, and more": {"{policyName: x}, {policyName: z}", `exceptions[0] names "x"` + later + needs + allOfX +
			`, exceptions[1] names "z"` + later + needs + `clusterpolicies.sallyport.io "z" cluster-wide, on policies.sallyport.io "z" in namespace dev, ... and 2 more`},
	} {
		t.Run(name, func(t *testing.T) {
			r := written(t, "alice", exceptionText(exception.KindException, c.entries), "")
			r.Authorizer = &holds{}
			_, results := admit(t, guardOfKinds(t), r)
			want := "alice may not write it: " + c.says + ". Ask for it with a PolicyExceptionRequest (sallyport request exception), which whoever holds that right can answer"
			if len(results) != 1 || results[0].Status != decision.Fail || results[0].Message != want {
				t.Errorf("says\n%s, want\n%s", results[0].Message, want)
			}
		})
	}
}

// TestApproveWithoutAnAuthorizer refuses what nobody can be asked about, and lets what
// nobody has to be asked about.
func TestApproveWithoutAnAuthorizer(t *testing.T) {
	r := written(t, "alice", exceptionText(exception.KindException, "{policyName: p}"), "")
	r.Authorizer = nil
	if _, results := admit(t, guardOfKinds(t), r); results[0].Status != decision.Error || !results[0].FailClosed || !strings.Contains(results[0].Message, "there is no cluster to ask") {
		t.Errorf("%+v", results)
	}
	g := guardOfKinds(t, "metadata: {name: x}\nspec: {policies: [p], writing: rbac}")
	if _, results := admit(t, g, r); results[0].Blocks() {
		t.Errorf("%+v", results)
	}
}
