// Package notice tells a loop that something has changed.
package notice

// Notice holds at most one notice: however many are given before it is taken, one
// look at everything follows. A loop takes it by receiving.
type Notice chan struct{}

// New makes a Notice that was not given.
func New() Notice { return make(Notice, 1) }

// Give gives the notice, and never waits.
func (n Notice) Give() {
	select {
	case n <- struct{}{}:
	default:
	}
}
