package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/test/lab"
)

// handoverPolicies refuse pods without a label, and getting into the one that is
// privileged.
const handoverPolicies = `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: handover-exec}
spec: {podSecurityRules: {blockFactors: [privilegedContainer]}}
---
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: handover-labels, annotations: {sallyport.io/autogen-controllers: none}}
spec:
  validationFailureAction: Enforce
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod], namespaces: [handover]}}]}
    validate: {message: a team is wanted, pattern: {metadata: {labels: {team: "?*"}}}}
`

// handoverPods are what is got into.
const handoverPods = `
apiVersion: v1
kind: Pod
metadata: {name: plain, namespace: handover, labels: {team: a}}
spec: {containers: [{name: app, image: registry.example.com/tool:1}]}
---
apiVersion: v1
kind: Pod
metadata: {name: risky, namespace: handover, labels: {team: a}}
spec: {containers: [{name: app, image: registry.example.com/tool:1, securityContext: {privileged: true}}]}
`

// TestReplicasHandOver restarts three replicas one after the other and kills the one that
// leads, while both doors are asked all the time by way of what stands in for a Service:
// nothing is let in that is to be refused, no request fails as replicas end in order, only
// those fail that the killed one had, and another leads within 5 s.
func TestReplicasHandOver(t *testing.T) {
	ctx := t.Context()
	if err := shared.CreateNamespace(ctx, "handover", nil); err != nil {
		t.Fatal(err)
	}
	deleteAfter(t, "pods", "--all", "-n", "handover", "--force", "--grace-period=0")
	want(t, apply(t, root, handoverPods), true)
	replicas, cas := make([]*lab.Sallyport, 3), ""
	for i := range replicas {
		s, err := shared.StartSallyport(ctx, lab.SallyportOptions{
			Binary: quick, Name: fmt.Sprint("handover-", i), Args: []string{"--shutdown-delay", "2s", "--connection-max-age", "2s"},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			if t.Failed() {
				t.Log(s.Log())
			}
		})
		ca, err := os.ReadFile(s.CAFile)
		if err != nil {
			t.Fatal(err)
		}
		replicas[i], cas = s, cas+string(ca)
	}
	service := newBalancer(t, replicas...)
	front := &lab.Sallyport{URL: "https://" + service.address, CAFile: filepath.Join(t.TempDir(), "cas.crt")}
	if err := os.WriteFile(front.CAFile, []byte(cas), 0o600); err != nil {
		t.Fatal(err)
	}
	awaitReady := func() {
		t.Helper()
		eventually(t, func() string {
			if n := service.ready(); n != len(replicas) {
				return fmt.Sprintf("%d replicas are ready", n)
			}
			return ""
		})
	}
	awaitReady()
	deleteAfter(t, "denypolicy/handover-exec", "clusterpolicy/handover-labels")
	want(t, apply(t, root, handoverPolicies), true)
	if err := errors.Join(shared.WireAdmission(ctx, front, nil), shared.WireAccess(ctx, front, wiring.Authorizer{})); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unwire(t, shared.UnwireAdmission); unwire(t, shared.UnwireAccess) })
	enforced(t, "clusterpolicy/handover-labels", "True", "every replica has it in force")
	enforced(t, "denypolicy/handover-exec", "True", "every replica has it in force")

	load := startAsking(t)
	load.await(t, 20)
	for _, s := range replicas {
		taken := service.at(s).taken
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
		awaitReady()
		// Connections end, so that it is asked again.
		eventually(t, func() string {
			if now := service.at(s).taken; now < taken+2 {
				return fmt.Sprintf("a replica that was started again took %d connections", now-taken)
			}
			return ""
		})
	}
	load.await(t, 20)
	_, metrics, err := replicas[0].Get(ctx, "/metrics")
	if !strings.Contains(metrics, `sallyport_connections{door="admission"}`) {
		t.Errorf("connections are not counted: %v", err)
	}
	load.fine(t, "as replicas ended in order", 0)

	leader := leading(t, shared, replicas)
	had := service.at(leader).open
	killed := time.Now()
	leader.Kill()
	eventuallyWithin(t, 5*time.Second, func() string {
		if now := leading(t, shared, replicas); now == nil || now == leader {
			return "no other replica leads"
		}
		return ""
	})
	t.Logf("another replica led %s after the one that did was killed", time.Since(killed).Round(10*time.Millisecond))
	load.await(t, 20)
	load.stop()
	load.fine(t, "as one was killed", had)
	for _, failed := range load.failed {
		if failed.Before(killed) || failed.After(killed.Add(time.Second)) {
			t.Errorf("a request failed %s after the kill", failed.Sub(killed))
		}
	}
	t.Logf("%d requests, of which %d failed of %d connections to the one that was killed", load.asked(), len(load.failed), had)
}

