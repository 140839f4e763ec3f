package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/sallyport-io/sallyport/internal/observe/garbage"
)

// Times that bound a connection. A review is small and comes from a machine
// nearby: one whose header or body takes longer than this is not one.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second
	writeTimeout  = 35 * time.Second
	// idleTimeout is above the 90 s after which the API server's client closes an
	// idle connection, so that it never writes into one that is being closed.
	idleTimeout = 2 * time.Minute
	// shutdownTimeout is what a decision that runs has to end in.
	shutdownTimeout = 15 * time.Second
	// reloadInterval is how often certificates and tokens are looked at.
	reloadInterval = 5 * time.Second
)

// Server is the webhook server.
type Server struct {
	*Options
	gate        *gate
	auth        *authenticator
	certificate *certificate
	clientCAs   *clientCAs
	listener    net.Listener
	http        *http.Server
	connections *connections
	// leaving is set once nobody is to ask here any more.
	leaving atomic.Bool
	// reloads is how often certificates and tokens are looked at, and ending what a
	// decision that runs has to end in.
	reloads, ending time.Duration
}

// New checks the options, reads certificates and tokens, and binds the address.
// Serve must be called, or Close.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Server{Options: &o, gate: newGate(&o), connections: newConnections(&o), reloads: reloadInterval, ending: shutdownTimeout}
	var err error
	if s.auth, err = newAuthenticator(&o); err != nil {
		return nil, err
	}
	if s.gate.strangers, err = newStrangers(&o); err != nil {
		return nil, err
	}
	if s.gate.strangers != nil && len(o.CallerNetworks) == 0 {
		o.Log.Info("whoever reaches the port is answered at the front door, as --callers network is given without --caller-networks")
	}
	s.http = &http.Server{
		Handler: s.connections.serve(s.routes()), ConnContext: s.connections.begin, ConnState: s.connections.changed, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(o.Log.WithName("http").V(1)), slog.LevelInfo),
	}
	var config *tls.Config
	if !o.InsecureHTTP {
		if s.certificate, err = newCertificate(&o); err != nil {
			return nil, err
		}
		if config, err = s.tlsConfig(); err != nil {
			return nil, err
		}
		o.Recorder.Registry().MustRegister(s.certificate)
	}
	if s.listener, err = net.Listen("tcp", o.Addr); err != nil {
		return nil, fmt.Errorf("the address cannot be bound: %w", err)
	}
	o.Recorder.Registry().MustRegister(s.connections.count)
	if config != nil {
		s.http.TLSConfig = config
		s.listener = tls.NewListener(s.listener, config)
	}
	return s, nil
}

func (s *Server) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: s.certificate.get,
		// One connection of HTTP/2 carries all requests of an API server, and its
		// multiplexing costs more than it saves for bodies this small.
		NextProtos: []string{"http/1.1"},
	}
	if s.ClientCAFile == "" {
		return config, nil
	}
	// A caller may show a token in the certificate's place, and probes of health
	// show neither; a certificate that is shown has to be good.
	config.ClientAuth = tls.VerifyClientCertIfGiven
	// A session that is resumed was verified by the CAs of its own time.
	config.SessionTicketsDisabled = true
	s.clientCAs = &clientCAs{file: s.ClientCAFile, base: config}
	if _, err := s.clientCAs.reload(); err != nil {
		return nil, err
	}
	s.auth.cas = s.clientCAs
	outer := config.Clone()
	outer.GetConfigForClient = s.clientCAs.get
	return outer, nil
}

// Addr is the address that is bound.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close gives the address back without serving.
func (s *Server) Close() error { return s.listener.Close() }

// Leave has readyz fail, so that API servers come to ask other replicas. Whoever asks
// here is answered as ever.
func (s *Server) Leave() { s.leaving.Store(true) }

// Release has each answer end its connection, so that clients begin others elsewhere.
func (s *Server) Release() { s.connections.last.Store(true) }

// Settle waits for the requests that run now, for as long as a request may take. Others
// may come meanwhile, and are not waited for. It reports false if ctx or that time ended
// first.
func (s *Server) Settle(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, s.ending)
	defer cancel()
	return s.connections.running.wait(ctx)
}

// Serve answers requests until ctx ends, and then waits for those that run.
func (s *Server) Serve(ctx context.Context) error {
	defer garbage.Pace(time.Now)()
	go s.reload(ctx)
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("the server stopped: %w", err)
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.ending)
	defer cancel()
	if err := s.http.Shutdown(stopping); err != nil {
		return errors.Join(fmt.Errorf("requests were still running after %s: %w", s.ending, err), s.http.Close())
	}
	return nil
}

// reload reads certificate and tokens again when they change; what cannot be
// used is told, and the last good one stays.
func (s *Server) reload(ctx context.Context) {
	ticker := time.NewTicker(s.reloads)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if s.certificate != nil {
			s.logReload("certificate", s.certificate.reload)
		}
		if s.clientCAs != nil {
			s.logReload("CAs of client certificates", s.clientCAs.reload)
		}
		if s.TokenFile != "" {
			s.logReload("bearer tokens", s.auth.reload)
		}
	}
}

func (s *Server) logReload(what string, reload func() (bool, error)) {
	switch changed, err := reload(); {
	case err != nil:
		s.Log.Error(err, "a change was refused; what was there before stays", "what", what)
	case changed:
		s.Log.Info("a change was accepted", "what", what)
	}
}
