package contract

import (
	"net/http"
	"strings"
	"testing"
)

// TestProfiling serves profiles where it is told to, beside the doors and not at them.
func TestProfiling(t *testing.T) {
	address := freeAddress(t)
	dir := files(t, map[string]string{"policy.yaml": "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: p}\nspec: {rules: [{verbs: [delete], apiGroups: [\"\"], resources: [nodes]}]}\n"})
	s := serve(t, dir, "--profiling-addr", address)
	if got := s.request(t, http.MethodGet, "/debug/pprof/heap", "", ""); got.code != http.StatusNotFound {
		t.Errorf("the server itself answers %d for a profile", got.code)
	}
	profiles := &server{url: "http://" + address, client: s.client}
	if got := profiles.request(t, http.MethodGet, "/debug/pprof/heap?debug=1", "", ""); got.code != http.StatusOK || !strings.Contains(got.body, "heap profile") {
		t.Errorf("%d: %s", got.code, clip(got.body))
	}
	if got := profiles.request(t, http.MethodGet, "/metrics", "", ""); got.code != http.StatusNotFound {
		t.Errorf("beside profiles %d is answered for metrics", got.code)
	}
	refused := launch(t, "--from", dir, "--insecure-http", "--addr", freeAddress(t), "--profiling-addr", "0.0.0.0:0")
	<-refused.exited
	if !strings.Contains(refused.log.String(), "can be reached from other hosts") {
		t.Error(refused.log.String())
	}
}
