package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/observe/record"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// noExec denies getting into pods with hostPID, and fails closed.
const noExec = `
metadata: {name: guard}
spec:
  podSecurityRules: {blockFactors: [hostPID]}
`

// world is a cluster with one pod, shop/web, and hooks for what goes wrong.
type world struct {
	request.Cluster
	// pod is called for each read.
	pod func(ctx context.Context) error
}

func (w *world) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	if w.pod != nil {
		if err := w.pod(ctx); err != nil {
			return nil, err
		}
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, nil
}

func (w *world) Namespace(_ context.Context, name string) (*corev1.Namespace, error) {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

// options are those of a server on a free port of loopback, which judges by the
// DenyPolicies given.
func options(t testing.TB, w *world, policies ...string) Options {
	t.Helper()
	store := policy.NewStore(pod.Default(), time.Now, exception.Options{})
	var sources policy.Sources
	for _, text := range policies {
		p := &v1alpha1.DenyPolicy{}
		if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
			t.Fatal(err)
		}
		sources.DenyPolicies = append(sources.DenyPolicies, stored.Sourced[*v1alpha1.DenyPolicy]{Object: p})
	}
	if problems := store.Replace("test", sources); len(problems) > 0 {
		t.Fatal(problems)
	}
	return Options{
		Addr: "127.0.0.1:0", Store: store, Recorder: record.New(record.Options{}), Log: logr.Discard(),
		Cluster: func(name string) (State, error) {
			if name != "" {
				return State{}, errors.New("cluster " + name + " is not known here")
			}
			return State{Cluster: w}, nil
		},
	}
}

// running starts a server and ends it with the test.
func running(t testing.TB, o Options) (s *Server, client *http.Client, url string) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	client, url = serving(t, s)
	return s, client, url
}

// serving serves until the test ends.
func serving(t testing.TB, s *Server) (client *http.Client, url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	transport := &http.Transport{}
	scheme := "http://"
	if s.certificate != nil {
		scheme = "https://"
		roots := x509.NewCertPool()
		for _, der := range s.certificate.current.Load().Certificate {
			parsed, err := x509.ParseCertificate(der)
			if err != nil {
				t.Fatal(err)
			}
			roots.AddCert(parsed)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return &http.Client{Transport: transport}, scheme + s.Addr().String()
}

// post sends JSON and returns status and body.
func post(t testing.TB, client *http.Client, url, body string) (int, string) {
	t.Helper()
	resp, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}

func read(t testing.TB, resp *http.Response) (int, string) {
	t.Helper()
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b.String()
}

// metric reads one line of /metrics, without its value; "" if it is not there.
func metric(t testing.TB, client *http.Client, url, line string) string {
	t.Helper()
	resp, err := client.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	_, body := read(t, resp)
	for l := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(l), line+" "); ok {
			return value
		}
	}
	return ""
}

func file(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const sar = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"resourceAttributes":` +
	`{"namespace":"shop","verb":"create","version":"v1","resource":"pods","subresource":"exec","name":"web"},"user":"alice"}}`

const execReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u2",` +
	`"kind":{"group":"","version":"v1","kind":"PodExecOptions"},"resource":{"group":"","version":"v1","resource":"pods"},"subResource":"exec",` +
	`"name":"web","namespace":"shop","operation":"CONNECT","userInfo":{"username":"alice"},"object":{"apiVersion":"v1","kind":"PodExecOptions","container":"app"}}}`
