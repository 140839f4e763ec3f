package lab

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Relay stands between two that speak over TCP, such as Sallyport and the API server, and
// breaks or slows their connections.
type Relay struct {
	target string

	mu       sync.Mutex
	address  string
	listener net.Listener
	silent   bool
	delay    time.Duration
	links    map[*link]struct{}
	running  sync.WaitGroup
}

// NewRelay starts a relay to target, HOST:PORT, until it is closed.
func NewRelay(target string) (*Relay, error) {
	r := &Relay{address: "127.0.0.1:0", target: target, links: map[*link]struct{}{}}
	return r, r.listen()
}

// Close ends every connection and the relay itself.
func (r *Relay) Close() {
	r.Cut()
	r.running.Wait()
}

// Address is where it is reached, HOST:PORT, the same throughout.
func (r *Relay) Address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.address
}

// Cut closes every connection and refuses new ones.
func (r *Relay) Cut() {
	r.mu.Lock()
	if r.listener != nil {
		_ = r.listener.Close()
		r.listener = nil
	}
	for l := range r.links {
		l.close()
	}
	r.mu.Unlock()
}

// Silence forwards nothing any more: connections stay, new ones are accepted, and
// what is sent on either is lost.
func (r *Relay) Silence() error {
	r.mu.Lock()
	r.silent = true
	for l := range r.links {
		l.silence()
	}
	r.mu.Unlock()
	return r.listen()
}

// Restore forwards new connections. Those that were silenced stay silent, as if
// something on the way had forgotten them.
func (r *Relay) Restore() error {
	r.mu.Lock()
	r.silent = false
	r.mu.Unlock()
	return r.listen()
}

// Slow has each piece of what is answered take so much longer. Zero ends that.
func (r *Relay) Slow(by time.Duration) {
	r.mu.Lock()
	r.delay = by
	r.mu.Unlock()
}

// listen takes connections unless that is done already, at the same address each
// time.
func (r *Relay) listen() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != nil {
		return nil
	}
	listener, err := net.Listen("tcp", r.address)
	if err != nil {
		return fmt.Errorf("relay to %s: %w", r.target, err)
	}
	r.address, r.listener = listener.Addr().String(), listener
	r.running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			r.connect(listener, near)
		}
	})
	return nil
}

// connect forwards a connection that was accepted, unless the relay has been cut
// since. One that is silent from the start needs no other end.
func (r *Relay) connect(listener net.Listener, near net.Conn) {
	far, err := net.Dial("tcp", r.target)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || r.listener != listener {
		_ = near.Close()
		if far != nil {
			_ = far.Close()
		}
		return
	}
	l := &link{near: near, far: far}
	r.links[l] = struct{}{}
	if r.silent {
		l.silence()
	}
	r.running.Go(func() {
		var ways sync.WaitGroup
		ways.Go(func() { l.pump(far, near, nil) })
		ways.Go(func() { l.pump(near, far, r.wait) })
		ways.Wait()
		r.mu.Lock()
		delete(r.links, l)
		r.mu.Unlock()
	})
}

// wait takes as long as answers are to take longer.
func (r *Relay) wait() {
	r.mu.Lock()
	delay := r.delay
	r.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
}

// link is a connection and its continuation.
type link struct {
	near, far net.Conn

	mu     sync.Mutex
	silent bool
}

func (l *link) silence() {
	l.mu.Lock()
	l.silent = true
	l.mu.Unlock()
}

func (l *link) close() {
	_ = l.near.Close()
	_ = l.far.Close()
}

// forward writes to one end, or loses what there is to forward.
func (l *link) forward(to io.Writer, b []byte) error {
	l.mu.Lock()
	silent := l.silent
	l.mu.Unlock()
	if silent {
		return nil
	}
	_, err := to.Write(b)
	return err
}

// pump forwards one way, after wait, until the near end is closed, or the far end of a
// link that is not silent is.
func (l *link) pump(to, from net.Conn, wait func()) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err == nil && wait != nil {
			wait()
		}
		if err == nil {
			err = l.forward(to, b[:n])
		}
		if err == nil {
			continue
		}
		l.mu.Lock()
		silent := l.silent
		l.mu.Unlock()
		if from == l.near || !silent {
			l.close()
		}
		return
	}
}
