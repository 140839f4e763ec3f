package leader

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// sent notes what is sent.
type sent []string

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	*s = append(*s, r.Method)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// TestOnly sends what reads, and nothing that writes unless this replica leads.
func TestOnly(t *testing.T) {
	leads := false
	var through sent
	config := Only(&rest.Config{Host: "https://example.com", Transport: &through}, func() bool { return leads })
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, leads = range []bool{false, true} {
		through = nil
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
			closed := &closing{Reader: strings.NewReader("{}")}
			request, err := http.NewRequest(method, config.Host+"/api/v1/nodes", closed)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if fine := leads || method == "GET" || method == "HEAD"; (err == nil) != fine {
				t.Errorf("leads %v, %s: %v", leads, method, err)
			}
			if err == nil {
				response.Body.Close()
			} else if !strings.Contains(err.Error(), method+" /api/v1/nodes is not sent: another replica leads now") || !closed.closed {
				t.Errorf("%v, body closed: %v", err, closed.closed)
			}
		}
		if want := map[bool]int{false: 2, true: 6}[leads]; len(through) != want {
			t.Errorf("leads %v: sent %q", leads, through)
		}
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}
