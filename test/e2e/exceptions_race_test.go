package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// clientOf works as a user, on the kinds of ours.
func clientOf(t *testing.T, user string) client.Client {
	t.Helper()
	file, err := shared.Kubeconfig(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestApprovalRace has a request changed, by many at once, while what was read of
// it before is approved. Whoever wins, what was not read is never excused.
func TestApprovalRace(t *testing.T) {
	w := newWorkflowLab(t)
	asker, approver := clientOf(t, alice), clientOf(t, "dave")
	const rounds, askers = 12, 4
	approvals, changes := 0, 0
	for round := range rounds {
		name := fmt.Sprintf("race-%d", round)
		harmless := harmlessRequest(name)
		if err := asker.Create(t.Context(), harmless); err != nil {
			t.Fatal(err)
		}
		read := &v1alpha1.PolicyExceptionRequest{}
		if err := approver.Get(t.Context(), client.ObjectKey{Namespace: "dev", Name: name}, read); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var wait sync.WaitGroup
		start := make(chan struct{})
		for i := range askers {
			wait.Go(func() {
				<-start
				// One writes at once what it read before; the others read again.
				q := read.DeepCopy()
				if i > 0 {
					q = nil
				}
				if widen(t.Context(), asker, name, q, i) == nil {
					mu.Lock()
					defer mu.Unlock()
					changes++
				}
			})
		}
		wait.Go(func() {
			<-start
			err := approver.Create(t.Context(), &v1alpha1.PolicyExceptionResponse{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: v1alpha1.PolicyExceptionResponseSpec{
					Name: name, Namespace: "dev", Status: v1alpha1.ResponseApproved, Reason: "what I read is harmless",
					RequestUID: read.UID, RequestGeneration: read.Generation,
				},
			})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				approvals++
			case !strings.Contains(err.Error(), "has changed since it was read"):
				t.Errorf("round %d: the approval was refused for another reason: %v", round, err)
			}
		})
		close(start)
		wait.Wait()
	}
	t.Logf("%d of %d approvals and %d of %d changes went through", approvals, rounds, changes, rounds*askers)
	// Everything has been seen once an exception that comes last is in force.
	w.apply(root, `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: last, namespace: dev}
spec:
  exceptions: [{policyName: disallow-latest-tag}]
  match: {any: [{resources: {kinds: [Deployment], names: [last]}}]}
`)
	eventually(t, func() string {
		if r := w.do(root, deploymentOf("last", "test:latest", named), "create", "--dry-run=server"); !r.OK() {
			return r.String()
		}
		return ""
	})
	w.refused(alice, "create", deploymentOf("harmful", "test:latest", named), "disallow-latest-tag")
}

// harmlessRequest asks for what somebody would approve.
func harmlessRequest(name string) *v1alpha1.PolicyExceptionRequest {
	q := &v1alpha1.PolicyExceptionRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name}}
	q.Spec.Exceptions = []v1alpha1.RequestedException{{ExceptedRules: v1alpha1.ExceptedRules{PolicyName: "disallow-latest-tag"}}}
	q.Spec.Reason = "harmless"
	q.Spec.Exclude = resourcesNamed("harmless")
	return q
}

func resourcesNamed(names ...string) *v1alpha1.Match {
	return &v1alpha1.Match{Any: []v1alpha1.ResourceFilter{{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"Deployment"}, Names: names}}}}
}

// widen changes a request to ask for what nobody would approve.
func widen(ctx context.Context, c client.Client, name string, q *v1alpha1.PolicyExceptionRequest, i int) error {
	if q == nil {
		q = &v1alpha1.PolicyExceptionRequest{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: "dev", Name: name}, q); err != nil {
			return err
		}
	}
	q.Spec.Reason = fmt.Sprintf("harmful %d", i)
	q.Spec.Exclude = resourcesNamed("harmful")
	return c.Update(ctx, q)
}
