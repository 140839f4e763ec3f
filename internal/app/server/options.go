// Package server is the webhook server: TLS, authentication of callers, bounds,
// health, and the way from a request's bytes to the answer's.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/go-logr/logr"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/observe/record"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// Options are what a Server is made of.
type Options struct {
	// Addr is the host and port to listen on; a port of 0 takes a free one.
	Addr string
	// CertFile and KeyFile are the server's certificate, read again when they
	// change. With neither, a self-signed pair is made for ServerNames.
	CertFile, KeyFile string
	// Certificate is where the server's certificate comes from instead, or says why it has
	// not come yet; nil for the files or a self-signed pair.
	Certificate func() (*tls.Certificate, error)
	// ServerNames are the names and addresses that a self-signed certificate is
	// for, beside localhost, 127.0.0.1 and ::1.
	ServerNames []string
	// WriteCA is a file that the CA of a self-signed pair is written to.
	WriteCA string
	// ClientCAFile has the CAs whose client certificates are let in.
	ClientCAFile string
	// TokenFile has one bearer token a line, read again when it changes.
	TokenFile string
	// Callers says whom the front door answers: CallersAuthenticated, which is also what
	// empty stands for, or CallersNetwork.
	Callers string
	// CallerNetworks are the networks that callers without credentials have to ask from,
	// such as 10.0.0.0/28; none: from anywhere. CallerRate is how many reviews a second
	// one address may send of them; zero: DefaultCallerRate.
	CallerNetworks []string
	CallerRate     int
	// InsecureHTTP serves without TLS, only on loopback.
	InsecureHTTP bool

	// ClusterName is the cluster that requests to /validate and /authorize are
	// for; /validate/NAME says otherwise.
	ClusterName string
	// Cluster finds the state of a cluster by its name.
	Cluster func(name string) (State, error)
	// BoundTo lists the clusters that a caller is bound to by the common name of its
	// certificate; bound is false for one that is not. Nil: nobody is bound.
	BoundTo func(commonName string) (clusters []string, bound bool)

	// Observe has everything judged and recorded, and nothing refused.
	Observe bool

	// DecisionTimeout bounds a decision. Zero: policy.DecisionTimeout.
	DecisionTimeout time.Duration
	// ConnectionMaxAge is after what time a connection is to end, give or take a tenth of
	// it. Zero: never.
	ConnectionMaxAge time.Duration
	// Random is a number from 0 up to 1; nil is the system's.
	Random func() float64
	// MaxConcurrent bounds the decisions that run at once. Zero: 1024.
	MaxConcurrent int

	// Guard fills in and judges what is written about exceptions; nil where there
	// is no cluster, and then nothing of it may be written.
	Guard Guard

	// Probe returns what a request is refused with by which a replica of ours finds out
	// whether the API server asks about it; false for any other request. Nil for never.
	Probe func(*request.Request) (answer string, is bool)

	// Known has what must be known before anything is judged, whatever the cluster;
	// nil for nothing.
	Known *known.Book

	Store    *policy.Store
	Recorder *record.Recorder
	// Ready says what is still missing before requests can be judged, a sentence
	// each; nil for nothing.
	Ready func() []string
	// Warnings say what is about to be missing, or is kept in force all the same, a
	// sentence each; nil for nothing.
	Warnings func() []string
	Log      logr.Logger
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Guard is the workflow of exceptions at admission.
type Guard interface {
	// Mutate returns a JSON patch, nil for none, or results that refuse the request.
	Mutate(ctx context.Context, r *request.Request) (patch []byte, refused []decision.Result)
	// Validate judges, in results that stand beside those of the policies.
	Validate(ctx context.Context, r *request.Request) []decision.Result
}

// maxConcurrent bounds the decisions that run at once where nothing else is
// said. Each holds its body, at most a few megabytes, and may wait for the API
// server; an API server has at most a few hundred requests in flight by default
// (--max-requests-inflight 400, --max-mutating-requests-inflight 200), so it
// cannot reach this in use.
const maxConcurrent = 1024

func (o *Options) complete() error {
	if o.DecisionTimeout == 0 {
		o.DecisionTimeout = policy.DecisionTimeout
	}
	if o.MaxConcurrent == 0 {
		o.MaxConcurrent = maxConcurrent
	}
	if o.Callers == "" {
		o.Callers = CallersAuthenticated
	}
	if o.CallerRate == 0 {
		o.CallerRate = DefaultCallerRate
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return o.check()
}

// check refuses options that contradict one another or leave a door open.
func (o *Options) check() error {
	var errs []error
	if (o.CertFile == "") != (o.KeyFile == "") {
		errs = append(errs, errors.New("a certificate needs its key: give both --tls-cert-file and --tls-private-key-file, or neither for a self-signed pair"))
	}
	if o.InsecureHTTP && (o.CertFile != "" || o.ClientCAFile != "" || o.WriteCA != "") {
		errs = append(errs, errors.New("--insecure-http serves without TLS; leave out --tls-cert-file, --client-ca-file and --write-ca"))
	}
	if o.WriteCA != "" && o.CertFile != "" {
		errs = append(errs, errors.New("--write-ca writes the CA of a self-signed pair; with --tls-cert-file there is none"))
	}
	if o.Certificate != nil && (o.CertFile != "" || o.WriteCA != "" || o.InsecureHTTP) {
		errs = append(errs, errors.New("--certificate-secret keeps the certificate in a Secret; leave out --tls-cert-file, --tls-private-key-file, --write-ca and --insecure-http"))
	}
	loopback, err := onLoopback("--addr", o.Addr)
	switch {
	case err != nil:
		errs = append(errs, err)
	case loopback:
	case o.InsecureHTTP:
		errs = append(errs, fmt.Errorf("--insecure-http binds only loopback, not %q; give an address such as 127.0.0.1:8080", o.Addr))
	case o.ClientCAFile == "" && o.TokenFile == "" && o.Callers != CallersNetwork:
		errs = append(errs, fmt.Errorf("callers of %q would not be authenticated; give --client-ca-file or --auth-token-file, or --callers network where API servers show nothing, or bind loopback, such as 127.0.0.1:8443", o.Addr))
	}
	return errors.Join(append(errs, o.checkCallers())...)
}

// checkCallers refuses what says in vain, or in no known way, who is answered.
func (o *Options) checkCallers() error {
	var errs []error
	if o.Callers != CallersAuthenticated && o.Callers != CallersNetwork {
		errs = append(errs, fmt.Errorf("--callers is %q; %s or %s is expected", o.Callers, CallersAuthenticated, CallersNetwork))
	}
	if o.Callers == CallersAuthenticated && (len(o.CallerNetworks) > 0 || o.CallerRate != DefaultCallerRate) {
		errs = append(errs, fmt.Errorf("--caller-networks and --caller-rate are about callers without credentials, who get no answer; leave them out, or give --callers %s", CallersNetwork))
	}
	if o.CallerRate < 1 || o.CallerRate > mostCallerRate {
		errs = append(errs, fmt.Errorf("--caller-rate is %d; 1 to %d reviews a second are expected", o.CallerRate, mostCallerRate))
	}
	_, err := parseNetworks(o.CallerNetworks)
	return errors.Join(append(errs, err)...)
}

// onLoopback reports whether the address that a flag gives can be reached from this host
// only.
func onLoopback(flag, addr string) (bool, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false, fmt.Errorf("%s %q is not HOST:PORT, such as 127.0.0.1:8443: %w", flag, addr, err)
	}
	if host == "localhost" {
		return true, nil
	}
	return net.ParseIP(host).IsLoopback(), nil
}
