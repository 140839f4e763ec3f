package replicas

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// TestLeaving leaves no Lease that others would wait for, whatever the last write came
// to.
func TestLeaving(t *testing.T) {
	for name, c := range map[string]struct {
		// prepare is called before the replica runs, and end ends it once it writes.
		prepare func(w *world, r *replica, end func())
	}{
		"while its first write is under way": {func(w *world, _ *replica, end func()) {
			w.client.PrependReactor("create", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				end()
				return false, nil, nil
			})
		}},
		"after a write that arrived and failed": {func(w *world, _ *replica, end func()) {
			w.client.PrependReactor("create", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
				end()
				if err := w.client.Tracker().Create(a.GetResource(), a.(clienttesting.CreateAction).GetObject(), a.GetNamespace()); err != nil {
					return true, nil, err
				}
				return true, nil, apierrors.NewTimeoutError("it takes too long", 1)
			})
		}},
		"before it knows what it has": {func(w *world, r *replica, end func()) {
			before := w.replica("one")
			before.objects = []*unstructured.Unstructured{object("x", 1, 10)}
			before.sum(context.Background())
			before.write(context.Background())
			r.Options.Objects = func(context.Context) ([]*unstructured.Unstructured, bool, error) {
				end()
				return nil, false, nil
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			r := w.replica("one")
			r.objects = []*unstructured.Unstructured{object("x", 1, 10)}
			// Several goroutines call them.
			r.Changed, r.Touch = func() {}, func([]stored.Ref) {}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			c.prepare(w, r, end)
			if err := r.Run(ctx); err != nil {
				t.Fatal(err)
			}
			list, err := w.client.Tracker().List(coordinationv1.SchemeGroupVersion.WithResource("leases"), coordinationv1.SchemeGroupVersion.WithKind("Lease"), "sallyport-system")
			if err != nil {
				t.Fatal(err)
			}
			if left := list.(*coordinationv1.LeaseList).Items; len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

// TestWritesAreEnded ends a write that has begun, though this replica ends: one that is
// broken off may arrive after the Lease was deleted.
func TestWritesAreEnded(t *testing.T) {
	w := newWorld()
	r := w.replica("one")
	r.objects = []*unstructured.Unstructured{object("x", 1, 10)}
	r.sum(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if q.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","reason":"NotFound","code":404}`)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"one"}}`)
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	r.Client = client
	ctx, end := context.WithCancel(t.Context())
	end()
	r.write(ctx)
	if r.written.identity != "one-1" {
		t.Error("the write was broken off")
	}
}
