package pace

import (
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// TestOf leaves the configuration that is given as it is, and lets no limiter of its own
// go before the pace.
func TestOf(t *testing.T) {
	given := &rest.Config{Host: "h", QPS: 3, Burst: 4, RateLimiter: flowcontrol.NewFakeNeverRateLimiter()}
	for _, p := range []Pace{Watches, Reads, Status, Exceptions, Webhooks, Replicas, Reached, DryRuns, Few} {
		got := p.Of(given)
		if got.Host != "h" || got.QPS != p.qps || got.Burst != p.burst || got.RateLimiter != nil {
			t.Errorf("%+v gives %+v", p, got)
		}
		// Zero would be client-go's own pace.
		if p.qps == 0 || p.qps > 0 && p.burst == 0 {
			t.Errorf("%+v is no pace", p)
		}
	}
	if given.QPS != 3 || given.Burst != 4 || given.RateLimiter == nil {
		t.Errorf("what was given became %+v", given)
	}
}
