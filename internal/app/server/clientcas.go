package server

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"
)

// clientCAs are the CAs whose client certificates are let in, read again when
// their file changes. A connection was verified by the CAs of its own time, so
// each request on it is held to those of now.
type clientCAs struct {
	file string
	// base is what every connection's configuration has beside the CAs.
	base    *tls.Config
	content []byte
	unusable
	current atomic.Pointer[trusted]
}

// trusted are CAs, with the configuration of connections that they verify.
type trusted struct {
	*tls.Config
	// raw has the certificates of the CAs.
	raw map[string]bool
}

// reload reads the CAs again and reports whether they changed. If they cannot be
// used, those that were read before stay, as the file may be half written; if it
// is without any at the next look too, or gone, none is left.
func (c *clientCAs) reload() (changed bool, err error) {
	content, err := os.ReadFile(c.file)
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone {
		return false, fmt.Errorf("the CAs of client certificates cannot be read: %w", err)
	}
	if c.content != nil && bytes.Equal(content, c.content) {
		c.usable()
		return false, nil
	}
	t := c.read(content)
	if len(t.raw) > 0 {
		c.usable()
		c.content = content
		c.current.Store(t)
		return true, nil
	}
	if err == nil {
		err = fmt.Errorf("%s holds no certificate in PEM form", c.file)
	} else {
		err = fmt.Errorf("the CAs of client certificates cannot be read: %w", err)
	}
	if c.again(content) {
		c.content = never
		c.current.Store(t)
		err = fmt.Errorf("%w; no client certificate is accepted until it does", err)
	}
	return false, err
}

func (c *clientCAs) read(content []byte) *trusted {
	t := &trusted{Config: c.base.Clone(), raw: map[string]bool{}}
	t.ClientCAs = x509.NewCertPool()
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" || len(block.Headers) > 0 {
			continue
		}
		if parsed, err := x509.ParseCertificate(block.Bytes); err == nil {
			t.ClientCAs.AddCert(parsed)
			t.raw[string(parsed.Raw)] = true
		}
	}
	return t
}

func (c *clientCAs) get(*tls.ClientHelloInfo) (*tls.Config, error) {
	return c.current.Load().Config, nil
}

// verify finds a chain from the certificate that a connection showed to one of the
// CAs of now; nil if there is none, or one of its certificates is over.
func (c *clientCAs) verify(shown *tls.ConnectionState, now time.Time) []*x509.Certificate {
	t := c.current.Load()
	for _, chain := range shown.VerifiedChains {
		if t.raw[string(chain[len(chain)-1].Raw)] && inTime(chain, now) {
			return chain
		}
	}
	if len(shown.PeerCertificates) == 0 {
		return nil
	}
	// A CA may have been renewed with its key.
	options := x509.VerifyOptions{
		Roots: t.ClientCAs, Intermediates: x509.NewCertPool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, between := range shown.PeerCertificates[1:] {
		options.Intermediates.AddCert(between)
	}
	if chains, err := shown.PeerCertificates[0].Verify(options); err == nil {
		return chains[0]
	}
	return nil
}

func inTime(chain []*x509.Certificate, now time.Time) bool {
	for _, certificate := range chain {
		if now.Before(certificate.NotBefore) || now.After(certificate.NotAfter) {
			return false
		}
	}
	return true
}

// unusable remembers what could not be used of a file, to tell what is half written
// from what is meant.
type unusable struct {
	seen bool
	last []byte
}

// again reports whether the same was there at the last look.
func (u *unusable) again(content []byte) bool {
	was := u.seen && bytes.Equal(u.last, content)
	u.seen, u.last = true, content
	return was
}

func (u *unusable) usable() { u.seen, u.last = false, nil }

// never is what no file holds that is read here.
var never = []byte{0}
