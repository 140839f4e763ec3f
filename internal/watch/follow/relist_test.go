package follow

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

var tooOld = apierrors.NewResourceExpired("too old").ErrStatus

// TestRelistedAtOnce lists again at once when a watch is too old, each time, and hands on
// what has changed and nothing else.
func TestRelistedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, nil)
		var added, updated, deleted atomic.Int32
		if _, err := f.cache.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { added.Add(1) }, UpdateFunc: func(any, any) { updated.Add(1) }, DeleteFunc: func(any) { deleted.Add(1) },
		}); err != nil {
			t.Fatal(err)
		}
		counted := func(when string, a, u, d int32) {
			t.Helper()
			synctest.Wait()
			if added.Load() != a || updated.Load() != u || deleted.Load() != d {
				t.Errorf("%s: %d were added, %d updated and %d deleted; want %d, %d and %d", when, added.Load(), updated.Load(), deleted.Load(), a, u, d)
			}
		}
		counted("at first", 2, 0, 0)
		expire := func(version string, objects ...corev1.ConfigMap) {
			// The pause of whoever lists otherwise would be longer each time.
			time.Sleep(2 * longestPause)
			s.set(func() { s.objects, s.version = objects, version })
			s.stream().Error(&tooOld)
		}
		expire("20", *object("a", "3"), *object("b", "4"))
		f.want(t, "nothing has changed", "", "a", "b")
		counted("nothing has changed", 2, 0, 0)
		expire("30", *object("a", "25"), *object("c", "26"))
		f.want(t, "everything has changed", "", "a", "c")
		counted("everything has changed", 3, 1, 1)
		if o, _, _ := f.cache.GetStore().GetByKey("a"); o.(*corev1.ConfigMap).ResourceVersion != "25" {
			t.Errorf("the cache has %v", o)
		}
		expire("40")
		f.want(t, "all are gone", "")
		counted("all are gone", 3, 1, 3)
		again := object("a", "45")
		again.UID = "another"
		expire("50", *again)
		f.want(t, "one was made again", "", "a")
		s.stream().Modify(object("a", "51"))
		s.stream().Delete(object("a", "52"))
		f.want(t, "the watch goes on", "")
		counted("the watch goes on", 4, 2, 4)
		s.set(func() {
			if last := s.watches[len(s.watches)-1]; last.ResourceVersion != "50" || len(s.lists) != 5 {
				t.Errorf("it was listed %d times, and watched from %s", len(s.lists), last.ResourceVersion)
			}
		})
	})
}

// TestOutagesOneAfterAnother has a kind of Kubernetes read again within the longest pause
// after each of them, however many there were: whoever watches otherwise waits for longer
// each time.
func TestOutagesOneAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, func(o *Options) { o.Kind = nil })
		for outage := range 10 {
			s.set(func() { s.fails = errors.New("connection refused") })
			s.stream().Stop()
			time.Sleep(10 * time.Second)
			name := fmt.Sprint("new-", outage)
			s.set(func() {
				s.fails, s.version = nil, fmt.Sprint(100*(outage+1))
				s.objects = []corev1.ConfigMap{*object(name, s.version)}
				s.watchFails = func(o metav1.ListOptions) error {
					if o.ResourceVersion != s.version {
						return apierrors.NewResourceExpired("too old")
					}
					return nil
				}
			})
			time.Sleep(longestPause)
			f.want(t, name, "", name)
		}
	})
}

// TestStorageThatWasPutBack lists again where the API server comes back with less than it
// had said before.
func TestStorageThatWasPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, nil)
		s.stream().Modify(object("a", "900"))
		f.want(t, "at first", "", "a", "b")
		s.set(func() {
			s.fails = errors.New("connection refused")
			s.open.Stop()
		})
		time.Sleep(time.Minute)
		s.set(func() {
			s.fails = nil
			s.objects, s.version = []corev1.ConfigMap{*object("b", "4"), *object("old", "699")}, "700"
		})
		time.Sleep(5 * time.Second)
		f.want(t, "put back", "", "b", "old")
		s.set(func() {
			if last := s.watches[len(s.watches)-1]; last.ResourceVersion != "700" {
				t.Errorf("it is watched from %s", last.ResourceVersion)
			}
		})
		s.stream().Add(object("new", "701"))
		f.want(t, "and written to", "", "b", "old", "new")
	})
}

// TestRelistedAgainAndAgain leaves it to whoever watches, who waits in between, where a
// watch is too old as soon as it begins.
func TestRelistedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, nil)
		s.set(func() { s.began = func(w *watch.FakeWatcher) { w.Error(&tooOld) } })
		s.stream().Error(&tooOld)
		time.Sleep(time.Minute)
		s.set(func() { s.began, s.objects = nil, s.objects[:1] })
		time.Sleep(time.Minute)
		f.want(t, "in the end", "", "a")
		s.set(func() {
			if n := len(s.lists); n < 3 || n > 60 {
				t.Errorf("in two minutes it was listed %d times", n)
			}
		})
	})
}

// TestRelistedWhenAKindIsMadeAgain takes what the new kind has for all that there is.
func TestRelistedWhenAKindIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, nil)
		time.Sleep(time.Minute)
		s.set(func() {
			s.kind = Definition{UID: "two"}
			s.objects, s.version = []corev1.ConfigMap{*object("new", "20")}, "21"
		})
		s.stream().Delete(object("a", "12"))
		f.want(t, "made again", "", "new")
	})
}

// TestRelistedUntilItEnds ends with its cache, whatever it waits for.
func TestRelistedUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		begin(t, s, nil)
		time.Sleep(time.Minute)
		s.set(func() { s.fails = apierrors.NewInternalError(context.DeadlineExceeded) })
		s.stream().Error(&tooOld)
		time.Sleep(time.Minute)
	})
}

// TestRelistedInPages comes to what there is, whatever changes while nothing is heard.
func TestRelistedInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPages(4)
		informer := p.cached(t)
		for round := range 200 {
			time.Sleep(2 * longestPause)
			synctest.Wait()
			heard := p.random.IntN(3) > 0
			for range p.random.IntN(8) {
				name := fmt.Sprintf("o-%d", p.random.IntN(12))
				if old := p.objects[name]; old != nil && p.random.IntN(2) == 0 {
					delete(p.objects, name)
					p.version++
					if heard {
						p.open.Delete(old.DeepCopy())
					}
					continue
				}
				p.write(name)
				if heard {
					p.open.Modify(p.objects[name].DeepCopy())
				}
			}
			if !heard {
				p.open.Error(&tooOld)
			}
			synctest.Wait()
			time.Sleep(firstPause)
			synctest.Wait()
			p.same(t, fmt.Sprint("round ", round), informer)
		}
		if p.lists < 100 {
			t.Errorf("it was listed %d times only", p.lists)
		}
	})
}
