package webhooks

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
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

// TestLettingInHooks has them do so for good where that is asked for, and says of a policy
// that wants to refuse that it is let in.
func TestLettingInHooks(t *testing.T) {
	w := newWorld(t, clusterPolicy("a", about("Secret")), clusterPolicy("b", about("Secret", "failurePolicy: Ignore")))
	w.LetIn = true
	w.follows(t)
	hooks := w.following(t)
	if len(hooks) == 0 {
		t.Fatal("no webhook follows the policies")
	}
	for name, h := range hooks {
		if *h.FailurePolicy != admissionregistrationv1.Ignore {
			t.Errorf("%s has failurePolicy %s", name, *h.FailurePolicy)
		}
	}
	got := w.condition(t, stored.Ref{Kind: "ClusterPolicy", Name: "a"})
	if got.Status != metav1.ConditionFalse || got.Reason != "LetIn" || !AsksAll(got) || !strings.Contains(got.Message, "--webhook-failure-policy") {
		t.Errorf("of a policy that refuses: %+v", got)
	}
	if got := w.condition(t, stored.Ref{Kind: "ClusterPolicy", Name: "b"}); got.Status != metav1.ConditionTrue {
		t.Errorf("of a policy that does not: %+v", got)
	}
}
