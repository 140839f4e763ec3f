package e2e

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/test/lab"
)

// probeEvery is how often the balancer asks /readyz, and so how late it follows.
const probeEvery = 200 * time.Millisecond

// balancer stands between the API server and replicas as a Service does: each new
// connection leads to the next replica that is ready, and stays with it.
type balancer struct {
	address string

	mu       sync.Mutex
	backends []*backend
	next     int
	running  sync.WaitGroup
}

// backend is a replica as the balancer sees it.
type backend struct {
	replica *lab.Sallyport
	address string
	ready   bool
	// open are the connections that lead to it, and taken how many ever did.
	open, taken int
}

// newBalancer balances between replicas until the test ends.
func newBalancer(t *testing.T, replicas ...*lab.Sallyport) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{address: listener.Addr().String()}
	over := make(chan struct{})
	for _, s := range replicas {
		at, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		client, err := s.HTTPClient()
		if err != nil {
			t.Fatal(err)
		}
		client.Timeout = time.Second
		// A probe has a connection of its own each time.
		client.Transport.(*http.Transport).DisableKeepAlives = true
		one := &backend{replica: s, address: at.Host}
		b.backends = append(b.backends, one)
		b.running.Go(func() { b.probe(one, client, over) })
	}
	b.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			b.running.Go(func() { b.serve(conn, over) })
		}
	})
	t.Cleanup(func() {
		close(over)
		_ = listener.Close()
		b.running.Wait()
	})
	return b
}

// probe follows whether a replica is ready.
func (b *balancer) probe(one *backend, client *http.Client, over <-chan struct{}) {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		response, err := client.Get(one.replica.URL + "/readyz")
		if err == nil {
			response.Body.Close()
		}
		b.mu.Lock()
		one.ready = err == nil && response.StatusCode == http.StatusOK
		b.mu.Unlock()
		select {
		case <-over:
			return
		case <-ticker.C:
		}
	}
}

// ready counts the replicas that are ready.
func (b *balancer) ready() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.backends {
		if one.ready {
			n++
		}
	}
	return n
}

// at is what is known of a replica.
func (b *balancer) at(s *lab.Sallyport) backend {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.backends {
		if one.replica == s {
			return *one
		}
	}
	return backend{}
}

// dial connects to the next replica that is ready, passing over those that are gone.
func (b *balancer) dial() (net.Conn, *backend) {
	for range b.backends {
		b.mu.Lock()
		var one *backend
		for range b.backends {
			b.next++
			if other := b.backends[b.next%len(b.backends)]; other.ready {
				one = other
				break
			}
		}
		b.mu.Unlock()
		if one == nil {
			return nil, nil
		}
		if conn, err := net.DialTimeout("tcp", one.address, time.Second); err == nil {
			return conn, one
		}
	}
	return nil, nil
}

// serve joins a connection with one to a replica, until either ends.
func (b *balancer) serve(client net.Conn, over <-chan struct{}) {
	defer client.Close()
	server, one := b.dial()
	if server == nil {
		return
	}
	defer server.Close()
	count := func(n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		one.open += n
		one.taken += max(n, 0)
	}
	count(1)
	defer count(-1)
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		b.running.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			ended <- struct{}{}
		})
	}
	select {
	case <-ended:
	case <-over:
	}
}
