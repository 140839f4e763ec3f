package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestProbesAreRefused in the words of whoever made them, and count as no decision; all
// else is judged.
func TestProbesAreRefused(t *testing.T) {
	o := options(t, &world{}, noExec)
	probing := true
	o.Probe = func(*request.Request) (string, bool) { return "the answer to it", probing }
	_, client, url := running(t, o)
	for path, body := range map[string]string{"/validate": execReview, "/authorize": sar} {
		if status, answer := post(t, client, url+path, body); status != http.StatusOK || !refused(answer) || !strings.Contains(answer, "the answer to it") {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	// What fills in comes first, and leaves it to what judges.
	if _, answer := post(t, client, url+"/mutate", execReview); !strings.Contains(answer, `"allowed":true`) || strings.Contains(answer, "patch") {
		t.Errorf("/mutate: %s", answer)
	}
	if _, answer := post(t, client, url+"/policy/clusterwide-some/validate", execReview); strings.Contains(answer, "the answer to it") {
		t.Errorf("a policy's own path: %s", answer)
	}
	for _, said := range []string{"deny", "error"} {
		if n := metric(t, client, url, `sallyport_requests_total{decision="`+said+`",door="access",operation="create"}`); n != "" {
			t.Errorf("the metric counts it %s times as %s", n, said)
		}
	}
	probing = false
	if _, answer := post(t, client, url+"/authorize", sar); refused(answer) {
		t.Errorf("what is not a probe: %s", answer)
	}
}
