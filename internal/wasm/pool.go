package wasm

import (
	"context"
	"sync"
)

// pool hands out instances that saw no evaluation, or none that left a trace.
// There are as many slots as evaluations may run at a time. An evaluation holds
// one until its instance is ready again.
type pool struct {
	slots  chan struct{}
	make   func(context.Context) (*instance, error)
	refill bool // make the next instance before it is asked for

	mu    sync.Mutex
	ready []*instance // the last one is the next: it is still in the processor's caches

	once   sync.Once
	closed chan struct{}
}

func newPool(slots int, maker func(context.Context) (*instance, error), refill bool) *pool {
	p := &pool{slots: make(chan struct{}, slots), make: maker, refill: refill, closed: make(chan struct{})}
	for range slots {
		p.slots <- struct{}{}
	}
	return p
}

func (p *pool) push(i *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = append(p.ready, i)
}

func (p *pool) pop() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.ready) - 1
	if last < 0 {
		return nil
	}
	i := p.ready[last]
	p.ready[last] = nil
	p.ready = p.ready[:last]
	return i
}

func (p *pool) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// take returns an instance for one evaluation. It waits while all slots are
// taken, and at most as long as ctx lasts.
func (p *pool) take(ctx context.Context) (*instance, error) {
	if p.isClosed() {
		return nil, ErrClosed
	}
	select {
	case <-p.slots:
	case <-p.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if i := p.pop(); i != nil {
		return i, nil
	}
	i, err := p.make(ctx)
	if err != nil {
		p.slots <- struct{}{}
		return nil, err
	}
	return i, nil
}

// smallMemory is what is put back before the caller has its answer: it takes
// less time than waking another thread.
const smallMemory = 512 << 10

// give takes an instance back after an evaluation. Putting a large one back to
// where it began, or making a new one, is for no caller to wait for.
func (p *pool) give(i *instance, healthy bool) {
	if healthy && i.snapshot != nil && len(i.snapshot.memory) <= smallMemory && !p.isClosed() && i.reset() {
		p.push(i)
		p.slots <- struct{}{}
		return
	}
	go p.recycle(i, healthy)
}

func (p *pool) recycle(i *instance, healthy bool) {
	defer func() { p.slots <- struct{}{} }()
	if p.isClosed() {
		i.close()
		return
	}
	if healthy && i.reset() {
		p.push(i)
		return
	}
	limit := i.owner.engine.limits.Deadline
	i.close()
	if !p.refill {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	// If it fails, whoever takes the slot tries again, and hears of the error.
	if next, err := p.make(ctx); err == nil {
		p.push(next)
	}
}

// close waits for all slots to come back and closes the instances.
func (p *pool) close() {
	p.once.Do(func() {
		close(p.closed)
		for range cap(p.slots) {
			<-p.slots
		}
		for i := p.pop(); i != nil; i = p.pop() {
			i.close()
		}
	})
}
