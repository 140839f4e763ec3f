package e2e

import (
	"io"
	"net"
	"sync"
	"testing"
)

// relay stands between Sallyport and the API server and breaks their
// connections.
type relay struct {
	t               *testing.T
	address, target string

	mu       sync.Mutex
	listener net.Listener
	silent   bool
	links    map[*link]struct{}
	running  sync.WaitGroup
}

// newRelay starts a relay to target that ends with the test.
func newRelay(t *testing.T, target string) *relay {
	t.Helper()
	r := &relay{t: t, address: "127.0.0.1:0", target: target, links: map[*link]struct{}{}}
	r.listen()
	t.Cleanup(func() {
		r.cut()
		r.running.Wait()
	})
	return r
}

// cut closes every connection and refuses new ones.
func (r *relay) cut() {
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

// silence forwards nothing any more: connections stay, new ones are accepted, and
// what is sent on either is lost.
func (r *relay) silence() {
	r.mu.Lock()
	r.silent = true
	for l := range r.links {
		l.silence()
	}
	r.mu.Unlock()
	r.listen()
}

// restore forwards new connections. Those that were silenced stay silent, as if
// something on the way had forgotten them.
func (r *relay) restore() {
	r.mu.Lock()
	r.silent = false
	r.mu.Unlock()
	r.listen()
}

// listen takes connections unless that is done already, at the same address each
// time.
func (r *relay) listen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != nil {
		return
	}
	listener, err := net.Listen("tcp", r.address)
	if err != nil {
		r.t.Error(err)
		return
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
}

// connect forwards a connection that was accepted, unless the relay has been cut
// since. One that is silent from the start needs no other end.
func (r *relay) connect(listener net.Listener, near net.Conn) {
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
		ways.Go(func() { l.pump(far, near) })
		ways.Go(func() { l.pump(near, far) })
		ways.Wait()
		r.mu.Lock()
		delete(r.links, l)
		r.mu.Unlock()
	})
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

// pump forwards one way until the near end is closed, or the far end of a link
// that is not silent is.
func (l *link) pump(to, from net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
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
