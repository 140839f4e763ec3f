package cluster

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// mayExempt makes a server answer every review: yes.
func mayExempt(s *clustertest.Server) {
	s.Raw(http.StatusCreated, "application/json", `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"user":"alice"},"status":{"allowed":true}}`)
}

func askExempt(ctx context.Context, r *Reviews) (bool, error) {
	return r.Allowed(ctx, request.User{Name: "alice"}, request.Attributes{Verb: "exempt", Group: "sallyport.io", Resource: "denypolicies", Name: "strict"})
}

// TestReviewFaults breaks the server: each question ends in time with an error
// that does not give the address away, and the next one is answered again.
func TestReviewFaults(t *testing.T) {
	const timeout = 300 * time.Millisecond
	for name, newServer := range map[string]func(testing.TB) *clustertest.Server{
		"HTTP/1.1": func(t testing.TB) *clustertest.Server { return clustertest.NewServer(t) },
		"HTTP/2":   func(t testing.TB) *clustertest.Server { return clustertest.NewTLSServer(t) },
	} {
		for _, test := range []struct {
			name    string
			breakIt func(*clustertest.Server)
			says    string
		}{
			{"refused", (*clustertest.Server).Refuse, "connection refused"},
			{"closed before the first byte", (*clustertest.Server).Drop, ""},
			{"cut in the middle", (*clustertest.Server).Cut, ""},
			{"never answers", (*clustertest.Server).Hang, "did not answer in time"},
			{"403", status(403, 0), "told to answer 403"},
			{"429 with a pause that does not fit", status(429, 60), "told to answer 429"},
			{"503 with a pause that does not fit", status(503, 60), "told to answer 503"},
			{"not JSON", raw(200, "application/json", "<html>"), ""},
			{"could not tell", raw(201, "application/json", `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":false,"evaluationError":"no role"}}`), "no role"},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				clustertest.CheckGoroutines(t)
				server := newServer(t)
				mayExempt(server)
				reviews, err := NewReviews(server.Config(), WithReadTimeout(timeout))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(reviews.Close)
				if allowed, err := askExempt(t.Context(), reviews); err != nil || !allowed {
					t.Fatalf("got %v, %v", allowed, err)
				}
				test.breakIt(server)
				start := time.Now()
				allowed, err := askExempt(t.Context(), reviews)
				if took := time.Since(start); took > 5*timeout {
					t.Errorf("the question took %s", took)
				}
				switch {
				case err == nil || allowed:
					t.Errorf("got %v, %v", allowed, err)
				case !strings.Contains(err.Error(), test.says), !strings.Contains(err.Error(), "whether alice may exempt denypolicies"):
					t.Errorf("unexpected error: %v", err)
				case strings.Contains(err.Error(), "http"), strings.Contains(err.Error(), "127.0.0.1"):
					t.Errorf("the error gives the address away: %v", err)
				}
				mayExempt(server)
				if allowed, err := askExempt(t.Context(), reviews); err != nil || !allowed {
					t.Errorf("does not work again: %v, %v", allowed, err)
				}
			})
		}
	}
}

// TestReviewsLeaveASilentConnection shows that the question after a time-out
// does not go over the connection on which nothing comes any more.
func TestReviewsLeaveASilentConnection(t *testing.T) {
	clustertest.CheckGoroutines(t)
	server := clustertest.NewTLSServer(t)
	mayExempt(server)
	frozen := make(chan struct{})
	dials := 0
	config := server.Config()
	config.Dial = firstFreezes(frozen, &dials)
	reviews, err := NewReviews(config, WithReadTimeout(300*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reviews.Close)
	if _, err := askExempt(t.Context(), reviews); err != nil {
		t.Fatal(err)
	}
	close(frozen)
	if _, err := askExempt(t.Context(), reviews); !isDeadline(err) {
		t.Fatalf("want a time-out, got %v", err)
	}
	if allowed, err := askExempt(t.Context(), reviews); err != nil || !allowed {
		t.Errorf("the question after the time-out: %v, %v", allowed, err)
	}
}
