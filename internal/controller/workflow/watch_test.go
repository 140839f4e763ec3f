package workflow

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

// TestWatch looks again when what it watches has come or says something else, and not
// when only a status has changed.
func TestWatch(t *testing.T) {
	w := newSwept(t, nil)
	objects := &informertest.FakeInformers{Scheme: scheme(t)}
	w.objects, w.changed = objects, notice.New()
	if err := w.watch(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := func(when string, want bool) {
		t.Helper()
		got := false
		select {
		case <-w.changed:
			got = true
		default:
		}
		if got != want {
			t.Errorf("%s: it is told: %v", when, got)
		}
	}
	told("at first", false)
	for _, kind := range []client.Object{&v1alpha1.PolicyException{}, &v1alpha1.ClusterPolicyException{}, &v1alpha1.PolicyExceptionRequest{}, &v1alpha1.PolicyExceptionResponse{}} {
		informer, err := objects.FakeInformerFor(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		one := kind.DeepCopyObject().(client.Object)
		one.SetName("one")
		one.SetUID("1")
		one.SetGeneration(1)
		informer.Add(one)
		told("one has come", true)
		status := one.DeepCopyObject().(client.Object)
		status.SetResourceVersion("2")
		informer.Update(one, status)
		told("a status", false)
		spec := one.DeepCopyObject().(client.Object)
		spec.SetGeneration(2)
		informer.Update(status, spec)
		told("a spec", true)
		again := spec.DeepCopyObject().(client.Object)
		again.SetUID("2")
		informer.Update(spec, again)
		told("one that was made again", true)
		informer.Delete(again)
		told("one that was deleted", true)
	}
}

// TestOvertaken looks again at the next turn where a status was not written, as its
// object had changed since it was read.
func TestOvertaken(t *testing.T) { synctest.Test(t, overtaken) }

func overtaken(t *testing.T) {
	e := &v1alpha1.PolicyException{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "dev", UID: "1", Generation: 1}, Spec: v1alpha1.PolicyExceptionSpec{Reason: "r", Exceptions: []v1alpha1.ExceptedRules{{PolicyName: "p"}}}}
	w := newSwept(t, nil, e)
	w.objects, w.changed = &informertest.FakeInformers{Scheme: scheme(t)}, notice.New()
	var looks, conflicts atomic.Int32
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, api client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*v1alpha1.PolicyExceptionList); ok {
				looks.Add(1)
				// So long that it rests for minutes.
				w.clock.Step(sweepEvery)
			}
			return api.List(ctx, list, opts...)
		},
		SubResourcePatch: func(ctx context.Context, api client.Client, sub string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if conflicts.Add(1) == 1 {
				return apierrors.NewConflict(schema.GroupResource{Resource: "policyexceptions"}, object.GetName(), nil)
			}
			return api.Status().Patch(ctx, object, patch, opts...)
		},
	})
	w.leading(t)
	synctest.Wait()
	if looks.Load() < 1 || conflicts.Load() != 1 {
		t.Fatalf("looked %d times, written %d times", looks.Load(), conflicts.Load())
	}
	w.clock.Step(sweepEvery)
	synctest.Wait()
	w.clock.Step(sweepEvery)
	synctest.Wait()
	if conflicts.Load() != 2 {
		t.Errorf("after a conflict it was written %d times, in %d looks", conflicts.Load(), looks.Load())
	}
}
