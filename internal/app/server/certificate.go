package server

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

// certificate is the server's certificate; one from files is read again when
// they change.
type certificate struct {
	// from is where it comes from where it is kept elsewhere. Until it has come, current
	// is shown, which nobody vouches for: probes are answered, and no one else believes it.
	from              func() (*tls.Certificate, error)
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
	certPEM, keyPEM   []byte
	now               func() time.Time
}

func newCertificate(o *Options) (*certificate, error) {
	c := &certificate{from: o.Certificate, certFile: o.CertFile, keyFile: o.KeyFile, now: o.Now}
	if c.certFile != "" {
		_, err := c.reload()
		return c, err
	}
	names := o.ServerNames
	if c.from != nil {
		names = nil
	}
	pair, ca, err := selfSigned(names, o.Now())
	if err != nil {
		return nil, fmt.Errorf("no self-signed certificate could be made: %w", err)
	}
	c.current.Store(pair)
	if o.WriteCA != "" {
		if err := writeFile(o.WriteCA, ca); err != nil {
			return nil, fmt.Errorf("the CA cannot be written: %w", err)
		}
	}
	return c, nil
}

// reload reads the pair again and reports whether it changed. If it cannot be
// used, the one that was read before stays.
func (c *certificate) reload() (changed bool, err error) {
	if c.certFile == "" {
		return false, nil
	}
	certPEM, err := os.ReadFile(c.certFile)
	if err != nil {
		return false, fmt.Errorf("the certificate cannot be read: %w", err)
	}
	keyPEM, err := os.ReadFile(c.keyFile)
	if err != nil {
		return false, fmt.Errorf("the certificate's key cannot be read: %w", err)
	}
	if bytes.Equal(certPEM, c.certPEM) && bytes.Equal(keyPEM, c.keyPEM) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return false, fmt.Errorf("%s and %s are not a certificate and its key: %w", c.certFile, c.keyFile, err)
	}
	c.certPEM, c.keyPEM = certPEM, keyPEM
	c.current.Store(&pair)
	return true, nil
}

// valid says why the certificate cannot be used now; nil if it can.
func (c *certificate) valid() error {
	pair, err := c.shown()
	if err != nil {
		return err
	}
	leaf, now := pair.Leaf, c.now()
	switch {
	case leaf == nil:
		return nil
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("the certificate is not valid before %s", leaf.NotBefore.UTC().Format(time.RFC3339))
	case now.After(leaf.NotAfter):
		return fmt.Errorf("the certificate expired at %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// shown is the certificate that is shown; an error says why there is none yet that
// anybody vouches for.
func (c *certificate) shown() (*tls.Certificate, error) {
	if c.from != nil {
		return c.from()
	}
	return c.current.Load(), nil
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if pair, err := c.shown(); err == nil {
		return pair, nil
	}
	return c.current.Load(), nil
}

var expiryDesc = prometheus.NewDesc("sallyport_certificate_expiry_timestamp_seconds", "When the server's certificate ends.", nil, nil)

// Describe implements prometheus.Collector.
func (c *certificate) Describe(to chan<- *prometheus.Desc) { to <- expiryDesc }

// Collect implements prometheus.Collector.
func (c *certificate) Collect(to chan<- prometheus.Metric) {
	if pair, err := c.shown(); err == nil && pair.Leaf != nil {
		leaf := pair.Leaf
		to <- prometheus.MustNewConstMetric(expiryDesc, prometheus.GaugeValue, float64(leaf.NotAfter.Unix()))
	}
}

// selfSigned makes a pair for loopback and these names, and the CA in PEM.
func selfSigned(names []string, now time.Time) (*tls.Certificate, []byte, error) {
	made, err := selfsigned.New(append([]string{"localhost", "127.0.0.1", "::1"}, names...), now)
	if err != nil {
		return nil, nil, err
	}
	pair, err := tls.X509KeyPair(made.Cert, made.Key)
	if err != nil {
		return nil, nil, err
	}
	return &pair, made.CA, nil
}

// writeFile puts a file in place at once, so that whoever waits for it never
// reads half of it.
func writeFile(path string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".sallyport-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(content)
	if err := errors.Join(err, temporary.Chmod(0o644), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
