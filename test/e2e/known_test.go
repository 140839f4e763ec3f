package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/test/lab"
)

// knownPolicies refuse privileged pods, getting into them, and a label that would
// exempt from that.
const knownPolicies = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: baseline}
spec:
  validationFailureAction: Enforce
  rules:
  - name: baseline
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {podSecurity: {level: baseline}}
---
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: risk}
spec:
  podSecurityRules:
    failMode: open
    riskFactors: {privilegedContainer: 90}
    thresholds: [{maxScore: 50, action: allow}, {maxScore: 100, action: deny, reason: "{{.pod}} is too risky"}]
    exemptions: {podLabels: {exempt: "yes"}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bob}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
`

const knownPods = `
apiVersion: v1
kind: Pod
metadata: {name: risky, namespace: shop}
spec:
  containers: [{name: app, image: registry.example.com/tool:1, securityContext: {privileged: true}}]
`

// attack is what is tried all the time at both doors, and what of it was let in.
type attack struct {
	tried, letIn atomic.Int64
	end          context.CancelFunc
	running      sync.WaitGroup
}

// attacked has pods made that may not be, with several attackers each, until stopped.
// Further attackers say whether they were let in.
func attacked(t *testing.T, l *lab.Lab, further ...func(ctx context.Context, i int) bool) *attack {
	t.Helper()
	a := &attack{}
	ctx, cancel := context.WithCancel(t.Context())
	a.end = cancel
	t.Cleanup(func() {
		cancel()
		a.running.Wait()
	})
	for _, try := range further {
		a.keep(ctx, t, func(i int) bool { return try(ctx, i) })
	}
	privileged := true
	for n := range 2 {
		a.keep(ctx, t, func(i int) bool {
			_, err := l.Client.CoreV1().Pods("shop").Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("privileged-%d-%d", n, i)},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "a", SecurityContext: &corev1.SecurityContext{Privileged: &privileged}}}},
			}, metav1.CreateOptions{})
			return err == nil
		})
		a.keep(ctx, t, func(int) bool { return mayExec(ctx, l) })
		// By WebSocket, an exec is a get.
		a.keep(ctx, t, func(int) bool {
			review, err := l.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "bob", ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Version: "v1", Resource: "pods", Subresource: "exec", Namespace: "shop", Name: "risky"},
			}}, metav1.CreateOptions{})
			return err == nil && review.Status.Allowed
		})
	}
	return a
}

// keep tries until ctx ends.
func (a *attack) keep(ctx context.Context, t *testing.T, try func(i int) bool) {
	a.running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if try(i) {
				a.letIn.Add(1)
				t.Errorf("attempt %d was let in", i)
			}
			a.tried.Add(1)
		}
	})
}

func (a *attack) stop(t *testing.T) {
	t.Helper()
	a.end()
	a.running.Wait()
	t.Logf("%d attempts, %d let in", a.tried.Load(), a.letIn.Load())
	if a.tried.Load() < 20 {
		t.Errorf("only %d attempts were made", a.tried.Load())
	}
}

// mayExec asks whether bob, who is bound to cluster-admin, gets into the risky pod.
func mayExec(ctx context.Context, l *lab.Lab) bool {
	review, err := l.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "bob", ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Version: "v1", Resource: "pods", Subresource: "exec", Namespace: "shop", Name: "risky"},
	}}, metav1.CreateOptions{})
	return err == nil && review.Status.Allowed
}

// harmless is asked at the side door and concerns no policy.
const harmless = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"bob","resourceAttributes":{"verb":"get","version":"v1","resource":"configmaps","namespace":"shop","name":"x"}}}`

// asked posts a review to Sallyport itself.
func asked(t *testing.T, s *lab.Sallyport, path string) (status int, body string) {
	t.Helper()
	client, err := s.HTTPClient()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, strings.NewReader(harmless))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(content)
}

// closed waits until everything is refused, for a reason that names what is missing.
func closed(t *testing.T, s *lab.Sallyport, limit time.Duration, fact string) {
	t.Helper()
	eventuallyWithin(t, limit, func() string {
		status, body := asked(t, s, "/authorize")
		if status != http.StatusOK || !strings.Contains(body, `"denied":true`) || !strings.Contains(body, fact) {
			return fmt.Sprintf("/authorize answers %d %s, and should refuse for %s", status, body, fact)
		}
		if status, body := asked(t, s, "/ignore/authorize"); status != http.StatusServiceUnavailable || !strings.Contains(body, fact) {
			return fmt.Sprintf("/ignore/authorize answers %d %s", status, body)
		}
		status, body, err := s.Get(t.Context(), "/readyz")
		if err != nil || status != http.StatusServiceUnavailable || !strings.Contains(body, fact) {
			return fmt.Sprintf("/readyz answers %d %s (%v), and should name %s", status, body, err, fact)
		}
		return ""
	})
}

// open waits until Sallyport judges again.
func open(t *testing.T, s *lab.Sallyport) {
	t.Helper()
	eventuallyWithin(t, time.Minute, func() string {
		if status, body := asked(t, s, "/authorize"); status != http.StatusOK || strings.Contains(body, `"denied":true`) {
			return fmt.Sprintf("/authorize answers %d %s", status, body)
		}
		if status, body, err := s.Get(t.Context(), "/readyz"); err != nil || status != http.StatusOK {
			return fmt.Sprintf("/readyz answers %d %s (%v)", status, body, err)
		}
		return ""
	})
}

