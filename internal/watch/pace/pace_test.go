package pace

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
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
			t.Errorf("%+v is not a pace", p)
		}
	}
	if given.QPS != 3 || given.Burst != 4 || given.RateLimiter == nil {
		t.Errorf("what was given became %+v", given)
	}
}

// TestWatchesAreToldAtOnce has what a watch is refused with come at once, and not after
// the time that the answer names: whoever watches tries again at times of his own.
func TestWatchesAreToldAtOnce(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(Watches.Of(&rest.Config{Host: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for name, ask := range map[string]func() error{
		"list":  func() error { _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); return err },
		"watch": func() error { _, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{}); return err },
	} {
		if err := ask(); !apierrors.IsTooManyRequests(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if took := time.Since(began); asked != 2 || took > 30*time.Second {
		t.Errorf("it was asked %d times in %s", asked, took)
	}
}
