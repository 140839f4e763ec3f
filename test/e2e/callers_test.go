package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// forged sends a review as somebody does who reaches the port and has nothing to show.
func forged(t *testing.T, s *lab.Sallyport, path, review string) (int, string) {
	t.Helper()
	client, err := s.HTTPClient()
	if err != nil {
		t.Fatal(err)
	}
	client.Transport.(*http.Transport).TLSClientConfig.Certificates = nil
	defer client.CloseIdleConnections()
	response, err := client.Post(s.URL+path, "application/json", strings.NewReader(review))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

const forgedExec = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"forged-1","kind":{"group":"","version":"v1","kind":"PodExecOptions"},
"resource":{"group":"","version":"v1","resource":"pods"},"subResource":"exec","name":"privileged","namespace":"shop","operation":"CONNECT",
"userInfo":{"username":"alice","groups":["developers","system:authenticated"]},"object":{"apiVersion":"v1","kind":"PodExecOptions","container":"app","command":["sh"]}}}`

const forgedConfigMap = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"forged-2","kind":{"group":"","version":"v1","kind":"ConfigMap"},
"resource":{"group":"","version":"v1","resource":"configmaps"},"name":"strict","namespace":"ctx-a","operation":"CREATE",
"userInfo":{"username":"alice"},"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"strict","namespace":"ctx-a"}}}}`

const forgedAccess = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"alice","groups":["developers"],
"resourceAttributes":{"namespace":"shop","verb":"create","version":"v1","resource":"pods","subresource":"exec","name":"privileged"}}}`

// TestForgedReviews: beside an API server that shows its certificate, whoever shows nothing is
// answered, and gains nothing: no session is entered, no Event is written, and the side door
// answers nobody.
func TestForgedReviews(t *testing.T) {
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	w := newBreakglassLab(t, "--callers", "network", "--caller-networks", "127.0.0.0/8", "--audit-log", audit)
	want(t, shared.Kubectl(t.Context(), root, "patch", "clusterrole", "cluster-ops", "--type=json", "-p", `[{"op":"add","path":"/rules/-","value":{"apiGroups":[""],"resources":["pods/exec"],"verbs":["create","get"]}}]`), true)
	deleteAfter(t, "clusterpolicy/nosy")
	w.apply(root, nosy)
	name := w.ask()
	w.sallyport("dave", "", true, nil, "approve", "session", name, "--yes")
	eventually(t, func() string {
		if status, answer := forged(t, w.s, "/validate", forgedExec); status != http.StatusOK || !strings.Contains(answer, `"allowed":true`) {
			return answer
		}
		return ""
	})
	eventually(t, func() string {
		if _, answer := forged(t, w.s, "/validate", forgedConfigMap); !strings.Contains(answer, "may not list secrets") {
			return answer
		}
		return ""
	})
	for _, path := range []string{"/authorize", "/ignore/authorize"} {
		if status, answer := forged(t, w.s, path, forgedAccess); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	// What was asked before would be written down together with this.
	w.until(func() lab.Result { return execInto(t, alice, "shop", "web") }, true, "inside")
	eventually(t, func() string {
		execInto(t, alice, "shop", "web")
		if !slices.Contains(entered(w.session(name)), "web") {
			return "web is not among what was entered: " + w.s.Log()
		}
		return ""
	})
	if got := entered(w.session(name)); !slices.Equal(got, []string{"web"}) {
		t.Errorf("entered %v", got)
	}
	want(t, shared.Kubectl(t.Context(), root, "get", "breakglasssession", name, "-o", `jsonpath={.status.conditions[?(@.type=="EntriesKnown")].reason}`), true, "CallersNotKnown")
	events := shared.Kubectl(t.Context(), root, "get", "events", "-n", "default", "--field-selector", "involvedObject.name=nosy", "-o", "jsonpath={.items[*].message}")
	if !events.OK() || strings.Contains(events.Stdout, "secrets") {
		t.Errorf("an Event was written: %s", events)
	}
	if nosy := shared.Kubectl(t.Context(), root, "get", "clusterpolicy", "nosy", "-o", `jsonpath={.status.conditions[?(@.type=="ContextDenied")].status}`); strings.Contains(nosy.Stdout, "True") {
		t.Errorf("a status was written: %s", nosy)
	}
	eventually(t, func() string {
		text, err := os.ReadFile(audit)
		if err != nil {
			return err.Error()
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, `"uid":"forged-1"`) && strings.Contains(line, `"unauthenticated":true`) {
				return ""
			}
		}
		return "the audit log does not have what was forged, as such"
	})
}

// TestPodsByTheNetwork: where the API server shows nothing, pods are refused and let in all the
// same.
func TestPodsByTheNetwork(t *testing.T) {
	ctx := t.Context()
	s, err := shared.StartSallyport(ctx, lab.SallyportOptions{Binary: binary, Name: "callers-network", Args: []string{"--client-ca-file=", "--callers", "network", "--caller-networks", "127.0.0.1/32"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := shared.CreateNamespace(ctx, "observed", nil); err != nil {
		t.Fatal(err)
	}
	if err := shared.WireAdmission(ctx, s, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unwire(t, shared.UnwireAdmission) })
	deleteAfter(t, "clusterpolicy/observed-labels")
	deleteAfter(t, "pods", "--all", "-n", "observed", "--force", "--grace-period=0")
	_, labels, _ := strings.Cut(observedPolicies, "---")
	labels, _, _ = strings.Cut(labels, "---")
	want(t, apply(t, root, labels), true)
	pod := strings.ReplaceAll(observedPod, "NAME", "by-network")
	awaitResult(t, func() lab.Result { return apply(t, bob, pod) }, false, "observed-labels")
	want(t, apply(t, bob, strings.Replace(pod, "namespace: observed,", "namespace: observed, labels: {team: a},", 1)), true)
	if status, answer := forged(t, s, "/authorize", forgedAccess); status != http.StatusUnauthorized {
		t.Errorf("the side door: %d %s", status, answer)
	}
}