// without is the role of Sallyport without the right to read a kind of ours.
func without(t *testing.T, resource string) string {
	t.Helper()
	role := strings.Replace(lab.SallyportRole(), resource+", ", "", 1)
	if role == lab.SallyportRole() {
		t.Fatalf("the role that is shipped does not list %s", resource)
	}
	return role
}

// TestClosedUntilItKnows attacks both doors while Sallyport does not know what it must,
// for every reason why.
func TestClosedUntilItKnows(t *testing.T) {
	t.Parallel()
	l, err := startLab(t.Context(), lab.Options{CRDs: []string{filepath.Join(repository(t), "config", "crd")}, Users: []lab.User{{Name: "bob"}}})
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
	if err := l.Apply(t.Context(), knownPods+"---"+knownPolicies); err != nil {
		t.Fatal(err)
	}
	s, err := l.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Args: []string{"--max-staleness", "5s"}})
	if err != nil {
		t.Fatal(err)
	}
	wired := func() {
		t.Helper()
		if err := l.WireAccess(t.Context(), s, wiring.Authorizer{Timeout: 2 * time.Second}); err != nil {
			t.Fatal(err)
		}
		if err := l.WireAdmission(t.Context(), s, nil); err != nil {
			t.Fatal(err)
		}
	}
	wired()
	open(t, s)

	t.Run("restarted", func(t *testing.T) {
		a := attacked(t, l)
		for range 5 {
			s.Kill()
			<-s.Done()
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			open(t, s)
		}
		a.stop(t)
	})
	t.Run("a right is taken away", func(t *testing.T) {
		a := attacked(t, l)
		s.Kill()
		<-s.Done()
		if err := l.Apply(t.Context(), without(t, "identitysources")); err != nil {
			t.Fatal(err)
		}
		started := make(chan error, 1)
		go func() { started <- s.Start(t.Context()) }()
		closed(t, s, time.Minute, "identitysources.sallyport.io were not read yet")
		if err := l.Apply(t.Context(), lab.SallyportRole()); err != nil {
			t.Fatal(err)
		}
		given := time.Now()
		open(t, s)
		t.Logf("open %s after the right was given back", time.Since(given))
		if err := <-started; err != nil {
			t.Fatal(err)
		}
		a.stop(t)
	})
	t.Run("a kind is taken away", func(t *testing.T) {
		a := attacked(t, l)
		if result := l.Kubectl(t.Context(), lab.Admin, "delete", "crd", "denypolicies.sallyport.io", "--wait=true"); !result.OK() {
			t.Fatal(result)
		}
		closed(t, s, 30*time.Second, "denypolicies.sallyport.io do not exist any more")
		s.Kill()
		<-s.Done()
		started := make(chan error, 1)
		go func() { started <- s.Start(t.Context()) }()
		closed(t, s, time.Minute, "denypolicies.sallyport.io were not read yet")
		a.stop(t)
		crd, err := os.ReadFile(filepath.Join(repository(t), "config", "crd", "sallyport.io_denypolicies.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.UnwireAdmission(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.Apply(t.Context(), string(crd)); err != nil {
			t.Fatal(err)
		}
		open(t, s)
		if err := <-started; err != nil {
			t.Fatal(err)
		}
		eventually(t, func() string {
			if result := l.Run(t.Context(), lab.Kubectl{User: lab.Admin, Stdin: strings.NewReader(knownPolicies), Args: []string{"apply", "-f", "-"}}); !result.OK() {
				return result.String()
			}
			return ""
		})
		wired()
		eventually(t, func() string {
			if mayExec(t.Context(), l) {
				return "the policy that was written again is not in force"
			}
			return ""
		})
	})
	t.Run("the API server stands still", func(t *testing.T) {
		if err := l.PauseAPIServer(); err != nil {
			t.Fatal(err)
		}
		paused := time.Now()
		closed(t, s, 10*time.Second, "have not been heard of since")
		t.Logf("closed %s after the API server stood still", time.Since(paused))
		if err := l.ResumeAPIServer(); err != nil {
			t.Fatal(err)
		}
		resumed := time.Now()
		open(t, s)
		t.Logf("open %s after it went on", time.Since(resumed))
		if mayExec(t.Context(), l) {
			t.Error("bob gets into the pod")
		}
	})
	t.Run("files and the API server", func(t *testing.T) {
		s.Kill()
		<-s.Done()
		file := filepath.Join(t.TempDir(), "policies.yaml")
		if err := os.WriteFile(file, []byte("apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: file}\nspec: {rules: [{verbs: [delete], apiGroups: [\"\"], resources: [nodes]}]}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := l.UnwireAccess(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.UnwireAdmission(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.Apply(t.Context(), without(t, "identitysources")); err != nil {
			t.Fatal(err)
		}
		both := make(chan *lab.Sallyport, 1)
		go func() {
			b, err := l.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "both", Args: []string{"--from", file, "--watch-policies"}})
			if err != nil {
				t.Error(err)
			}
			both <- b
		}()
		// It does not get ready, and so is not returned, before the right is there.
		select {
		case <-both:
			t.Fatal("it is ready without having read the policies of the API server")
		case <-time.After(3 * time.Second):
		}
		if err := l.Apply(t.Context(), lab.SallyportRole()); err != nil {
			t.Fatal(err)
		}
		if b := <-both; b != nil {
			open(t, b)
		}
	})
}
