package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// Profiling serves the profiles of this process, as go tool pprof reads them. They show
// what is in memory, names of policies and of who is asked about among it, so that only
// this host can read them.
type Profiling struct {
	listener net.Listener
	server   *http.Server
}

// NewProfiling listens at addr, which is HOST:PORT on loopback.
func NewProfiling(addr string) (*Profiling, error) {
	loopback, err := onLoopback("--profiling-addr", addr)
	switch {
	case err != nil:
		return nil, err
	case !loopback:
		return nil, fmt.Errorf("--profiling-addr %q can be reached from other hosts; give a loopback address such as 127.0.0.1:6060, and reach it with kubectl port-forward", addr)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("profiles cannot be served: %w", err)
	}
	// A mux of its own: importing pprof adds it to the default one, which nothing serves.
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return &Profiling{listener, &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}, nil
}

// Addr is where it listens.
func (p *Profiling) Addr() net.Addr { return p.listener.Addr() }

// Ready is always nil: no decision waits for profiles.
func (p *Profiling) Ready() error { return nil }

// Run serves until ctx ends.
func (p *Profiling) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = p.server.Close() })
	defer stop()
	if err := p.server.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("profiles are not served any more: %w", err)
	}
	return nil
}
