package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestProfilingOnLoopbackOnly listens at no address that others reach.
func TestProfilingOnLoopbackOnly(t *testing.T) {
	for addr, says := range map[string]string{
		":6060":         "can be reached from other hosts",
		"0.0.0.0:6060":  "can be reached from other hosts",
		"[::]:0":        "can be reached from other hosts",
		"192.0.2.1:0":   "can be reached from other hosts",
		"127.0.0.1":     `--profiling-addr "127.0.0.1" is not HOST:PORT`,
		"127.0.0.1:-1":  "profiles cannot be served",
		"example.com:0": "can be reached from other hosts",
	} {
		if p, err := NewProfiling(addr); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v", addr, p, err)
		}
	}
}

// TestProfiling serves profiles until it ends.
func TestProfiling(t *testing.T) {
	p, err := NewProfiling("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	for path, status := range map[string]int{"heap": http.StatusOK, "goroutine?debug=1": http.StatusOK, "../../metrics": http.StatusNotFound} {
		response, err := http.Get("http://" + p.Addr().String() + "/debug/pprof/" + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != status || len(body) == 0 {
			t.Errorf("%s: %d %v, %d bytes", path, response.StatusCode, err, len(body))
		}
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := http.Get("http://" + p.Addr().String() + "/debug/pprof/"); err == nil {
		t.Error("it still serves")
	}
}

// TestProfilingThatStops is said, where no one had it end.
func TestProfilingThatStops(t *testing.T) {
	p, err := NewProfiling("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.listener.Close()
	if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "profiles are not served any more") {
		t.Errorf("%v", err)
	}
}
