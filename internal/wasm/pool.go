package wasm

import (
	"context"
	"sync"
)

// pool hands out instances that saw no evaluation, or none that left a trace.
// There are as many slots as evaluations may run at a time; each is in one of
// the two channels or is held by an evaluation.
type pool struct {
	ready  chan *instance
	empty  chan struct{}
	make   func(context.Context) (*instance, error)
	refill bool // make the next instance before it is asked for

	once   sync.Once
	closed chan struct{}
}

func newPool(slots int, maker func(context.Context) (*instance, error), refill bool) *pool {
	p := &pool{
		ready: make(chan *instance, slots), empty: make(chan struct{}, slots),
		make: maker, refill: refill, closed: make(chan struct{}),
	}
	for range slots {
		p.empty <- struct{}{}
	}
	return p
}

// add puts an instance into a slot that is empty. It is for a pool that nobody
// uses yet.
func (p *pool) add(i *instance) {
	<-p.empty
	p.ready <- i
}

// take returns an instance for one evaluation. It waits while all slots are
// taken, and at most as long as ctx lasts.
func (p *pool) take(ctx context.Context) (*instance, error) {
	select {
	case <-p.closed:
		return nil, ErrClosed
	default:
	}
	select {
	case i := <-p.ready:
		return i, nil
	default:
	}
	select {
	case i := <-p.ready:
		return i, nil
	case <-p.empty:
		i, err := p.make(ctx)
		if err != nil {
			p.empty <- struct{}{}
			return nil, err
		}
		return i, nil
	case <-p.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// give takes an instance back after an evaluation. It returns at once: putting
// the instance back to where it began, or making a new one, is for no caller to
// wait for.
func (p *pool) give(i *instance, healthy bool) { go p.recycle(i, healthy) }

func (p *pool) recycle(i *instance, healthy bool) {
	select {
	case <-p.closed:
		i.close()
		p.empty <- struct{}{}
		return
	default:
	}
	if healthy && i.reset() {
		p.ready <- i
		return
	}
	limit := i.owner.engine.limits.Deadline
	i.close()
	if p.refill {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if next, err := p.make(ctx); err == nil {
			p.ready <- next
			return
		}
	}
	// Whoever takes the slot tries again, and hears of the error.
	p.empty <- struct{}{}
}

// close waits for all slots to come back and closes their instances.
func (p *pool) close() {
	p.once.Do(func() {
		close(p.closed)
		for range cap(p.empty) {
			select {
			case i := <-p.ready:
				i.close()
			case <-p.empty:
			}
		}
	})
}
