package policies

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/watch/follow/ours"
)

// TestWatchOfACacheThatFails ends with what is wrong, and puts nothing in force that
// was not read to its end.
func TestWatchOfACacheThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		cache objectsCache
		want  error
	}{
		"no informer": {objectsCache{informerErr: errors.New("no informer")}, nil},
		"no handler":  {objectsCache{handlerErr: errors.New("no handler")}, nil},
		"not read":    {objectsCache{unsynced: true, startErr: errAPI}, errAPI},
	} {
		t.Run(name, func(t *testing.T) {
			// What comes first of several things that have happened is by chance.
			for range 20 {
				w := newWorld(t, document("DenyPolicy", "x", soundSpec))
				before := w.store.Set()
				cache := c.cache
				w.watch.cache = &cache
				err := w.watch.Run(t.Context())
				want := name
				if c.want != nil {
					want = c.want.Error()
				}
				if err == nil || !strings.Contains(err.Error(), want) || cache.lists > 0 {
					t.Fatalf("%v after %d lists, want %q", err, cache.lists, want)
				}
				if w.store.Set() != before {
					t.Fatal("what was in force is gone")
				}
			}
		})
	}
	t.Run("a kind that cannot be listed", func(t *testing.T) {
		w := newWorld(t, document("DenyPolicy", "x", soundSpec))
		before, reloaded := w.store.Set(), false
		w.watch.OnReload(func() { reloaded = true })
		w.cache.listErr = errAPI
		w.watch.reload(t.Context())
		if w.store.Set() != before || reloaded {
			t.Error("something else is in force")
		}
	})
}

// TestWatchWithoutAClient says so before anything is watched.
func TestWatchWithoutAClient(t *testing.T) {
	w := newWorld(t)
	config := &rest.Config{Host: "https://example.com", TLSClientConfig: rest.TLSClientConfig{CAFile: "testdata/missing.pem"}}
	if _, err := NewWatch(config, w.feed, logr.Discard(), ours.New(ours.Options{}), policy.Kinds()); err == nil || !strings.Contains(err.Error(), "cannot be watched") {
		t.Error(err)
	}
}

// TestChangesComeIntoForceBeforeTheyAreTold: a status that cannot be written keeps
// nothing from being in force.
func TestChangesComeIntoForceBeforeTheyAreTold(t *testing.T) {
	w := newWorld(t)
	w.failing = errAPI
	ctx, end := withCancel(t)
	watched, told := make(chan error, 1), make(chan error, 1)
	reloaded := make(chan struct{}, 100)
	w.watch.OnReload(func() { reloaded <- struct{}{} })
	go func() { watched <- w.watch.Run(ctx) }()
	go func() { told <- w.status.Run(ctx) }()
	<-reloaded
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion("sallyport.io/v1alpha1")
	o.SetKind("DenyPolicy")
	o.SetName("later")
	o.SetUID("later")
	o.SetGeneration(1)
	o.Object["spec"] = map[string]any{"rules": []any{map[string]any{"verbs": []any{"delete"}, "apiGroups": []any{""}, "resources": []any{"namespaces"}}}}
	if err := w.client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.cache.handlers["DenyPolicy"].OnAdd(w.object(t, "DenyPolicy", "later"), false)
	<-reloaded
	if got := w.store.Set().Counts().DenyPolicies; got != 1 {
		t.Errorf("%d policies are in force", got)
	}
	end()
	if err := errors.Join(<-watched, <-told); err != nil {
		t.Error(err)
	}
}

// TestEventsThatChangeNothing put nothing in force again, and have the status looked
// at.
func TestEventsThatChangeNothing(t *testing.T) {
	w := newWorld(t, document("DenyPolicy", "x", soundSpec))
	w.settle(t.Context())
	o := w.object(t, "DenyPolicy", "x")
	later := o.DeepCopy()
	later.SetResourceVersion("later")
	spec := later.DeepCopy()
	spec.SetGeneration(2)
	for _, c := range []struct {
		name          string
		before, after any
		notice, touch bool
	}{
		{"added", nil, o, true, true},
		{"its status changed", o, later, false, true},
		{"its spec changed", o, spec, true, true},
		{"deleted", o, nil, true, false},
		{"deleted while no one watched", toolscache.DeletedFinalStateUnknown{Obj: o}, nil, true, false},
		{"an exception, whose status others write", nil, someException(), true, false},
	} {
		w.watch.event(c.before, c.after)
		noticed := false
		select {
		case <-w.watch.changed:
			noticed = true
		default:
		}
		touched := w.status.queue.Len() > 0
		if noticed != c.notice || touched != c.touch {
			t.Errorf("%s: put in force again: %v, looked at: %v", c.name, noticed, touched)
		}
		w.settle(t.Context())
	}
}

func someException() *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion("sallyport.io/v1alpha1")
	o.SetKind("PolicyException")
	o.SetName("x")
	return o
}
