package lab

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// SallyportUser is who a Sallyport of the lab reads the cluster as.
const SallyportUser = "sallyport"

// SallyportOptions say how a Sallyport is run.
type SallyportOptions struct {
	// Binary is the program, built by the test.
	Binary string
	// Args follow `serve`, its address, its certificate, the CA of its callers and
	// its kubeconfig. It ends without delay, unless they say otherwise.
	Args []string
	// Env is added to the environment.
	Env []string
	// SelfSigned lets it make its certificate itself. Otherwise the lab gives it
	// one, which stays the same when it is started again.
	SelfSigned bool
	// Kept has it keep its certificate in a Secret, as its Args say.
	Kept bool
	// SecretNamespace is where that is. Empty: where its Leases are.
	SecretNamespace string
	// APIServer is HOST:PORT, on loopback, where it finds the API server: something
	// that stands between the two. Empty: the API server itself.
	APIServer string
	// Standalone gives it no kubeconfig.
	Standalone bool
	// Name tells several of them apart; it is that of the log file. Empty:
	// sallyport.
	Name string
}

// Sallyport is one that was started beside a lab, which ends it when it stops.
type Sallyport struct {
	// URL has no path.
	URL string
	// CAFile is the CA of its certificate.
	CAFile string

	lab     *Lab
	options SallyportOptions
	args    []string
	process *process
}

// StartSallyport runs a Sallyport that the lab's API server can call, and returns
// when it is ready. Neither door is wired to it: see WireAccess and
// WireAdmission.
func (l *Lab) StartSallyport(ctx context.Context, options SallyportOptions) (*Sallyport, error) {
	if options.Name == "" {
		options.Name = "sallyport"
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	base := filepath.Join(l.Dir, options.Name)
	s := &Sallyport{URL: "https://" + address, CAFile: base + "-ca.crt", lab: l, options: options}
	s.args = []string{"serve", "--addr", address, "--client-ca-file", l.CallerCA(), "--shutdown-delay", "0s"}
	switch {
	case options.Kept:
		s.args = append(s.args, "--service", s.URL)
	case options.SelfSigned:
		s.args = append(s.args, "--write-ca", s.CAFile)
	default:
		ca, err := newAuthority(options.Name)
		if err != nil {
			return nil, err
		}
		own, err := ca.server(base)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(s.CAFile, ca.pem, 0o600); err != nil {
			return nil, err
		}
		s.args = append(s.args, "--tls-cert-file", own.certFile, "--tls-private-key-file", own.keyFile)
	}
	if !options.Standalone {
		kubeconfig, err := l.sallyportKubeconfig(ctx)
		if err != nil {
			return nil, err
		}
		if options.APIServer != "" {
			if kubeconfig, err = redirected(kubeconfig, options.APIServer, base+"-kubeconfig.yaml"); err != nil {
				return nil, err
			}
		}
		s.args = append(s.args, "--kubeconfig", kubeconfig)
		l.forgetKilled(ctx)
	}
	s.args = append(s.args, options.Args...)
	return s, s.Start(ctx)
}

// Start runs it again after Stop or Kill, at the same address and with the same
// arguments, and returns when it is ready.
func (s *Sallyport) Start(ctx context.Context) error {
	var err error
	if s.process, err = startProcess(s.LogFile(), s.options.Binary, s.args, s.options.Env); err != nil {
		return err
	}
	s.lab.keep(s.process)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return s.process.waitUntil(ctx, func(ctx context.Context) error {
		if s.options.Kept {
			if err := s.readCA(ctx); err != nil {
				return err
			}
		}
		status, body, err := s.Get(ctx, "/readyz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("/readyz answers %d: %s", status, body)
		}
		return err
	})
}

// readCA writes the CA of a certificate that is kept in a Secret into CAFile.
func (s *Sallyport) readCA(ctx context.Context) error {
	var name string
	for i, arg := range s.args {
		if value, ok := strings.CutPrefix(arg, "--certificate-secret="); ok {
			name = value
		} else if arg == "--certificate-secret" && i+1 < len(s.args) {
			name = s.args[i+1]
		}
	}
	if name == "" {
		return errors.New("the arguments name no --certificate-secret")
	}
	namespace := cmp.Or(s.options.SecretNamespace, leasesIn)
	secret, err := s.lab.Client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return os.WriteFile(s.CAFile, secret.Data["ca.crt"], 0o600)
}

// Stop ends it in order.
func (s *Sallyport) Stop() error { return s.process.stop() }

// Done is closed when it has ended, for whatever reason.
func (s *Sallyport) Done() <-chan struct{} { return s.process.done }

// Kill ends it at once.
func (s *Sallyport) Kill() { s.process.kill() }

// LogFile is where its output goes.
func (s *Sallyport) LogFile() string { return s.lab.LogFile(s.options.Name) }

// Log returns its output so far.
func (s *Sallyport) Log() string {
	content, err := os.ReadFile(s.LogFile())
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// HTTPClient returns a client that it takes for the API server.
func (s *Sallyport) HTTPClient() (*http.Client, error) { return s.lab.ClientOf(s) }

// ClientOf returns a client that a Sallyport, of this lab or of another, takes for
// this lab's API server.
func (l *Lab) ClientOf(s *Sallyport) (*http.Client, error) {
	pem, err := os.ReadFile(s.CAFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", s.CAFile)
	}
	own, err := tls.LoadX509KeyPair(l.caller.certFile, l.caller.keyFile)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{own},
		}},
	}, nil
}

// Get reads one of its paths, such as /metrics, as the API server would.
func (s *Sallyport) Get(ctx context.Context, path string) (status int, body string, err error) {
	client, err := s.HTTPClient()
	if err != nil {
		return 0, "", err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

// sallyportKubeconfig gives Sallyport a user that may read what it needs.
func (l *Lab) sallyportKubeconfig(ctx context.Context) (string, error) {
	l.mu.Lock()
	file, ok := l.kubeconfigs[SallyportUser]
	l.mu.Unlock()
	if ok {
		return file, nil
	}
	file, err := l.systemKubeconfig(SallyportUser)
	if err != nil {
		return "", err
	}
	if err := l.Apply(ctx, SallyportRole()); err != nil {
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kubeconfigs[SallyportUser] = file
	return file, nil
}

// redirected writes a kubeconfig that leads to another address, and returns its
// name.
func redirected(kubeconfig, address, name string) (string, error) {
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return "", err
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + address
	}
	return name, clientcmd.WriteToFile(*config, name)
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
