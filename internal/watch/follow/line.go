package follow

import (
	"sync"
	"time"
)

// Line is the way to one API server, which many sources share. Where one of them is
// answered again, the others that wait try again at once: each would wait for up to 2 s
// by itself, and the last of them is what decisions wait for. The zero value is a line
// that no other source is on.
type Line struct {
	mu       sync.Mutex
	answered chan struct{}
	// back is when the API server answered again after it was away.
	back time.Time
}

// An API server that has just come back begins to serve one kind after the other, and
// says of the others that they are not ready: for as long as settling each is tried again
// at least every soon, so that nothing that changes waits for a pause.
const (
	settling = 5 * time.Second
	soon     = 2 * firstPause
)

// again is closed when a source of the line is answered again.
func (l *Line) again() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answered == nil {
		l.answered = make(chan struct{})
	}
	return l.answered
}

// report tells those that wait that a source is answered again. While the API server
// settles they know.
func (l *Line) report(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.settlesLocked(now) {
		return
	}
	l.back = now
	if l.answered != nil {
		close(l.answered)
		l.answered = nil
	}
}

// settles reports whether the API server has just come back.
func (l *Line) settles(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settlesLocked(now)
}

func (l *Line) settlesLocked(now time.Time) bool {
	return !l.back.IsZero() && now.Sub(l.back) < settling
}
