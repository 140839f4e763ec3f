package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

// TestCertificateFromElsewhere answers probes before it has come, by one that nobody
// vouches for, is not ready, and shows the newest without a restart.
func TestCertificateFromElsewhere(t *testing.T) {
	var mu sync.Mutex
	var current *tls.Certificate
	o := options(t, &world{})
	o.Certificate = func() (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if current == nil {
			return nil, errors.New("there is no certificate yet: the Secret a/b cannot be read")
		}
		return current, nil
	}
	s, _, url := running(t, o)
	anybody := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
		resp, err := anybody.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := read(t, resp); status != want || status != http.StatusOK && !strings.Contains(body, "missing: there is no certificate yet: the Secret a/b") {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	if err := s.certificate.valid(); err == nil || !strings.Contains(err.Error(), "the Secret a/b") {
		t.Errorf("it has none, and says %v", err)
	}
	for range 2 {
		pair, err := selfsigned.New([]string{"127.0.0.1"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		made, err := tls.X509KeyPair(pair.Cert, pair.Key)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pair.CA)
		trusting := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}
		if _, err := trusting.Get(url + "/healthz"); err == nil {
			t.Fatal("it was believed before it was there")
		}
		mu.Lock()
		current = &made
		mu.Unlock()
		resp, err := trusting.Get(url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		if status, body := read(t, resp); status != http.StatusOK {
			t.Errorf("%d %q", status, body)
		}
	}
}

// TestMountedCertificate follows what a kubelet does to a mounted Secret: all files are
// replaced by moving one link. Between the reads of the two files they do not fit, and
// the pair before stays until they do.
func TestMountedCertificate(t *testing.T) {
	dir := t.TempDir()
	mount := func(name string, cert, key []byte) {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(at, 0o755), os.WriteFile(filepath.Join(at, "tls.crt"), cert, 0o600), os.WriteFile(filepath.Join(at, "tls.key"), key, 0o600),
			os.Symlink(name, filepath.Join(dir, "..data_tmp")), os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	made := func() *selfsigned.Pair {
		t.Helper()
		pair, err := selfsigned.New([]string{"127.0.0.1"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	first, second := made(), made()
	mount("..1", first.Cert, first.Key)
	for _, file := range []string{"tls.crt", "tls.key"} {
		if err := os.Symlink(filepath.Join("..data", file), filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := newCertificate(&Options{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	before := c.current.Load()
	mount("..2", second.Cert, first.Key)
	if changed, err := c.reload(); changed || err == nil || c.current.Load() != before {
		t.Errorf("a pair that does not fit: changed %v, error %v", changed, err)
	}
	mount("..3", second.Cert, second.Key)
	if changed, err := c.reload(); !changed || err != nil || c.current.Load() == before {
		t.Errorf("a pair that fits: changed %v, error %v", changed, err)
	}
}
