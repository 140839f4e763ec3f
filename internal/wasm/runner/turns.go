package runner

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"k8s.io/utils/clock"
)

// turns bounds how many evaluations the policies of one namespace have at the same
// time, fewer than a module has instances and the server has processors to spare:
// whoever may write such a policy must not keep those of others from being asked.
type turns struct {
	mu   sync.Mutex
	each map[string]chan struct{}
}

// turnsEach is how many evaluations of one namespace run at the same time.
func turnsEach() int { return max(2, runtime.GOMAXPROCS(0)/2) }

// take waits for a turn of the policy, at most as long as an evaluation of it may
// take. done gives it back.
func (t *turns) take(ctx context.Context, clock clock.Clock, p *Policy) (done func(), err error) {
	if p.Namespace == "" {
		return func() {}, nil
	}
	t.mu.Lock()
	places := t.each[p.Namespace]
	if places == nil {
		places = make(chan struct{}, turnsEach())
		if t.each == nil {
			t.each = map[string]chan struct{}{}
		}
		t.each[p.Namespace] = places
	}
	t.mu.Unlock()
	done = func() { <-places }
	select {
	case places <- struct{}{}:
		return done, nil
	default:
	}
	select {
	case places <- struct{}{}:
		return done, nil
	case <-ctx.Done():
	case <-clock.After(p.Timeout):
	}
	return nil, fmt.Errorf("the module was not asked: the policies of the namespace %s are busy with other requests, of which they judge %d at a time", p.Namespace, cap(places))
}
