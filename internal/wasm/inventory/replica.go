package inventory

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/watch/follow"
)

// memory counts what all copies take.
type memory struct {
	limit int64
	used  atomic.Int64
}

// take adds n bytes, which may be below zero, and reports whether they fit.
func (m *memory) take(n int64) bool { return m.used.Add(n) <= m.limit || n <= 0 }

// replica is the copy of one resource.
type replica struct {
	resource contextgate.Resource
	memory   *memory
	clock    clock.PassiveClock
	cancel   context.CancelCauseFunc
	ended    chan struct{}
	// holders is guarded by the Inventory.
	holders int
	heard   atomic.Int64
	// synced is closed once the copy is whole.
	synced     chan struct{}
	syncedOnce sync.Once

	mu      sync.RWMutex
	objects map[string]*object
	bytes   int64
	// order are the keys of the objects, sorted; nil where it is not known.
	order []string
	// generation counts changes, and uses the answers that were asked for.
	generation, uses uint64
	written          map[string]*written
	err              error
	// full: the copy did not fit and was given up.
	full bool
}

// errNoHolder is why a watch ends that nobody needs any more.
var errNoHolder = errors.New("no policy holds the resource any more")

// start starts the watch of a resource.
func (i *Inventory) start(r contextgate.Resource) *replica {
	ctx, cancel := context.WithCancelCause(klog.NewContext(context.Background(), logr.Discard()))
	c := &replica{
		resource: r, memory: i.memory, clock: i.Clock, cancel: cancel, ended: make(chan struct{}),
		synced: make(chan struct{}), objects: map[string]*object{}, written: map[string]*written{},
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			page, err := i.client.page(ctx, r, "", &options, i.MaxAnswer)
			c.hear(err)
			if err != nil {
				return nil, err
			}
			return page, nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := i.client.watch(ctx, r, &options, c.hear)
			if err != nil {
				c.hear(err)
			}
			return w, err
		},
	}
	followed := follow.Options{Line: i.Line, Clock: i.Clock, Log: logr.Discard()}
	reflector := cache.NewReflectorWithOptions(follow.Source(source, followed), nil, c, cache.ReflectorOptions{Name: r.String(), TypeDescription: r.String()})
	go func() {
		defer close(c.ended)
		reflector.RunWithContext(ctx)
		c.clear()
	}()
	return c
}

func (c *replica) stop() { c.cancel(errNoHolder) }

// hear notes that the API server was heard of, or why it was not.
func (c *replica) hear(err error) {
	if err == nil {
		c.heard.Store(c.clock.Now().UnixNano())
	}
	if errors.Is(err, context.Canceled) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.full {
		c.err = err
	}
}

func (c *replica) age() time.Duration {
	return max(0, c.clock.Now().Sub(time.Unix(0, c.heard.Load())))
}

// clear gives the memory back.
func (c *replica) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory.take(-c.bytes)
	c.order = nil
	c.bytes, c.objects, c.written = 0, map[string]*object{}, map[string]*written{}
	c.generation++
}

// grow counts n more bytes. If they do not fit, the copy is given up: part of a
// resource would be judged as if it were all of it.
func (c *replica) grow(n int64) {
	c.bytes += n
	if c.memory.take(n) || c.full {
		return
	}
	c.full, c.err = true, &TooLarge{Limit: c.memory.limit, Copies: true}
	c.cancel(c.err)
}

// The methods by which client-go fills a store follow.

// Add takes an object.
func (c *replica) Add(o any) error { return c.Update(o) }

// Update takes an object that changed.
func (c *replica) Update(o any) error {
	changed, ok := o.(*object)
	if !ok {
		return errors.New("something that is not an object came from a watch")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(changed)
	c.generation++
	return nil
}

func (c *replica) set(o *object) {
	grown := o.size()
	if old := c.objects[o.key()]; old != nil {
		grown -= old.size()
	} else {
		c.order = nil
	}
	c.objects[o.key()] = o
	c.grow(grown)
}

// Delete drops an object.
func (c *replica) Delete(o any) error {
	gone, ok := o.(*object)
	if !ok {
		return errors.New("something that is not an object came from a watch")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.objects[gone.key()]; old != nil {
		delete(c.objects, gone.key())
		c.order = nil
		c.grow(-old.size())
		c.generation++
	}
	return nil
}

// Replace takes all objects there are.
func (c *replica) Replace(all []any, _ string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := make(map[string]bool, len(all))
	for _, o := range all {
		o, ok := o.(*object)
		if !ok {
			return errors.New("something that is not an object came from a list")
		}
		keep[o.key()] = true
		// What did not change stays, and with it what was written out of it.
		if old := c.objects[o.key()]; old == nil || old.meta.ResourceVersion != o.meta.ResourceVersion || o.meta.ResourceVersion == "" {
			c.set(o)
		}
	}
	for key, old := range c.objects {
		if !keep[key] {
			delete(c.objects, key)
			c.order = nil
			c.grow(-old.size())
		}
	}
	c.generation++
	if !c.full {
		c.syncedOnce.Do(func() { close(c.synced) })
	}
	return nil
}

// Resync has nothing to do.
func (c *replica) Resync() error { return nil }

func (c *replica) status() Status {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := Status{Resource: c.resource, Holders: c.holders, Objects: len(c.objects), Bytes: c.bytes, Err: c.err}
	select {
	case <-c.synced:
		s.Synced = !c.full
	default:
	}
	if heard := c.heard.Load(); heard != 0 {
		s.Heard = time.Unix(0, heard)
	}
	return s
}
