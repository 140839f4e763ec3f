package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/test/lab"
)

// outageLimit is how soon after the API server's first answer a change has to be in
// force on every replica. Watches are tried again at most 2 s apart; the rest is reading
// everything again, on a busy machine.
const outageLimit = 12 * time.Second

const outagePolicy = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: NAME}
spec: {rules: [{name: never, match: {any: [{resources: {kinds: [ConfigMap], names: [NAME]}}]}, validate: {message: never, pattern: {metadata: {labels: {never: "?*"}}}}}]}
`

const outageException = `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: NAME, namespace: shop}
spec: {reason: a test, exceptions: [{policyName: NAME}], match: {any: [{resources: {kinds: [ConfigMap], names: [NAME]}}]}}
`

// TestChangesAfterAnOutage has two replicas that have not heard of the API server for
// longer than they may go on take over what is changed at its first answer, soon and
// both.
func TestChangesAfterAnOutage(t *testing.T) {
	t.Parallel()
	l, err := startLab(t.Context(), lab.Options{CRDs: []string{filepath.Join(repository(t), "config", "crd")}, Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := l.CreateNamespace(t.Context(), "shop", nil); err != nil {
		t.Fatal(err)
	}
	var replicas []*lab.Sallyport
	var clients []*http.Client
	for _, name := range []string{"outage-one", "outage-two"} {
		s, err := l.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: name, Args: []string{"--watch-policies", "--max-staleness", "5s"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(s.Log())
			}
		})
		client, err := s.HTTPClient()
		if err != nil {
			t.Fatal(err)
		}
		replicas, clients = append(replicas, s), append(clients, client)
	}
	kubectl := func(manifest string, args ...string) lab.Result {
		return l.Run(t.Context(), lab.Kubectl{User: lab.Admin, Args: args, Stdin: strings.NewReader(manifest)})
	}
	document := func(of, name string) string { return strings.ReplaceAll(of, "NAME", name) }
	for _, manifest := range []string{
		document(outagePolicy, "stays"), document(outagePolicy, "is-deleted"), document(outagePolicy, "is-excused"),
		document(outagePolicy, "was-excused"), document(outageException, "was-excused"),
	} {
		want(t, kubectl(manifest, "apply", "-f", "-"), true)
	}
	// all waits until every replica lets in what it should.
	all := func(when string, limit time.Duration, letIn map[string]bool) {
		t.Helper()
		began := time.Now()
		eventuallyWithin(t, limit, func() string {
			for i, s := range replicas {
				for name, wanted := range letIn {
					if in, err := letsIn(t.Context(), clients[i], s.URL, name); err != nil || in != wanted {
						return fmt.Sprintf("%s: replica %d lets %s in: %v (%v)", when, i+1, name, in, err)
					}
				}
			}
			return ""
		})
		t.Logf("%s it took %s", when, time.Since(began).Round(time.Millisecond))
	}
	before := map[string]bool{"stays": false, "is-deleted": false, "is-excused": false, "was-excused": true, "is-new": true}
	all("at first", waitLimit, before)
	// led waits until one leads, and counts how often one came to.
	led := func(times int) {
		t.Helper()
		eventually(t, func() string {
			now := 0
			for _, s := range replicas {
				now += strings.Count(s.Log(), "this replica leads:")
			}
			if now != times || leading(t, l, replicas) == nil {
				return fmt.Sprintf("a replica came to lead %d times, want %d", now, times)
			}
			return ""
		})
	}
	led(1)

	if err := l.KillAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, s := range replicas {
		eventuallyWithin(t, time.Minute, func() string {
			status, body, err := s.Get(t.Context(), "/readyz")
			if err != nil || status != http.StatusServiceUnavailable {
				return fmt.Sprintf("without an API server /readyz answers %d: %s (%v)", status, body, err)
			}
			return ""
		})
		if _, err := letsIn(t.Context(), clients[i], s.URL, "was-excused"); err == nil {
			t.Error("what is not known any more is judged by")
		}
	}
	if err := l.StartAPIServer(); err != nil {
		t.Fatal(err)
	}
	eventuallyWithin(t, time.Minute, func() string {
		if r := kubectl(document(outagePolicy, "is-new"), "apply", "-f", "-"); !r.OK() {
			return r.String()
		}
		return ""
	})
	answered := time.Now()
	want(t, kubectl("", "delete", "clusterpolicy", "is-deleted"), true)
	want(t, kubectl(document(outageException, "is-excused"), "apply", "-f", "-"), true)
	want(t, kubectl("", "delete", "policyexception", "was-excused", "-n", "shop"), true)
	all("after the outage", outageLimit-time.Since(answered), map[string]bool{"stays": false, "is-deleted": true, "is-excused": true, "was-excused": false, "is-new": false})
	// Nobody led without an API server.
	led(2)
}

// letsIn asks a replica at url whether a ConfigMap may be made. That it does not know is
// an error.
func letsIn(ctx context.Context, client *http.Client, url, name string) (bool, error) {
	review := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},"namespace":"shop","name":%q,"operation":"CREATE","userInfo":{"username":"ann"},"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"shop"}},"options":{"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions"}}}`, name, name)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/validate", bytes.NewReader([]byte(review)))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return false, err
	case response.StatusCode != http.StatusOK || bytes.Contains(body, []byte("does not know")):
		return false, fmt.Errorf("%d %s", response.StatusCode, body)
	}
	return bytes.Contains(body, []byte(`"allowed":true`)), nil
}
