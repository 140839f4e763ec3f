package policies

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestWhatTheLeaderDecided is written as the leader, who is held back if he is that no
// more, and never beside what another says by then.
func TestWhatTheLeaderDecided(t *testing.T) {
	w := newWorld(t, document("DenyPolicy", "x", soundSpec))
	beside, asLeader := 0, 0
	w.status.Beside = interceptor.NewClient(w.client, interceptor.Funcs{SubResourceApply: func(context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
		beside++
		return nil
	}})
	w.status.Client = interceptor.NewClient(w.client, interceptor.Funcs{SubResourceApply: func(context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
		asLeader++
		return errAPI
	}})
	asked := 0
	w.status.Leads = func() bool {
		asked++
		return asked == 1
	}
	if err := w.status.update(t.Context(), Key{Kind: "DenyPolicy", Name: "x"}); err == nil || asLeader != 1 || beside != 0 {
		t.Errorf("%v; written %d times as the leader, and %d times beside it", err, asLeader, beside)
	}
	if err := w.status.update(t.Context(), Key{Kind: "DenyPolicy", Name: "x"}); err != nil || asLeader != 1 || beside != 0 {
		t.Errorf("once it leads no more: %v; written %d times as the leader, and %d times beside it", err, asLeader, beside)
	}
}
