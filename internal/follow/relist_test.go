package follow

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

func relisting(o *Options) { o.Relist = true }

var tooOld = apierrors.NewResourceExpired("too old").ErrStatus

// TestRelistedAtOnce lists again at once when a watch is too old, each time, and hands on
// what has changed and nothing else.
func TestRelistedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, relisting)
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

// TestStorageThatWasPutBack lists again where the API server comes back with less than it
// had said before.
func TestStorageThatWasPutBack(t *testing.T) {
	for _, relist := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := two()
			f := begin(t, s, func(o *Options) { o.Relist = relist })
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
}

// TestRelistedAgainAndAgain leaves it to whoever watches, who waits in between, where a
// watch is too old as soon as it begins.
func TestRelistedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, relisting)
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
		f := begin(t, s, relisting)
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
		begin(t, s, relisting)
		time.Sleep(time.Minute)
		s.set(func() { s.fails = apierrors.NewInternalError(context.DeadlineExceeded) })
		s.stream().Error(&tooOld)
		time.Sleep(time.Minute)
	})
}

// pages is an API server whose lists come in pages, where a limit is given, some of which
// are too old.
type pages struct {
	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured
	version int
	random  *rand.Rand
	open    *watch.FakeWatcher
	lists   int
	// One page of old is too old.
	old int
	// never is set where everything is never given at once.
	never bool
	// parts is set where a part is given for everything.
	parts bool
	// refuses is asked for the error of a page that is not the first.
	refuses func() error
	// asked are the options of all lists.
	asked []metav1.ListOptions
}

func (p *pages) write(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version++
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing"}}
	o.SetNamespace("n")
	o.SetName(name)
	o.SetResourceVersion(strconv.Itoa(p.version))
	p.objects[name] = o
}

func (p *pages) List(metav1.ListOptions) (runtime.Object, error) { panic("not asked") }

func (p *pages) Watch(metav1.ListOptions) (watch.Interface, error) { panic("not asked") }

func (p *pages) ListWithContext(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists++
	p.asked = append(p.asked, o)
	if o.Continue != "" && p.refuses != nil {
		if err := p.refuses(); err != nil {
			return nil, err
		}
	}
	if o.Limit == 0 && p.never {
		p.old = 1 << 30
		return nil, apierrors.NewTimeoutError("it is too much", 1)
	}
	names := make([]string, 0, len(p.objects))
	for name := range p.objects {
		names = append(names, name)
	}
	slices.Sort(names)
	if o.Continue != "" {
		if p.random.IntN(p.old) == 0 {
			return nil, apierrors.NewResourceExpired("the page is too old")
		}
		at, _ := slices.BinarySearch(names, o.Continue)
		names = names[at:]
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "ThingList"}}
	list.SetResourceVersion(strconv.Itoa(p.version))
	for i, name := range names {
		if i == 3 && (o.Limit > 0 || p.parts) {
			list.SetContinue(name)
			break
		}
		list.Items = append(list.Items, *p.objects[name].DeepCopy())
	}
	return list, nil
}

func (p *pages) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = watch.NewFakeWithChanSize(4096, false)
	return p.open, nil
}

func (p *pages) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func newPages(old int) *pages {
	return &pages{objects: map[string]*unstructured.Unstructured{}, random: rand.New(rand.NewPCG(3, 9)), old: old}
}

// ten writes ten objects.
func (p *pages) ten() *pages {
	for n := range 10 {
		p.write(fmt.Sprint("o-", n))
	}
	return p
}

// cached is a cache of what there is, until the test ends.
func (p *pages) cached(t *testing.T, relist bool) cache.SharedIndexInformer {
	t.Helper()
	example := &unstructured.Unstructured{}
	example.SetAPIVersion("example.com/v1")
	example.SetKind("Thing")
	informer := cache.NewSharedIndexInformer(Source(p, Options{Relist: relist, Clock: clock.RealClock{}, Log: logr.Discard()}), example, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	synctest.Wait()
	return informer
}

// same holds a cache to what there is.
func (p *pages) same(t *testing.T, when string, informer cache.SharedIndexInformer) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := informer.GetStore().ListKeys(); len(got) != len(p.objects) {
		t.Fatalf("%s: the cache has %v, there are %d", when, got, len(p.objects))
	}
	for name, o := range p.objects {
		held, there, _ := informer.GetStore().GetByKey("n/" + name)
		if !there || held.(*unstructured.Unstructured).GetResourceVersion() != o.GetResourceVersion() {
			t.Fatalf("%s: the cache has %v, there is %v", when, held, o)
		}
	}
}

// TestPagesThatAreTooOld: where each page but the first is too old, everything is taken
// at once, and never the first page for everything.
func TestPagesThatAreTooOld(t *testing.T) {
	for _, relist := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPages(1).ten()
			informer := p.cached(t, relist)
			p.same(t, "at first", informer)
			time.Sleep(time.Minute)
			synctest.Wait()
			p.write("o-5")
			p.open.Error(&tooOld)
			time.Sleep(time.Minute)
			synctest.Wait()
			p.same(t, "listed again", informer)
			if p.lists > 10 {
				t.Errorf("it was listed %d times", p.lists)
			}
			before := 0
			p.set(func() { p.old, before = 1<<30, p.lists })
			p.open.Error(&tooOld)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if p.same(t, "in pages again", informer); p.lists != before+4 {
				t.Errorf("4 pages were read in %d lists", p.lists-before)
			}
		})
	}
}

// TestEverythingAtOnceIsTooMuch goes back to pages where everything at once is not given.
func TestEverythingAtOnceIsTooMuch(t *testing.T) {
	for _, relist := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPages(1).ten()
			p.never = true
			informer := p.cached(t, relist)
			time.Sleep(time.Minute)
			synctest.Wait()
			p.same(t, "at first", informer)
			p.set(func() { p.old = 1 })
			p.write("o-5")
			p.open.Error(&tooOld)
			time.Sleep(time.Minute)
			synctest.Wait()
			if p.same(t, "listed again", informer); p.lists > 30 {
				t.Errorf("it was listed %d times", p.lists)
			}
		})
	}
}

// TestAPartForEverything takes no part that is given for everything.
func TestAPartForEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPages(1).ten()
		p.parts = true
		informer := p.cached(t, true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := informer.GetStore().ListKeys(); len(got) > 0 {
			t.Errorf("the cache has %v", got)
		}
		p.set(func() { p.old = 1 << 30 })
		time.Sleep(time.Minute)
		synctest.Wait()
		p.same(t, "in pages", informer)
	})
}

// TestNoWatchOfAPart: what was not listed to its end is not watched on.
func TestNoWatchOfAPart(t *testing.T) {
	p := newPages(1).ten()
	s := Source(p, Options{Clock: clock.RealClock{}, Log: logr.Discard()}).(cache.ListerWatcherWithContext)
	if _, err := s.ListWithContext(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WatchWithContext(t.Context(), metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("the watch of a part: %v", err)
	}
}

// TestRelistedInPages comes to what there is, whatever changes while nothing is heard.
func TestRelistedInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPages(4)
		informer := p.cached(t, true)
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
