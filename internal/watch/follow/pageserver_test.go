package follow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

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
func (p *pages) cached(t *testing.T) cache.SharedIndexInformer {
	t.Helper()
	example := &unstructured.Unstructured{}
	example.SetAPIVersion("example.com/v1")
	example.SetKind("Thing")
	informer := cache.NewSharedIndexInformer(Source(p, Options{Clock: clock.RealClock{}, Log: logr.Discard()}), example, 0, nil)
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

// firsts counts the lists that began with the first page.
func (p *pages) firsts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, o := range p.asked {
		// What is asked for one is asked for its version.
		if o.Continue == "" && o.Limit != 1 {
			n++
		}
	}
	return n
}
