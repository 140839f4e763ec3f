package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
)

// web is the pod that the tests read.
func web() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"},
		Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
}

func newTestLive(t *testing.T, server *clustertest.Server, options ...Option) *Live {
	t.Helper()
	live, err := NewLive(server.Config(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(live.Close)
	return live
}

// TestFaults breaks the server in every way: each read ends in time with an
// error that says what happened, and the next one works again.
func TestFaults(t *testing.T) {
	const timeout = 300 * time.Millisecond
	tests := []struct {
		name    string
		breakIt func(*clustertest.Server)
		is      func(error) bool
		says    string
	}{
		{"refused", (*clustertest.Server).Refuse, utilnet.IsConnectionRefused, "connection refused"},
		{"closed before the first byte", (*clustertest.Server).Drop, isCut, ""},
		{"cut in the middle", (*clustertest.Server).Cut, isCut, ""},
		{"never answers", (*clustertest.Server).Hang, isDeadline, "did not answer in time"},
		{"401", status(401, 0), apierrors.IsUnauthorized, ""},
		{"403", status(403, 0), apierrors.IsForbidden, ""},
		{"429", status(429, 0), apierrors.IsTooManyRequests, ""},
		{"429 with a pause that does not fit", status(429, 60), apierrors.IsTooManyRequests, ""},
		{"500", status(500, 0), apierrors.IsInternalError, ""},
		{"503", status(503, 0), apierrors.IsServiceUnavailable, ""},
		{"503 with a pause that does not fit", status(503, 60), apierrors.IsServiceUnavailable, ""},
		{"504", status(504, 0), apierrors.IsTimeout, ""},
		{"404 of something else", status(404, 0), nil, "not about it"},
		{"404 of a proxy", raw(404, "text/html", "<h1>Not Found</h1>"), nil, "not about it"},
		{"empty answer", raw(200, "application/json", ""), nil, "0-length"},
		{"empty object", raw(200, "application/json", "{}"), nil, "cannot be read"},
		{"another kind", raw(200, "application/json", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"web","namespace":"shop"}}`), nil, "something else"},
		{"another pod", raw(200, "application/json", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"other","namespace":"shop"}}`), nil, "something else"},
		{"success without an object", raw(200, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Success"}`), nil, "something else"},
		{"not JSON", raw(200, "application/json", "<html>"), nil, "cannot be read"},
		{"a web page", raw(200, "text/html", "<html>"), nil, "cannot be read"},
	}
	for name, newServer := range map[string]func(testing.TB) *clustertest.Server{
		"HTTP/1.1": func(t testing.TB) *clustertest.Server { return clustertest.NewServer(t, web()) },
		"HTTP/2":   func(t testing.TB) *clustertest.Server { return clustertest.NewTLSServer(t, web()) },
	} {
		for _, test := range tests {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				clustertest.CheckGoroutines(t)
				server := newServer(t)
				live := newTestLive(t, server, WithReadTimeout(timeout))
				if _, err := live.Pod(t.Context(), "shop", "web"); err != nil {
					t.Fatal(err)
				}
				test.breakIt(server)
				start := time.Now()
				_, err := live.Pod(t.Context(), "shop", "web")
				if took := time.Since(start); took > 5*timeout {
					t.Errorf("the read took %s", took)
				}
				switch {
				case err == nil:
					t.Error("the read succeeded")
				case apierrors.IsNotFound(err):
					t.Errorf("reads as if the pod did not exist: %v", err)
				case test.is != nil && !test.is(err), !strings.Contains(err.Error(), test.says), !strings.Contains(err.Error(), "shop/web"):
					t.Errorf("unexpected error: %v", err)
				case strings.Contains(err.Error(), "http"), strings.Contains(err.Error(), "127.0.0.1"):
					t.Errorf("the error gives the address away: %v", err)
				}
				if pods, err := live.PodsOnNode(t.Context(), "node-1"); err == nil {
					t.Errorf("the pods of the node were read: %v", pods)
				}
				if namespace, err := live.Namespace(t.Context(), "shop"); err == nil || apierrors.IsNotFound(err) {
					t.Errorf("the namespace was read: %v, %v", namespace, err)
				}
				server.Answer()
				if _, err := live.Pod(t.Context(), "shop", "web"); err != nil {
					t.Errorf("does not work again: %v", err)
				}
			})
		}
	}
}

func status(code, retryAfter int) func(*clustertest.Server) {
	return func(s *clustertest.Server) { s.Status(code, retryAfter) }
}

func raw(code int, contentType, body string) func(*clustertest.Server) {
	return func(s *clustertest.Server) { s.Raw(code, contentType, body) }
}

// isCut: HTTP/1.1 ends the connection, HTTP/2 the stream.
func isCut(err error) bool {
	return utilnet.IsProbableEOF(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "stream error")
}

func isDeadline(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

func TestReadEndsWithItsCaller(t *testing.T) {
	clustertest.CheckGoroutines(t)
	server := clustertest.NewServer(t, web())
	server.Hang()
	live := newTestLive(t, server, WithReadTimeout(time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := live.Pod(ctx, "shop", "web"); !isDeadline(err) {
		t.Errorf("want a deadline, got %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := live.Pod(ctx, "shop", "web"); !errors.Is(err, context.Canceled) {
		t.Errorf("want a cancelled read, got %v", err)
	}
}

// TestPauseThatFits shows that a read is tried again if the API server asks for
// a pause that its time allows.
func TestPauseThatFits(t *testing.T) {
	server := clustertest.NewServer(t, web())
	live := newTestLive(t, server, WithReadTimeout(30*time.Second))
	server.Status(http.StatusTooManyRequests, 1)
	done := make(chan error, 1)
	go func() {
		_, err := live.Pod(t.Context(), "shop", "web")
		done <- err
	}()
	if !clustertest.Eventually(10*time.Second, func() bool { return server.Requests() == 1 }) {
		t.Fatal("no request came")
	}
	server.Answer()
	if err := <-done; err != nil || server.Requests() != 2 {
		t.Errorf("%d requests, error %v", server.Requests(), err)
	}
}

// TestAttemptsAreBounded shows that a server that goes on asking for pauses gets
// its answer 429 through.
func TestAttemptsAreBounded(t *testing.T) {
	server := clustertest.NewServer(t, web())
	live := newTestLive(t, server, WithReadTimeout(30*time.Second))
	server.Status(http.StatusTooManyRequests, 1)
	_, err := live.Pod(t.Context(), "shop", "web")
	if !apierrors.IsTooManyRequests(err) || server.Requests() != maxAttempts {
		t.Errorf("%d requests, error %v", server.Requests(), err)
	}
}
