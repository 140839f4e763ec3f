// Package inventory keeps copies of the resources that policies were granted,
// and answers reads from them. There is one watch and one copy a resource,
// however many policies hold it; it starts with the first and ends with the last.
// Which objects a read gets, and which fields of them, is decided on this side,
// on the copy, before anything is written out; what was written out is kept until
// an object changes.
//
// Managed fields and the annotation of kubectl apply are not kept.
package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/watch/follow"
)

// The defaults of Options.
const (
	DefaultMaxBytes    = 512 << 20
	DefaultMaxAnswer   = 64 << 20
	DefaultReadTimeout = 2 * time.Second
)

// Options change how an Inventory works. Zero values stand for the defaults.
type Options struct {
	// MaxBytes bounds the copies of all resources together, what was written out of
	// them included.
	MaxBytes int64
	// MaxAnswer bounds one answer, and what is read at once from the API server.
	MaxAnswer int64
	// ReadTimeout bounds one read; a context that ends earlier does so too.
	ReadTimeout time.Duration
	// Line is the way to the API server, shared with what else follows it; nil for none.
	Line  *follow.Line
	Clock clock.WithDelayedExecution
}

// Inventory answers reads of resources. Make one with New.
type Inventory struct {
	Options
	client *client
	memory *memory

	mu     sync.Mutex
	closed bool
	copies map[contextgate.Resource]*replica
}

// New makes the Inventory of the cluster that config describes. Nothing is sent
// until the first Hold or Read.
func New(config *rest.Config, options Options) (*Inventory, error) {
	if options.MaxBytes == 0 {
		options.MaxBytes = DefaultMaxBytes
	}
	if options.MaxAnswer == 0 {
		options.MaxAnswer = DefaultMaxAnswer
	}
	if options.ReadTimeout == 0 {
		options.ReadTimeout = DefaultReadTimeout
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	c, err := newClient(config)
	if err != nil {
		return nil, err
	}
	return &Inventory{
		Options: options, client: c, memory: &memory{limit: options.MaxBytes},
		copies: map[contextgate.Resource]*replica{},
	}, nil
}

// Hold keeps copies of resources from now on until release is called, which is
// done once and may be done twice. A policy holds what it was granted for as long
// as it is loaded.
func (i *Inventory) Hold(resources ...contextgate.Resource) (release func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	held := slices.Clone(resources)
	if i.closed {
		held = nil
	}
	for _, r := range held {
		if i.copies[r] == nil {
			i.copies[r] = i.start(r)
		}
		i.copies[r].holders++
	}
	var once sync.Once
	return func() { once.Do(func() { i.release(held) }) }
}

func (i *Inventory) release(resources []contextgate.Resource) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, r := range resources {
		c := i.copies[r]
		if c == nil {
			continue // after Close
		}
		if c.holders--; c.holders == 0 {
			c.stop()
			delete(i.copies, r)
		}
	}
}

// Close ends every watch and waits for it to end. Later reads are direct ones.
func (i *Inventory) Close() {
	i.mu.Lock()
	ending := slices.Collect(maps.Values(i.copies))
	i.copies, i.closed = map[contextgate.Resource]*replica{}, true
	i.mu.Unlock()
	for _, c := range ending {
		c.stop()
	}
	for _, c := range ending {
		<-c.ended
	}
}

func (i *Inventory) find(r contextgate.Resource) *replica {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.copies[r]
}

// Status is the state of one copy.
type Status struct {
	Resource contextgate.Resource
	// Holders counts what holds the copy.
	Holders int
	// Synced: the copy is whole.
	Synced  bool
	Objects int
	// Bytes is what the copy takes, with what was written out of it.
	Bytes int64
	// Heard is when the API server was last heard of; zero if never.
	Heard time.Time
	// Err is why the last attempt to read or watch failed; nil once one succeeded.
	Err error
}

// Status gives the state of all copies, in the order of their resources.
func (i *Inventory) Status() []Status {
	i.mu.Lock()
	defer i.mu.Unlock()
	var all []Status
	for _, c := range i.copies {
		all = append(all, c.status())
	}
	slices.SortFunc(all, func(a, b Status) int {
		return slices.Compare([]string{a.Resource.String(), a.Resource.Version}, []string{b.Resource.String(), b.Resource.Version})
	})
	return all
}

// Bytes is what all copies take together.
func (i *Inventory) Bytes() int64 { return i.memory.used.Load() }

// TooLarge is the error of what does not fit into a bound.
type TooLarge struct {
	// Limit is the bound in bytes.
	Limit int64
	// Copies: the bound is that of all copies together.
	Copies bool
}

// Error says which bound it was.
func (t *TooLarge) Error() string {
	if t.Copies {
		return fmt.Sprintf("the copies of resources would take more than the %d MiB that they may", t.Limit>>20)
	}
	return fmt.Sprintf("the answer is larger than the %d MiB that are read at most", t.Limit>>20)
}

// Reading says what a read got, and how old it was.
type Reading struct {
	Resource        contextgate.Resource
	Verb            string
	Namespace, Name string
	Objects         int
	At              time.Time
	// Age is how long ago the API server was last heard of when the read was
	// answered; zero for a direct read.
	Age time.Duration
	// Direct: the API server was asked.
	Direct bool
}

// Trace collects what one evaluation read.
type Trace struct {
	mu       sync.Mutex
	readings []Reading
}

// Readings are the reads so far, in their order.
func (t *Trace) Readings() []Reading {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.readings)
}

type traceKey struct{}

// WithTrace makes a context whose reads are recorded in t.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// Record records a reading in the Trace of a context, if it has one.
func Record(ctx context.Context, r Reading) {
	if t, ok := ctx.Value(traceKey{}).(*Trace); ok {
		t.mu.Lock()
		t.readings = append(t.readings, r)
		t.mu.Unlock()
	}
}
