package known

import (
	"sync"
	"sync/atomic"
	"time"
)

// Fact is a Source that is told how it stands by whatever reads it. A nil Fact can be
// told, and nobody hears of it.
type Fact struct {
	book *Book
	// bound is how long it stays known after it was last heard of; zero: for good.
	bound time.Duration
	began time.Time
	// heard is when it was last heard of, in nanoseconds since began and one more;
	// zero: never.
	heard atomic.Int64

	mu sync.Mutex
	// read says whether whoever reads it has taken it all in; nil for always.
	read func() bool
	gone time.Time
	why  string
}

// NewFact makes a Fact for a book, to which it is not added yet. It is unread, and
// once heard, known for that long; for good where bound is zero.
func NewFact(b *Book, bound time.Duration, now time.Time) *Fact {
	return &Fact{book: b, bound: bound, began: now}
}

// NewFact makes a Fact and adds it.
func (b *Book) NewFact(name string, bound time.Duration, now time.Time) *Fact {
	f := NewFact(b, bound, now)
	b.Add(name, f)
	return f
}

// Once has the fact unread until read reports true. Call it before the fact is asked
// for.
func (f *Fact) Once(read func() bool) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = read
}

// Heard says that all that was to be known of it at a time has come.
func (f *Fact) Heard(at time.Time) {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.gone, f.why = time.Time{}, ""
	f.mu.Unlock()
	f.Again(at)
}

// Again is Heard for a fact that was heard before and has not failed since.
func (f *Fact) Again(at time.Time) {
	if f == nil {
		return
	}
	f.heard.Store(max(0, int64(at.Sub(f.began))) + 1)
}

// Failed says why it cannot be read at the moment.
func (f *Fact) Failed(why string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.why = why
	f.mu.Unlock()
}

// Gone says that the API server does not have its kind any more. It is Heard again
// once it has.
func (f *Fact) Gone(at time.Time, why string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	if f.gone.IsZero() {
		f.gone = at
	}
	f.why = why
	f.mu.Unlock()
	f.book.Changed()
}

// Stand says how the fact stands.
func (f *Fact) Stand(now time.Time) Standing {
	f.mu.Lock()
	defer f.mu.Unlock()
	heard := f.heard.Load()
	last := f.began.Add(time.Duration(heard - 1))
	switch {
	case heard == 0 || f.read != nil && !f.read():
		return Standing{State: Unread, Since: f.began, Why: f.why}
	case !f.gone.IsZero():
		return Standing{State: Gone, Since: f.gone, Why: f.why}
	case f.bound == 0:
		return Standing{State: Known, Since: last}
	case now.Sub(last) >= f.bound:
		return Standing{State: Lost, Since: last, Why: f.why}
	}
	return Standing{State: Known, Since: last, Until: last.Add(f.bound), Why: f.why}
}

var _ Source = (*Fact)(nil)
