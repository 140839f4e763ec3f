package leader

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// hanging is an API server that answers nothing by the connections that there were once
// it hangs, as one whose machine is gone.
type hanging struct {
	mu sync.Mutex
	// dead are the connections, of those that are open, by which nothing is answered, and
	// proto is that of the last request.
	open, dead map[string]bool
	proto      string
	done       chan struct{}
}

func (h *hanging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.open[r.RemoteAddr], h.proto = true, r.Proto
	dead := h.dead[r.RemoteAddr]
	h.mu.Unlock()
	if dead {
		select {
		case <-r.Context().Done():
		case <-h.done:
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"x"}}`))
}

// hang has all connections that there are be answered no more.
func (h *hanging) hang() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for address := range h.open {
		h.dead[address] = true
	}
}

func newHanging(t *testing.T) (*hanging, *rest.Config) {
	h := &hanging{open: map[string]bool{}, dead: map[string]bool{}, done: make(chan struct{})}
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(h.done) })
	return h, &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// TestApart shares no connection with others, and none that hangs with the call before.
func TestApart(t *testing.T) {
	h, config := newHanging(t)
	client := func(config *rest.Config) func(within time.Duration) error {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		return func(within time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			_, err := client.CoordinationV1().Leases("x").Get(ctx, "x", metav1.GetOptions{})
			return err
		}
	}
	const soon, long = 50 * time.Millisecond, time.Minute
	other := client(config)
	if err := other(long); err != nil || h.proto != "HTTP/2.0" {
		t.Fatal(err, h.proto)
	}
	h.hang()
	if err := other(soon); err == nil {
		t.Fatal("the connection of all others does not hang")
	}
	election := client(Apart(config))
	if err := election(long); err != nil || h.proto != "HTTP/1.1" {
		t.Fatalf("%v, by %s", err, h.proto)
	}
	h.hang()
	if err := election(soon); err == nil {
		t.Fatal("its own connection does not hang")
	}
	if err := election(long); err != nil {
		t.Errorf("the call after one that hung: %v", err)
	}
	if config.Dial != nil || len(config.NextProtos) > 0 {
		t.Error("the config of the others was changed")
	}
}

// hangsOnce is a way to an API server on which the first call is not answered.
type hangsOnce struct{ calls int }

func (h *hangsOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	h.calls++
	if h.calls == 1 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	recorder := httptest.NewRecorder()
	(&hanging{open: map[string]bool{}}).ServeHTTP(recorder, r)
	return recorder.Result(), nil
}

// TestHungReadIsGivenUp has a candidate ask again soon, though nothing else would end it.
func TestHungReadIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := &hangsOnce{}
		client, err := kubernetes.NewForConfig(&rest.Config{Host: "https://example.com", Transport: hung})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, end := context.WithCancel(t.Context())
		e := New(Options{
			Client: client, Namespace: "x", Identity: "a", Clock: clock.RealClock{}, Log: logr.Discard(),
			Able: func(context.Context) bool { return true },
			Work: func(context.Context) { end() },
		})
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > renewDeadline+3*retryPeriod+trusted {
			t.Errorf("it led %s after a call that hung", took)
		}
	})
}
