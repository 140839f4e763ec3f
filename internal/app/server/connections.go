package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// ageSpread is the part of the longest age by which that of a connection is longer or
// shorter, so that those which began together do not end together.
const ageSpread = 0.1

// noDoor is the label of connections that no review came by yet.
const noDoor = request.Door("none")

// byStrangers is the label of connections by which a caller without credentials asks.
const byStrangers = request.Door("unauthenticated")

// doorOf is the label of connections of a caller at a door.
func doorOf(at request.Door, by *caller) request.Door {
	if by.unauthenticated {
		return byStrangers
	}
	return at
}

// connections are those that are open. A client that has one goes on using it, whichever
// other replicas there are meanwhile, so each ends after some time. It ends with an
// answer that says so, and never between two: whoever sends a review at the moment in
// which its connection is closed gets no answer, and sends a POST by no other.
type connections struct {
	maxAge time.Duration
	random func() float64
	now    func() time.Time
	// last is set once no answer may leave its connection open.
	last atomic.Bool
	// rest is how long is waited for what is left of a body once its answer was sent.
	rest    time.Duration
	running underway
	count   *prometheus.GaugeVec

	mu   sync.Mutex
	open map[net.Conn]*connection
}

// connection is one of them.
type connection struct {
	// until is from when on an answer ends it; zero for never.
	until time.Time
	// door is the one that its last review came to, guarded by connections.mu.
	door request.Door
}

// connectionKey is where the context of a request has its connection.
type connectionKey struct{}

func newConnections(o *Options) *connections {
	c := &connections{
		maxAge: o.ConnectionMaxAge, rest: restTimeout, random: o.Random, now: o.Now, open: map[net.Conn]*connection{},
		count: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sallyport_connections", Help: "Open connections, by the door that the last review on each came to.",
		}, []string{"door"}),
	}
	for _, door := range []request.Door{request.Admission, request.Access, noDoor} {
		c.count.WithLabelValues(string(door))
	}
	return c
}

// begin notes a connection, and gives its requests a context that knows it.
func (c *connections) begin(ctx context.Context, conn net.Conn) context.Context {
	one := &connection{door: noDoor}
	if c.maxAge > 0 {
		spread := 1 + ageSpread*(2*c.random()-1)
		one.until = c.now().Add(time.Duration(spread * float64(c.maxAge)))
	}
	c.mu.Lock()
	c.open[conn] = one
	c.mu.Unlock()
	c.count.WithLabelValues(string(noDoor)).Inc()
	return context.WithValue(ctx, connectionKey{}, one)
}

// changed forgets a connection that is closed.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if state != http.StateClosed && state != http.StateHijacked {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if one := c.open[conn]; one != nil {
		delete(c.open, conn)
		c.count.WithLabelValues(string(one.door)).Dec()
	}
}

// reviews notes to which door a review came.
func (c *connections) reviews(r *http.Request, door request.Door) {
	one, ok := r.Context().Value(connectionKey{}).(*connection)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if one.door != door {
		c.count.WithLabelValues(string(one.door)).Dec()
		c.count.WithLabelValues(string(door)).Inc()
		one.door = door
	}
}

// serve has the answer to a request end its connection, where that is to end.
func (c *connections) serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer c.running.begin()()
		one, ok := r.Context().Value(connectionKey{}).(*connection)
		if !c.last.Load() && (!ok || one.until.IsZero() || c.now().Before(one.until)) {
			next.ServeHTTP(w, r)
			if w.Header().Get("Connection") == "close" {
				c.hurry(w)
			}
			return
		}
		c.answerLast(next, w, r)
	})
}

// underway counts requests, so that those can be waited for that run at one moment while
// others come.
type underway struct {
	mu  sync.Mutex
	now *sync.WaitGroup
}

// begin counts a request until end is called.
func (u *underway) begin() (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.now == nil {
		u.now = &sync.WaitGroup{}
	}
	u.now.Add(1)
	return u.now.Done
}

// wait waits for the requests that run now. It reports false if ctx ended first.
func (u *underway) wait(ctx context.Context) bool {
	u.mu.Lock()
	before := u.now
	u.now = nil
	u.mu.Unlock()
	if before == nil {
		return true
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		before.Wait()
	}()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	}
}
