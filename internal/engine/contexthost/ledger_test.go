package contexthost

import (
	"fmt"
	"testing"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
)

// TestNamespacesFillNoLedger has policies of a namespace be refused ever other
// things, under ever other names: a policy of the cluster is still told of by its own.
func TestNamespacesFillNoLedger(t *testing.T) {
	t.Parallel()
	l := newLedger()
	for policy := range 200 {
		for resource := range 100 {
			l.add(&contextgate.Denied{Policy: fmt.Sprintf("AdmissionPolicy/shop/p%d", policy), Resource: fmt.Sprintf("made%d", resource)})
		}
	}
	if n := len(l.all("")); n > 2048+1 {
		t.Errorf("%d entries of policies of a namespace, want at most %d", n, 2048+1)
	}
	const wide = "ClusterAdmissionPolicy/wide"
	if entry, tell := l.add(&contextgate.Denied{Policy: wide, Resource: "secrets"}); !tell || entry.Policy != wide || len(l.all(wide)) != 1 {
		t.Errorf("%+v, told: %t", entry, tell)
	}
}
