package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

// TestLooking looks again soon after a short look, and at most two minutes after any, or
// 2 s where something has changed.
func TestLooking(t *testing.T) {
	for took, want := range map[string]struct{ rests, waits string }{
		"0s": {"0s", "0s"}, "10ms": {"4s", "40ms"}, "300ms": {"2m0s", "1.2s"}, "90s": {"2m0s", "2s"},
	} {
		ended := noon.Add(durationOf(t, took))
		rests, waits := durationOf(t, want.rests), durationOf(t, want.waits)
		p := schedule{changed: true}
		if !p.due(noon) {
			t.Error("the first look has to wait")
		}
		p.looked(noon, ended)
		if rests > 0 && p.due(ended.Add(rests-1)) || !p.due(ended.Add(rests)) {
			t.Errorf("after %s it rests until %s", took, p.rested.Sub(ended))
		}
		p.changed = true
		if got := p.wait(ended); got != waits || waits > 0 && p.due(ended.Add(waits-1)) || !p.due(ended.Add(waits)) || p.wait(ended.Add(time.Hour)) != 0 {
			t.Errorf("after %s a change waits %s, want %s", took, got, waits)
		}
		p.changed = false
		if p.failed(noon); !p.due(ended.Add(waits)) {
			t.Errorf("after %s and a fault it is not tried again", took)
		}
	}
}

// TestLooksLessOftenWhereALookTakesLong has a leader look at exceptions, which takes it
// 100 ms, and counts how often it does: sessions are looked at every 5 s all the same.
func TestLooksLessOftenWhereALookTakesLong(t *testing.T) { synctest.Test(t, looksLessOften) }

func looksLessOften(t *testing.T) {
	w := newSwept(t, nil)
	w.objects, w.changed = &informertest.FakeInformers{Scheme: scheme(t)}, notice.New()
	var sessions, exceptions atomic.Int32
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{List: func(ctx context.Context, api client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		switch kind := fmt.Sprintf("%T", list); {
		case strings.HasSuffix(kind, ".BreakglassSessionList"):
			sessions.Add(1)
		case strings.HasSuffix(kind, ".PolicyExceptionList"):
			w.clock.Step(100 * time.Millisecond)
			exceptions.Add(1)
		}
		return api.List(ctx, list, opts...)
	}})
	w.leading(t)
	looked := func(when string, atSessions, atExceptions int32) {
		t.Helper()
		synctest.Wait()
		if sessions.Load() != atSessions || exceptions.Load() != atExceptions {
			t.Errorf("%s: looked %d times at sessions and %d times at exceptions, want %d and %d", when, sessions.Load(), exceptions.Load(), atSessions, atExceptions)
		}
	}
	looked("at first", 1, 1)
	for n := range int32(8) {
		w.clock.Step(sweepEvery)
		looked("at rest", n+2, 1+n/7)
	}
	w.Notice()
	looked("after a change right behind a look", 9, 2)
	w.clock.Step(399 * time.Millisecond)
	looked("before that may be looked at", 9, 2)
	w.clock.Step(time.Millisecond)
	looked("once that may be looked at", 10, 3)
	w.clock.Step(400 * time.Millisecond)
	w.Notice()
	looked("after a change that comes by itself", 11, 4)
}

// TestLooksAgainAfterAFault looks at exceptions again at the next turn where that failed,
// and rests where only sessions could not be looked at, which is done each time.
func TestLooksAgainAfterAFault(t *testing.T) {
	for kind, want := range map[string]int32{".PolicyExceptionList": 4, ".BreakglassSessionList": 1, "": 1} {
		synctest.Test(t, func(t *testing.T) {
			w := newSwept(t, nil)
			w.objects, w.changed = &informertest.FakeInformers{Scheme: scheme(t)}, notice.New()
			var looks atomic.Int32
			w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{List: func(ctx context.Context, api client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				of := fmt.Sprintf("%T", list)
				if strings.HasSuffix(of, ".PolicyExceptionList") {
					looks.Add(1)
					w.clock.Step(100 * time.Millisecond)
				}
				if kind != "" && strings.HasSuffix(of, kind) {
					return errors.New("no answer")
				}
				return api.List(ctx, list, opts...)
			}})
			w.leading(t)
			synctest.Wait()
			for range 3 {
				w.clock.Step(sweepEvery)
				synctest.Wait()
			}
			if got := looks.Load(); got != want {
				t.Errorf("where %q cannot be listed, exceptions are looked at %d times, want %d", kind, got, want)
			}
		})
	}
}

// leading leads until the test ends.
func (w *swept) leading(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Lead(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

func durationOf(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
