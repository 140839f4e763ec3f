package policies

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// InertEvery is how often the Inert looks whether something has changed that policies
// can come to nothing by.
const InertEvery = 5 * time.Second

// Inert knows of which policies nothing comes, as things are in the cluster: by
// exceptions, and by the namespaces that there are. Every replica looks, so that one that
// comes to lead says what was said before it.
type Inert struct {
	// Set is the set in force; nothing is looked at before Read.
	Set  func() *policy.Set
	Read func() bool
	// Namespaces are those that there are; false where that is not known.
	Namespaces func() ([]*corev1.Namespace, bool)
	// Unguarded are the names of those about which the front door is not asked; nil for
	// none.
	Unguarded func() []string
	// Changed is told of which policies something else is found.
	Changed func([]stored.Ref)
	Clock   clock.WithTicker

	found atomic.Pointer[map[stored.Ref]stored.Problems]

	mu sync.Mutex
	// last is what was looked at last, and next when that is to be looked at again.
	last snapshot
	next time.Time
}

// snapshot is what policies can come to nothing by.
type snapshot struct {
	set        *policy.Set
	namespaces map[string]*corev1.Namespace
	unguarded  []string
}

// Of says why nothing comes of a policy, or of some of its rules; nil for nothing.
func (i *Inert) Of(ref stored.Ref) stored.Problems {
	if i.found.Load() == nil {
		i.refresh()
	}
	if found := i.found.Load(); found != nil {
		return (*found)[ref]
	}
	return nil
}

// Ready is always nil: no decision waits for it.
func (i *Inert) Ready() error { return nil }

// Run looks until ctx ends.
func (i *Inert) Run(ctx context.Context) error {
	ticker := i.Clock.NewTicker(InertEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			if changed := i.refresh(); len(changed) > 0 {
				i.Changed(changed)
			}
		}
	}
}

// refresh finds out what is inert, if something has changed since the last time, and
// returns of which policies that is something else.
func (i *Inert) refresh() []stored.Ref {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.Read() {
		return nil
	}
	now := i.Clock.Now()
	in := policy.Surroundings{Now: now}
	seen := snapshot{set: i.Set()}
	if i.Unguarded != nil {
		in.Unguarded = i.Unguarded()
		seen.unguarded = in.Unguarded
	}
	if list, known := i.Namespaces(); known {
		seen.namespaces = make(map[string]*corev1.Namespace, len(list))
		for _, n := range list {
			seen.namespaces[n.Name] = n
		}
		in.Namespaces = list
	}
	if seen.set == i.last.set && maps.Equal(seen.namespaces, i.last.namespaces) && slices.Equal(seen.unguarded, i.last.unguarded) && (i.next.IsZero() || now.Before(i.next)) {
		return nil
	}
	found, next := seen.set.Inert(&in)
	i.last, i.next = seen, next
	before := i.found.Swap(&found)
	if before == nil {
		before = &map[stored.Ref]stored.Problems{}
	}
	return differing(*before, found)
}

// differing are the policies of which two maps have something else.
func differing(before, after map[stored.Ref]stored.Problems) []stored.Ref {
	var refs []stored.Ref
	for ref, problems := range after {
		if !reflect.DeepEqual(problems, before[ref]) {
			refs = append(refs, ref)
		}
	}
	for ref := range before {
		if _, still := after[ref]; !still {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, stored.Ref.Compare)
	return refs
}
