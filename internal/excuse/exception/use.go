package exception

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Use counts how often an exception excused a request, since it was last drained
// into the object's status.
type Use struct {
	ledger *Ledger
	count  atomic.Int64
	last   atomic.Int64
}

func (u *Use) add(now time.Time) {
	u.counted(1)
	stamp := now.UnixNano()
	for {
		last := u.last.Load()
		if last >= stamp || u.last.CompareAndSwap(last, stamp) {
			return
		}
	}
}

// counted adds to the count, and then says so: who looks in between looks again.
func (u *Use) counted(n int64) {
	u.count.Add(n)
	if !u.ledger.used.Load() {
		u.ledger.used.Store(true)
	}
}

// Ledger keeps the uses of exceptions over the changes of the set. The nil
// Ledger keeps none. It is safe for concurrent use.
type Ledger struct {
	mu   sync.Mutex
	uses map[types.UID]*Use
	// used is set where something was counted since it was last asked.
	used atomic.Bool
}

// NewLedger makes an empty Ledger.
func NewLedger() *Ledger { return &Ledger{uses: map[types.UID]*Use{}} }

func (l *Ledger) use(uid types.UID) *Use {
	if l == nil || uid == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.uses[uid]
	if u == nil {
		u = &Use{ledger: l}
		l.uses[uid] = u
	}
	return u
}

// Used reports whether something was counted since it was last asked: where nothing was,
// there is nothing to be drained.
func (l *Ledger) Used() bool { return l != nil && l.used.Swap(false) }

// Drain takes what was counted for an object since the last time: how often, and
// when last. A count of zero means not at all.
func (l *Ledger) Drain(uid types.UID) (count int64, last time.Time) {
	if l == nil {
		return 0, time.Time{}
	}
	l.mu.Lock()
	u := l.uses[uid]
	l.mu.Unlock()
	if u == nil {
		return 0, time.Time{}
	}
	if count = u.count.Swap(0); count == 0 {
		return 0, time.Time{}
	}
	return count, time.Unix(0, u.last.Load())
}

// Restore gives back what was drained and could not be written.
func (l *Ledger) Restore(uid types.UID, count int64) {
	if u := l.use(uid); u != nil {
		u.counted(count)
	}
}
