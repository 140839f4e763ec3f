// Package known is the one place that says whether Sallyport knows all that it must
// before it judges a request, and if not, what is missing and since when. It knows
// nothing of how facts come to be known: whatever reads them says how they stand.
package known

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// State is how a fact stands.
type State int

// The states of a fact.
const (
	// Unread: it was never read since this process began.
	Unread State = iota
	// Known: it was read, and what changes is heard of.
	Known
	// Lost: it was read once, and what has changed since then is not known.
	Lost
	// Gone: it was read once, and the API server does not have its kind any more.
	Gone
)

// String is the state as a metric or a log has it.
func (s State) String() string {
	switch s {
	case Known:
		return "known"
	case Lost:
		return "lost"
	case Gone:
		return "gone"
	}
	return "unread"
}

// Standing is how a fact stands at a time.
type Standing struct {
	State State
	// Since is when it came to be so.
	Since time.Time
	// Until is when a fact that is known is lost, unless more is heard of it; zero:
	// it stays known until it says otherwise.
	Until time.Time
	// Why it is not known, in words; empty where nothing more can be said.
	Why string
}

// Source says how a fact stands. It is asked often while anything is not known, and
// so must answer at once.
type Source interface {
	Stand(now time.Time) Standing
}

// Func is a Source that is a function.
type Func func(now time.Time) Standing

// Stand calls f.
func (f Func) Stand(now time.Time) Standing { return f(now) }

// Named is a fact with its name.
type Named struct {
	Name string
	Standing
}

// Book has the facts that have to be known before something is judged. A nil Book
// has none, and so nothing is missing in it. It is safe for concurrent use.
type Book struct {
	// until is up to when everything is known, in nanoseconds since began; zero
	// while that has to be looked up.
	until atomic.Int64
	began time.Time

	mu    sync.Mutex
	facts []fact
}

type fact struct {
	name   string
	source Source
}

// NewBook makes a Book without facts.
func NewBook(now time.Time) *Book { return &Book{began: now} }

// Add has a fact looked at too, from now on. A fact that was added under the same
// name is looked at no longer.
func (b *Book) Add(name string, source Source) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts = slices.DeleteFunc(b.facts, func(f fact) bool { return f.name == name })
	b.facts = append(b.facts, fact{name, source})
	b.until.Store(0)
}

// Changed has every fact looked at again. It is called after a fact has come to be
// less known than its last Standing said.
func (b *Book) Changed() {
	// Under the lock, so that a look which began before is not what is kept.
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until.Store(0)
}

// Missing gives what is not known; nil where everything is. While everything is, it
// costs one atomic load.
func (b *Book) Missing(now time.Time) *Missing {
	if b == nil || int64(now.Sub(b.began)) < b.until.Load() {
		return nil
	}
	return b.check(now)
}

// check asks every fact.
func (b *Book) check(now time.Time) *Missing {
	b.mu.Lock()
	defer b.mu.Unlock()
	var missing Missing
	until := int64(math.MaxInt64)
	for _, f := range b.facts {
		s := f.source.Stand(now)
		if s.State != Known || !s.Until.IsZero() && !now.Before(s.Until) {
			missing.Facts = append(missing.Facts, Named{f.name, s})
		} else if !s.Until.IsZero() {
			until = min(until, int64(s.Until.Sub(b.began)))
		}
	}
	if len(missing.Facts) == 0 {
		b.until.Store(until)
		return nil
	}
	b.until.Store(0)
	return &missing
}

// All lists every fact, in the order in which they were added.
func (b *Book) All(now time.Time) []Named {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]Named, len(b.facts))
	for i, f := range b.facts {
		all[i] = Named{f.name, f.source.Stand(now)}
	}
	return all
}
