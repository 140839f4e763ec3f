package contexthost

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

// keeper holds the copies of what the policies in force were granted: those of
// all owners together, whatever runs them.
type keeper struct {
	host   *Host
	mapper *mapper
	// changed holds at most one notice.
	changed notice.Notice

	mu sync.Mutex
	// owners has the policies of each owner.
	owners map[string][]*contextgate.Policy
	// held are the resources that are held, and troubles what cannot be, by policy.
	held     []contextgate.Resource
	release  func()
	troubles map[string][]string
	// states is what the copies were like when last looked at.
	states  string
	onState func()
}

func newKeeper(h *Host) *keeper {
	return &keeper{host: h, changed: notice.New(), owners: map[string][]*contextgate.Policy{}, release: func() {}}
}

// Keep says which policies an owner has in force from now on, such as the rules of
// a policy.Set. Copies of what they were granted are held, and those that none of
// any owner's lists any more are ended. It returns at once; Run does the work.
func (h *Host) Keep(owner string, policies []*contextgate.Policy) {
	k := h.keeper
	k.mu.Lock()
	k.owners[owner] = slices.Clone(policies)
	k.mu.Unlock()
	k.changed.Give()
}

// OnState has f called when a copy got ready or ran into trouble, and when
// something was refused. It must be called before Run, and f must return soon.
func (h *Host) OnState(f func()) { h.keeper.onState = f }

// Times of the keeper.
const (
	lookEvery = time.Second
	// retryEvery is how often grants are looked up that named nothing: the
	// definition of a custom resource may come later than the policy.
	retryEvery = 10 * time.Second
	// lookUpTimeout bounds one round of looking up.
	lookUpTimeout = 15 * time.Second
)

// run reconciles until ctx ends, and then holds nothing.
func (k *keeper) run(ctx context.Context) {
	if k.host.Objects == nil {
		<-ctx.Done()
		return
	}
	ticker := k.host.clock.NewTicker(lookEvery)
	defer ticker.Stop()
	looked := k.host.clock.Now()
	for {
		select {
		case <-ctx.Done():
			k.release()
			return
		case <-k.changed:
			k.reconcile(ctx)
			looked = k.host.clock.Now()
		case <-ticker.C():
			if k.inTrouble() && k.host.clock.Since(looked) >= retryEvery {
				k.mapper.refresh()
				k.reconcile(ctx)
				looked = k.host.clock.Now()
			}
		}
		k.notice()
	}
}

func (k *keeper) inTrouble() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.troubles) > 0
}

// reconcile holds what is granted now, before it lets go of what was.
func (k *keeper) reconcile(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	k.mu.Lock()
	var policies []*contextgate.Policy
	for _, of := range k.owners {
		policies = append(policies, of...)
	}
	k.mu.Unlock()
	var wanted []contextgate.Resource
	troubles, unsure := map[string][]string{}, false
	for _, p := range policies {
		resources, errs := p.Resources(ctx, k.host.Gate.Mapper)
		for _, r := range resources {
			if !slices.Contains(wanted, r) {
				wanted = append(wanted, r)
			}
		}
		for _, err := range errs {
			troubles[p.String()] = append(troubles[p.String()], err.Error())
			unsure = unsure || !errors.As(err, new(*contextgate.Unserved))
		}
	}
	// While nobody knows what the API server serves, nothing that was held is let go.
	for _, r := range k.held {
		if unsure && !slices.Contains(wanted, r) {
			wanted = append(wanted, r)
		}
	}
	release := k.host.Objects.Hold(wanted...)
	k.release()
	k.host.trees.clear()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held, k.release, k.troubles = wanted, release, troubles
}

// notice tells of a change of what the copies are like.
func (k *keeper) notice() {
	var now strings.Builder
	for _, s := range k.host.Objects.Status() {
		now.WriteString(s.Resource.String() + " " + s.Resource.Version)
		if s.Synced {
			now.WriteString(" synced")
		}
		if s.Err != nil {
			now.WriteString(" " + s.Err.Error())
		}
		now.WriteByte('\n')
	}
	k.mu.Lock()
	for _, policy := range slices.Sorted(maps.Keys(k.troubles)) {
		now.WriteString(policy + " " + strings.Join(k.troubles[policy], "; ") + "\n")
	}
	for _, d := range k.host.ledger.all("") {
		now.WriteString(d.Policy + " " + d.Resource + " " + d.Last.Truncate(statusEvery).String() + "\n")
	}
	changed := now.String() != k.states
	k.states = now.String()
	k.mu.Unlock()
	if changed && k.onState != nil {
		k.onState()
	}
}

// statusEvery is how exactly the condition ContextDenied says when the last
// refusal was: each change of it is a write to the API server.
const statusEvery = time.Minute
