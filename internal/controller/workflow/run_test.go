package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/internal/watch/follow/ours"
)

// logged is a log that counts the errors in it.
func logged(errs *atomic.Int32) logr.Logger {
	return funcr.NewJSON(func(line string) {
		if strings.Contains(line, `"error"`) {
			errs.Add(1)
		}
	}, funcr.Options{})
}

// TestNoControllerWithoutAnAPIServer says what is wrong with the configuration.
func TestNoControllerWithoutAnAPIServer(t *testing.T) {
	c, err := NewController(Options{Config: &rest.Config{Host: "http://[::1"}, Scheme: scheme(t), Followed: &ours.Kinds{}})
	if c != nil || err == nil || !strings.Contains(err.Error(), "exceptions cannot be watched") {
		t.Errorf("%v, %v", c, err)
	}
}

// started is a cache whose watch ends with an error.
type started struct {
	*informertest.FakeInformers
	err error
}

func (s *started) Start(context.Context) error { return s.err }

// TestRunEnds ends with its context, without complaint, and at once where nothing can be
// watched.
func TestRunEnds(t *testing.T) {
	for name, c := range map[string]struct {
		// none is why nothing can be watched, ended what the watch ended with.
		none, ended error
		says        string
	}{
		"stopped":            {nil, nil, ""},
		"stopped in a hurry": {nil, context.Canceled, ""},
		"the watch broke":    {nil, errors.New("no watch"), "no watch"},
		"not to be watched":  {errors.New("no informer"), nil, "exceptions cannot be watched: no informer"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSwept(t, nil)
			w.objects = &started{&informertest.FakeInformers{Scheme: scheme(t), Error: c.none}, c.ended}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := w.Controller.Run(ctx)
			if (err == nil) != (c.says == "") || err != nil && err.Error() != c.says {
				t.Errorf("says %v", err)
			}
		})
	}
}

// TestAble is once what is watched is known.
func TestAble(t *testing.T) {
	for _, synced := range []bool{true, false} {
		w := newSwept(t, nil)
		w.objects = &informertest.FakeInformers{Scheme: scheme(t), Synced: &synced}
		if got := w.Able(t.Context()); got != synced {
			t.Errorf("able %v where that it is known is %v", got, synced)
		}
	}
}

// TestLeading sweeps, and tells of what fails while it goes on.
func TestLeading(t *testing.T) {
	away := errors.New("etcd is away")
	for name, c := range map[string]struct {
		fails bool
		// endsIn is the sweep in which the replica is stopped.
		endsIn, sweeps int
		errs           int32
	}{
		"all goes well":             {false, 2, 2, 0},
		"it fails":                  {true, 2, 2, 1},
		"it fails as it is stopped": {true, 1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var errs atomic.Int32
			w := newSwept(t, nil)
			sweeps := 0
			w.Controller.Log, w.objects, w.changed = logged(&errs), &informertest.FakeInformers{Scheme: scheme(t)}, make(chan struct{}, 1)
			w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{List: func(ctx context.Context, api client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				// Sessions are listed first, once for each sweep.
				if strings.Contains(fmt.Sprintf("%T", list), "BreakglassSessionList") {
					sweeps++
					w.Notice()
					if sweeps == c.endsIn {
						cancel()
					}
				}
				if c.fails {
					return away
				}
				return api.List(ctx, list, opts...)
			}})
			w.Lead(ctx)
			if sweeps < c.sweeps || errs.Load() != c.errs {
				t.Errorf("%d sweeps, %d errors", sweeps, errs.Load())
			}
		})
	}
}
