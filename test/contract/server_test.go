package contract

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is a running `sallyport serve`.
type server struct {
	url    string
	client *http.Client
	log    *buffer
	exited chan struct{}
	// cmd has its status once it has exited.
	cmd *exec.Cmd
}

// buffer is what a process writes while it is read.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// serve starts a server over plain HTTP for dir and waits until it is ready.
func serve(t *testing.T, dir string, flags ...string) *server {
	t.Helper()
	address := freeAddress(t)
	s := launch(t, append([]string{"--from", dir, "--insecure-http", "--addr", address}, flags...)...)
	s.url, s.client = "http://"+address, &http.Client{Timeout: commandTimeout, Transport: &http.Transport{}}
	s.awaitReady(t)
	return s
}

// launch starts `sallyport serve` and stops it when the test ends.
func launch(t *testing.T, flags ...string) *server {
	t.Helper()
	s := &server{log: &buffer{}, exited: make(chan struct{})}
	cmd := exec.Command(binary, append([]string{"serve", "--shutdown-delay", "0s"}, flags...)...)
	cmd.Env = environment(t)
	s.cmd, cmd.Stdout, cmd.Stderr = cmd, s.log, s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		// How it ended is told by what it wrote; tests only ask whether it did.
		_ = cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-s.exited:
		case <-time.After(10 * time.Second):
			t.Error("the server did not end within ten seconds of an interrupt")
			_ = cmd.Process.Kill()
			<-s.exited
		}
		if t.Failed() {
			t.Logf("log of the server:\n%s", clip(s.log.String()))
		}
	})
	return s
}

func (s *server) awaitReady(t *testing.T) {
	t.Helper()
	eventually(t, "the server is ready", func() bool {
		select {
		case <-s.exited:
			t.Fatalf("the server ended:\n%s", clip(s.log.String()))
		default:
		}
		resp, err := s.client.Get(s.url + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// freeAddress returns a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// reply is an HTTP answer, read to its end.
type reply struct {
	code int
	body string
}

// request sends one request with a content type and headers as key and value.
func (s *server) request(t *testing.T, method, path, contentType, body string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s got no answer: %v", method, path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s got half an answer: %v", method, path, err)
	}
	return reply{resp.StatusCode, string(raw)}
}

// post sends JSON as the API server does.
func (s *server) post(t *testing.T, path, body string) reply {
	t.Helper()
	return s.request(t, http.MethodPost, path, "application/json", body)
}

// get fetches a path and fails the test unless it is there.
func (s *server) get(t *testing.T, path string) string {
	t.Helper()
	r := s.request(t, http.MethodGet, path, "", "")
	if r.code != http.StatusOK {
		t.Fatalf("GET %s: status %d\n%s", path, r.code, clip(r.body))
	}
	return r.body
}

// trust returns a client that trusts the certificates in the file, once the
// server has written it.
func trust(t *testing.T, caFile string, own ...tls.Certificate) *http.Client {
	t.Helper()
	var pool = newPool()
	eventually(t, "the CA is written to "+caFile, func() bool {
		raw, err := os.ReadFile(caFile)
		return err == nil && pool.AppendCertsFromPEM(raw)
	})
	return &http.Client{Timeout: commandTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: own}}}
}

// refuses expects `sallyport serve` to end at once with exit status 2 and to
// name all of parts.
func refuses(t *testing.T, flags []string, parts ...string) {
	t.Helper()
	out := run(t, append([]string{"serve"}, flags...)...)
	if out.code != 2 {
		t.Errorf("serve %q ended with %d, want 2\n%s", flags, out.code, clip(out.all()))
	}
	wantContains(t, strings.ToLower(out.all()), parts...)
}

// portOf returns the port of an address.
func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(fmt.Errorf("address %q: %w", address, err))
	}
	return port
}