// leading is the replica that holds the Lease, and has said that it leads; nil for none.
func leading(t *testing.T, l *lab.Lab, replicas []*lab.Sallyport) *lab.Sallyport {
	t.Helper()
	lease, err := l.Client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), "sallyport-workflow", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return nil
	}
	for _, s := range replicas {
		for line := range strings.Lines(s.Log()) {
			if strings.Contains(line, "this replica leads:") && strings.Contains(line, *lease.Spec.HolderIdentity) {
				return s
			}
		}
	}
	return nil
}

// asking asks both doors what is to be let in and what is not, all the time.
type asking struct {
	client  kubernetes.Interface
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu sync.Mutex
	// answers counts those that were as they are to be, by what was asked.
	answers map[string]int
	failed  []time.Time
	errs    []error
	wrong   []string
}

// questions are what is asked: each returns whether it was let in.
func (l *asking) questions() map[string]func(context.Context) (bool, error) {
	creates := func(labels map[string]string) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "asked-", Namespace: "handover", Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example.com/tool:1"}}},
			}
			_, err := l.client.CoreV1().Pods("handover").Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil && strings.Contains(err.Error(), "a team is wanted") {
				return false, nil
			}
			return err == nil, err
		}
	}
	enters := func(pod string) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			review, err := l.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: bob, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "handover", Verb: "create", Version: "v1", Resource: "pods", Subresource: "exec", Name: pod},
			}}, metav1.CreateOptions{})
			switch {
			case err != nil:
				return false, err
			case review.Status.EvaluationError != "":
				return review.Status.Allowed, errors.New(review.Status.EvaluationError)
			case review.Status.Denied && !strings.Contains(review.Status.Reason, "handover-exec"):
				return false, errors.New(review.Status.Reason)
			}
			return review.Status.Allowed, nil
		}
	}
	return map[string]func(context.Context) (bool, error){
		"create let in": creates(map[string]string{"team": "a"}), "create refused": creates(nil),
		"exec let in": enters("plain"), "exec refused": enters("risky"),
	}
}

func startAsking(t *testing.T) *asking {
	t.Helper()
	config := rest.CopyConfig(shared.Config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	l := &asking{client: client, cancel: cancel, answers: map[string]int{}}
	for name, ask := range l.questions() {
		l.running.Go(func() {
			ticker := time.NewTicker(25 * time.Millisecond)
			defer ticker.Stop()
			for ctx.Err() == nil {
				in, err := ask(context.WithoutCancel(ctx))
				l.note(name, in, err)
				select {
				case <-ctx.Done():
				case <-ticker.C:
				}
			}
		})
	}
	t.Cleanup(l.stop)
	return l
}

// note counts an answer. What fails may not be let in either.
func (l *asking) note(name string, in bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case in && strings.HasSuffix(name, "refused"):
		l.wrong = append(l.wrong, fmt.Sprintf("%s: it was let in (%v)", name, err))
	case err != nil:
		l.failed, l.errs = append(l.failed, time.Now()), append(l.errs, err)
	case in != strings.HasSuffix(name, "let in"):
		l.wrong = append(l.wrong, name+": it was refused")
	default:
		l.answers[name]++
	}
}

func (l *asking) stop() {
	l.cancel()
	l.running.Wait()
}

// await returns when each question was answered so many times more.
func (l *asking) await(t *testing.T, times int) {
	t.Helper()
	before := map[string]int{}
	l.mu.Lock()
	for name := range l.questions() {
		before[name] = l.answers[name]
	}
	l.mu.Unlock()
	eventually(t, func() string {
		l.mu.Lock()
		defer l.mu.Unlock()
		for name, n := range before {
			if l.answers[name] < n+times {
				return fmt.Sprintf("%s was answered %d times more, and failed %v; wrong: %q", name, l.answers[name]-n, l.errs, l.wrong)
			}
		}
		return ""
	})
}

// fine checks that no answer was wrong, and that at most so many requests failed.
func (l *asking) fine(t *testing.T, when string, most int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) > 0 {
		t.Errorf("%s: %q", when, l.wrong)
	}
	if len(l.failed) > most {
		t.Errorf("%s %d requests failed, at most %d may: %v", when, len(l.failed), most, l.errs)
	}
}

func (l *asking) asked() (n int) {
	for _, answers := range l.answers {
		n += answers
	}
	return n + len(l.failed)
}
