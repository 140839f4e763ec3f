package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/test/lab"
)

// TestReplicasThatDifferDoNotFight has a policy in force on one replica, and refused by
// another, which reads one of that name from a file: both say so, and then neither
// writes again, whatever else changes.
func TestReplicasThatDifferDoNotFight(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(followedPods, "NAME", "differs")), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(name string, args ...string) *lab.Sallyport {
		t.Helper()
		s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: name, Args: args})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	leader := start("differs-leads")
	eventually(t, func() string {
		if !strings.Contains(leader.Log(), "this replica leads") {
			return "the first replica does not lead"
		}
		return ""
	})
	start("differs-beside", "--from", file, "--watch-policies")
	if err := shared.WireAdmission(t.Context(), leader, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unwire(t, shared.UnwireAdmission) })
	followRules(t)

	written := writes(t, "clusterpolicies", "differs")
	deleteAfter(t, "clusterpolicy", "differs", "differs-other")
	want(t, apply(t, root, strings.ReplaceAll(followedPods, "NAME", "differs")), true)
	enforced(t, "clusterpolicy/differs", "False", "differs")
	said := written()
	if said > 6 {
		t.Errorf("until both had said what they have, it was written %d times", said)
	}
	for range 3 {
		want(t, apply(t, root, strings.ReplaceAll(followedPods, "NAME", "differs-other")), true)
		enforced(t, "clusterpolicy/differs-other", "True", "")
		want(t, shared.Kubectl(t.Context(), root, "delete", "clusterpolicy", "differs-other"), true)
	}
	if again := written() - said; again > 3 {
		t.Errorf("after both had said so, it was written %d times more", again)
	}
	t.Logf("written %d times", written())
}

// writes counts how often an object is written from now on.
func writes(t *testing.T, resource, name string) func() int {
	t.Helper()
	objects, err := dynamic.NewForConfig(shared.Config)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	count := 0
	events, err := objects.Resource(schema.GroupVersionResource(v1alpha1.GroupVersion.WithResource(resource))).Watch(context.WithoutCancel(t.Context()), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Stop)
	go func() {
		for event := range events.ResultChan() {
			if o, ok := event.Object.(*unstructured.Unstructured); ok && o.GetName() == name && event.Type == watch.Modified {
				mu.Lock()
				count++
				mu.Unlock()
			}
		}
	}()
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}
