package follow

import "sync"

// Line is the way to one API server, which many sources share. Where one of them is
// answered again, the others that wait try again at once: each would wait for up to 2 s
// by itself, and the last of them is what decisions wait for. The zero value, and nil,
// is a line that no other source is on.
type Line struct {
	mu       sync.Mutex
	answered chan struct{}
}

// again is closed when a source of the line is answered again.
func (l *Line) again() <-chan struct{} {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answered == nil {
		l.answered = make(chan struct{})
	}
	return l.answered
}

// tell tells those that wait that a source is answered again.
func (l *Line) tell() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answered != nil {
		close(l.answered)
		l.answered = nil
	}
}
