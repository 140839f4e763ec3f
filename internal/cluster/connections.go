package cluster

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// dialFunc opens a connection.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// connections opens connections and knows which of them have gone silent. A
// connection whose other end vanished without a word (a node that lost its
// power, a load balancer that forgot it) would otherwise be used by one read
// after the other, each running into its time-out, until a ping of HTTP/2 fails
// 45 seconds later.
type connections struct {
	dial    dialFunc
	timeout time.Duration
	// handshake: each connection begins with one, which the other end answers at
	// once whatever is asked later.
	handshake bool
	start     time.Time

	mu   sync.Mutex
	open map[*connection]struct{}
}

// newConnections opens connections with dial, or with a dialer of its own where
// dial is nil. The transport goes on dialing after the read that asked for it
// has ended, and each read dials that finds no connection, so timeout bounds
// that too, and with it the wait for the first answer to a handshake.
func newConnections(dial dialFunc, timeout time.Duration) *connections {
	if dial == nil {
		dial = (&net.Dialer{Timeout: timeout, KeepAlive: 15 * time.Second}).DialContext
	}
	return &connections{dial: dial, timeout: timeout, start: time.Now(), open: map[*connection]struct{}{}}
}

// Dial opens a connection.
func (c *connections) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	inner, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	conn := &connection{Conn: inner, owner: c}
	if c.handshake {
		// By then the read that dialed has ended, and hears only of its time-out.
		conn.unanswered = time.AfterFunc(c.timeout+c.timeout/2, func() { _ = conn.drop() })
	}
	c.mu.Lock()
	c.open[conn] = struct{}{}
	c.mu.Unlock()
	return conn, nil
}

// CloseSilent closes every connection on which something was sent at least
// silence ago and nothing has come since. The next read dials again.
func (c *connections) CloseSilent(silence time.Duration) {
	now := c.now()
	c.closeIf(func(conn *connection) bool {
		asked := conn.asked.Load()
		return asked != 0 && now-asked >= int64(silence)
	})
}

// CloseAll closes every connection.
func (c *connections) CloseAll() {
	c.closeIf(func(*connection) bool { return true })
}

func (c *connections) closeIf(doomed func(*connection) bool) {
	var closing []*connection
	c.mu.Lock()
	for conn := range c.open {
		if doomed(conn) {
			closing = append(closing, conn)
		}
	}
	c.mu.Unlock()
	for _, conn := range closing {
		_ = conn.Close()
	}
}

// now is the time since start in nanoseconds, on the monotonic clock, and never
// zero.
func (c *connections) now() int64 { return int64(time.Since(c.start)) + 1 }

// connection is a connection that knows since when it waits for an answer.
type connection struct {
	net.Conn
	owner *connections
	// asked is when the first byte was sent after the last that came; zero while
	// nothing is waited for.
	asked atomic.Int64
	// unanswered closes a connection on which nothing ever came; nil where that
	// need not mean anything.
	unanswered *time.Timer
}

// Read reads what came, and ends the wait.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.asked.Store(0)
		c.answered()
	}
	return n, err
}

// Write sends, and starts the wait unless one runs.
func (c *connection) Write(b []byte) (int, error) {
	c.asked.CompareAndSwap(0, c.owner.now())
	return c.Conn.Write(b)
}

func (c *connection) answered() {
	if c.unanswered != nil {
		c.unanswered.Stop()
	}
}

// Close closes the connection and forgets it.
func (c *connection) Close() error {
	c.answered()
	return c.drop()
}

func (c *connection) drop() error {
	c.owner.mu.Lock()
	delete(c.owner.open, c)
	c.owner.mu.Unlock()
	return c.Conn.Close()
}
