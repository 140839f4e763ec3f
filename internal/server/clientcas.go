package server

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"
)

// clientCAs are the CAs whose client certificates are let in, read again when
// their file changes.
type clientCAs struct {
	file string
	// base is what every connection's configuration has beside the CAs.
	base    *tls.Config
	content []byte
	current atomic.Pointer[tls.Config]
}

// reload reads the CAs again and reports whether they changed. If they cannot be
// used, those that were read before stay.
func (c *clientCAs) reload() (changed bool, err error) {
	content, err := os.ReadFile(c.file)
	if err != nil {
		return false, fmt.Errorf("the CAs of client certificates cannot be read: %w", err)
	}
	if c.content != nil && bytes.Equal(content, c.content) {
		return false, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return false, fmt.Errorf("%s holds no certificate in PEM form", c.file)
	}
	config := c.base.Clone()
	config.ClientCAs = pool
	c.content = content
	c.current.Store(config)
	return true, nil
}

func (c *clientCAs) get(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current.Load(), nil }
