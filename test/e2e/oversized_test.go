package e2e

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// padding is what grows most on its way into a review: one byte in a request, six in
// the JSON that an API server writes.
func padding(n int) string { return strings.Repeat("<", n) }

// The most that etcd takes by default, with what a pod has besides, and the most that
// an API server reads.
const (
	mostStored = 1340 << 10
	mostRead   = 3<<20 - 4096
)

// paddedPod is a pod with that much in its environment, sent as short as it can be.
func paddedPod(name string, n int, container string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `","namespace":"shop"},"spec":{"terminationGracePeriodSeconds":0,"containers":[{"name":"app","image":"registry.example.com/app:1",` +
		container + `"env":[{"name":"PADDING","value":"` + padding(n) + `"}]}]}}`
}

// send posts or patches a body as it is, which no client does that escapes it.
func send(t *testing.T, verb, path, contentType, body string) (string, error) {
	t.Helper()
	result := shared.Client.CoreV1().RESTClient().Verb(verb).AbsPath(path).SetHeader("Content-Type", contentType).SetHeader("Accept", "application/json").Body([]byte(body)).Do(t.Context())
	// Raw tells of a refusal without its words.
	if err := result.Error(); err != nil {
		return "", err
	}
	answer, err := result.Raw()
	return string(answer), err
}

// TestOversized has an API server make reviews as large, as deep and as odd as it can,
// with a webhook that fails closed and with one that lets in what it gets no answer
// about. Either way the policy decides, and nothing else.
func TestOversized(t *testing.T) {
	s := guard(t, "", standardPolicy("Enforce"))
	for _, failure := range []admissionregistrationv1.FailurePolicyType{admissionregistrationv1.Ignore, admissionregistrationv1.Fail} {
		t.Run(string(failure), func(t *testing.T) {
			if err := shared.WireAdmission(t.Context(), s, func(config *admissionregistrationv1.ValidatingWebhookConfiguration) {
				for i := range config.Webhooks {
					config.Webhooks[i].FailurePolicy = new(failure)
				}
			}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unwire(t, shared.UnwireAdmission) })
			oversized(t)
		})
	}
	if log := s.Log(); strings.Contains(log, "panic") || strings.Contains(log, "judging a request failed") {
		t.Error(log)
	}
}

func oversized(t *testing.T) {
	const pods, revisions = "/api/v1/namespaces/shop/pods", "/apis/apps/v1/namespaces/shop/controllerrevisions"
	const privileged = `"securityContext":{"privileged":true},`
	refused := func(says string) func(t *testing.T, err error) {
		return func(t *testing.T, err error) {
			t.Helper()
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "denied the request") || !strings.Contains(err.Error(), says) {
				t.Errorf("got %.600v, want a refusal that says %q", err, says)
			}
		}
	}
	allowed := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("refused: %.600v", err)
		}
	}
	revision := func(data string) string {
		return `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"odd","namespace":"shop"},"revision":1,"data":` + data + `}`
	}
	var keys strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&keys, `"k%d":0,`, i)
	}
	remove := func(path string) {
		t.Helper()
		if _, err := shared.Client.CoreV1().RESTClient().Delete().AbsPath(path).Body([]byte(`{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0}`)).SetHeader("Content-Type", "application/json").DoRaw(t.Context()); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		name, verb, path, contentType, body string
		want                                func(*testing.T, error)
	}{
		{"a privileged pod, as large as can be stored", "POST", pods, "application/json", paddedPod("bad", mostStored, privileged), refused("privileged")},
		{"a privileged pod, as large as can be read", "POST", pods, "application/json", paddedPod("bad", mostRead, privileged), refused("privileged")},
		{"a compliant pod, as large as can be stored", "POST", pods, "application/json", paddedPod("large", mostStored, ""), allowed},
		{"a compliant pod, changed", "PATCH", pods + "/large", "application/merge-patch+json", `{"metadata":{"labels":{"changed":"yes"}}}`, allowed},
		{"a privileged container into it", "PATCH", pods + "/large/ephemeralcontainers", "application/strategic-merge-patch+json",
			`{"spec":{"ephemeralContainers":[{"name":"debug","image":"registry.example.com/tool:1","securityContext":{"privileged":true}}]}}`, refused("privileged")},
		{"a privileged pod by YAML", "POST", pods, "application/yaml", paddedPod("bad", mostStored, privileged), refused("privileged")},
		{"a template, as large as can be read", "POST", "/api/v1/namespaces/shop/podtemplates", "application/json",
			`{"apiVersion":"v1","kind":"PodTemplate","metadata":{"name":"bad","namespace":"shop"},"template":{"metadata":{"labels":{"app":"bad"}},` +
				paddedPod("bad", mostRead, privileged)[strings.Index(paddedPod("bad", 0, privileged), `"spec":`):] + `}`, refused("privileged")},
		{"names that stand twice in a raw part", "POST", revisions, "application/json", revision(`{"spec":{"a":1,"a":2}}`), refused("more than once")},
		{"a raw part as deep as can be read", "POST", revisions, "application/json", revision(strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)), func(t *testing.T, err error) {
			t.Helper()
			// Nothing is said of such depths by this policy; what counts is that it is judged.
			if err != nil && !strings.Contains(err.Error(), "denied the request") {
				t.Errorf("not judged: %.600v", err)
			}
		}},
		{"a raw part of very many names", "POST", revisions, "application/json", revision("{" + strings.TrimSuffix(keys.String(), ",") + "}"), allowed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := send(t, tt.verb, tt.path, tt.contentType, tt.body)
			tt.want(t, err)
			if tt.path == revisions {
				remove(revisions + "/odd")
			}
		})
	}
	remove(pods + "/large")
	remove(pods + "/bad")
}

// TestOversizedQuestion asks at the side door with as much as an API server passes on.
func TestOversizedQuestion(t *testing.T) {
	guard(t, accessDoor, riskPolicy)
	question := func(pod, extra string) string {
		return `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"alice","groups":["developers"],"extra":{"x":["` + extra + `"]},` +
			`"resourceAttributes":{"namespace":"shop","verb":"create","version":"v1","resource":"pods","subresource":"exec","name":"` + pod + `"}}}`
	}
	for _, tt := range []struct {
		name, body string
		want       []string
	}{
		{"refused", question("privileged", padding(mostRead)), []string{`"denied":true`, "is too risky"}},
		{"let in by RBAC", question("web", padding(mostRead)), []string{`"allowed":true`}},
		{"half a character", question("privileged", `\ud800`), []string{`"denied":true`, "is too risky"}},
		{"selectors", strings.Replace(question("privileged", ""), `"name":`, `"labelSelector":{"rawSelector":"`+strings.Repeat("a,", 500_000)+`a"},"name":`, 1), []string{`"denied":true`, "is too risky"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer, err := send(t, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json", tt.body)
			if err != nil {
				t.Fatalf("%.600v", err)
			}
			status := answer[max(0, strings.LastIndex(answer, `"status":`)):]
			for _, want := range tt.want {
				if !strings.Contains(status, want) {
					t.Errorf("the answer does not hold %q: %.600s", want, status)
				}
			}
		})
	}
}
