package clustertest

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// Server stands for an API server. It answers get, list and watch of the
// objects that it was given, in JSON, until it is told to break, and again once
// it is told to answer.
type Server struct {
	t     testing.TB
	tls   *tls.Config
	store *store

	requests    atomic.Int64
	connections atomic.Int64

	mu      sync.Mutex
	address string
	serving *http.Server
	// handle answers requests, as the server was told to; changed is closed when
	// it is told something else.
	handle  http.HandlerFunc
	changed chan struct{}
}

// NewServer starts a server that speaks HTTP/1.1 and ends with the test.
func NewServer(t testing.TB, objects ...runtime.Object) *Server {
	return start(t, nil, objects)
}

// NewTLSServer starts a server that speaks HTTP/2 over TLS and ends with the
// test.
func NewTLSServer(t testing.TB, objects ...runtime.Object) *Server {
	// The certificate that net/http keeps for tests.
	lender := httptest.NewTLSServer(http.NotFoundHandler())
	defer lender.Close()
	return start(t, &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}, objects)
}

func start(t testing.TB, config *tls.Config, objects []runtime.Object) *Server {
	t.Helper()
	s := &Server{t: t, tls: config, store: newStore(), address: "127.0.0.1:0", changed: make(chan struct{})}
	s.Set(objects...)
	s.Answer()
	t.Cleanup(s.Refuse)
	return s
}

// Config is the client configuration for the server.
func (s *Server) Config() *rest.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tls == nil {
		return &rest.Config{Host: "http://" + s.address}
	}
	return &rest.Config{Host: "https://" + s.address, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// Requests counts the requests that have come.
func (s *Server) Requests() int { return int(s.requests.Load()) }

// Connections counts the connections that were accepted.
func (s *Server) Connections() int { return int(s.connections.Load()) }

// Set adds objects, or changes them.
func (s *Server) Set(objects ...runtime.Object) {
	s.t.Helper()
	for _, object := range objects {
		if err := s.store.set(object); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Delete takes objects away.
func (s *Server) Delete(objects ...runtime.Object) {
	s.t.Helper()
	for _, object := range objects {
		if err := s.store.delete(object); err != nil {
			s.t.Fatal(err)
		}
	}
}

// become makes the server answer with handle, and wakes what hangs.
func (s *Server) become(handle http.HandlerFunc) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = handle
	close(s.changed)
	s.changed = make(chan struct{})
	if s.serving != nil {
		return
	}
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.address = listener.Addr().String()
	server := &http.Server{
		Handler:   http.HandlerFunc(s.serve),
		TLSConfig: s.tls,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				s.connections.Add(1)
			}
		},
	}
	s.serving = server
	go func() {
		if s.tls == nil {
			_ = server.Serve(listener)
		} else {
			_ = server.ServeTLS(listener, "", "")
		}
	}()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	s.mu.Lock()
	handle := s.handle
	s.mu.Unlock()
	handle(w, r)
}

// waitForChange waits until the server is told something else or the request
// ends.
func (s *Server) waitForChange(r *http.Request) {
	s.mu.Lock()
	changed := s.changed
	s.mu.Unlock()
	select {
	case <-changed:
	case <-r.Context().Done():
	}
}
