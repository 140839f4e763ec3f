package kubelet

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const streamIdle = 4 * time.Hour

// service answers the paths of a kubelet.
type service struct {
	pods  *pods
	boxes *sandboxes
}

// newServer returns a server that asks every caller for a certificate signed by
// the CA in the file. Its own certificate is made at each start and signed by itself: the
// API server does not check it unless it is told to.
func newServer(clientCA string, pods *pods, boxes *sandboxes) (*http.Server, error) {
	pem, err := os.ReadFile(clientCA)
	if err != nil {
		return nil, err
	}
	callers := x509.NewCertPool()
	if !callers.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", clientCA)
	}
	own, err := selfSigned()
	if err != nil {
		return nil, err
	}
	s := &service{pods: pods, boxes: boxes}
	mux := http.NewServeMux()
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", s.exec)
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", s.attach)
	mux.HandleFunc("/portForward/{namespace}/{pod}", s.portForward)
	mux.HandleFunc("POST /run/{namespace}/{pod}/{container}", s.run)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.logs)
	mux.HandleFunc("GET /pods", s.list)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.Default(),
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert,
			ClientCAs: callers, Certificates: []tls.Certificate{own},
		},
		// Streams are upgrades of HTTP/1.1.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}, nil
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubelet"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// enter finds the container that a request names, and answers the request itself
// when there is none. Without a name, it is the pod's first.
func (s *service) enter(w http.ResponseWriter, r *http.Request) *container {
	pod, ok := s.pods.get(r.PathValue("namespace"), r.PathValue("pod"))
	if !ok {
		http.Error(w, "pod does not exist", http.StatusNotFound)
		return nil
	}
	name := r.PathValue("container")
	if name == "" {
		name = pod.Spec.Containers[0].Name
	}
	c, err := s.boxes.enter(pod, name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return nil
	}
	return c
}

func (s *service) exec(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if c := s.enter(w, r); c != nil {
		c.stdin = options.Stdin
		remotecommand.ServeExec(w, r, c, "", "", "", r.URL.Query()["command"], options,
			streamIdle, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
	}
}

func (s *service) attach(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if c := s.enter(w, r); c != nil {
		c.stdin = options.Stdin
		remotecommand.ServeAttach(w, r, c, "", "", "", options,
			streamIdle, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
	}
}

func (s *service) portForward(w http.ResponseWriter, r *http.Request) {
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if c := s.enter(w, r); c != nil {
		c.state = s.pods.programs.State(c.pod.UID)
		portforward.ServePortForward(w, r, c, "", "", options,
			streamIdle, remotecommand.DefaultStreamCreationTimeout, portforward.SupportedProtocols)
	}
}

// run runs one command and answers with its whole output.
func (s *service) run(w http.ResponseWriter, r *http.Request) {
	c := s.enter(w, r)
	if c == nil {
		return
	}
	output := &buffer{}
	err := c.ExecInContainer(context.WithoutCancel(r.Context()), "", "", "", strings.Split(r.FormValue("cmd"), " "), nil, output, output, false, nil, 0)
	var exit utilexec.ExitError
	if err != nil && !errors.As(err, &exit) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(output.Bytes())
}

// buffer is where the output of a command is collected.
type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }

func (s *service) list(w http.ResponseWriter, _ *http.Request) {
	list, err := s.pods.list()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}
