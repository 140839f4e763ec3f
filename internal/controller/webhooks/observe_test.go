package webhooks

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// TestObservingHooks has every webhook that follows policies let in what Sallyport cannot be
// asked about while it observes, at the path that answers for it, and only then.
func TestObservingHooks(t *testing.T) {
	for _, observe := range []bool{false, true} {
		w := newWorld(t, clusterPolicy("a", about("Secret, Pod/exec")), clusterPolicy("b", about(`"*"`)))
		w.Observe = observe
		w.follows(t)
		hooks := w.following(t)
		if len(hooks) == 0 {
			t.Fatal("no webhook follows the policies")
		}
		for name, h := range hooks {
			url := ""
			if h.ClientConfig.URL != nil {
				url = *h.ClientConfig.URL
			} else {
				url = *h.ClientConfig.Service.Path
			}
			if ignores := *h.FailurePolicy == admissionregistrationv1.Ignore; ignores != observe || strings.Contains(url, "/ignore/") != observe {
				t.Errorf("observing %v: %s has failurePolicy %s at %s", observe, name, *h.FailurePolicy, url)
			}
		}
	}
}
