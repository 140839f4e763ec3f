package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

type foreignKey struct{}

// Foreign gives a context in which a module is got for somebody who may only write
// into a namespace. Whatever the address, its redirects and its names in DNS lead
// to, the server's own files and machine, the link that it is on, and what its
// cloud keeps for it are not asked.
func Foreign(ctx context.Context) context.Context {
	return context.WithValue(ctx, foreignKey{}, true)
}

func isForeign(ctx context.Context) bool { return ctx.Value(foreignKey{}) != nil }

// clientFor is what asks servers. What is foreign has connections of its own, since
// those of others may lead anywhere.
func (f *Fetcher) clientFor(ctx context.Context) (*http.Client, error) {
	if !isForeign(ctx) {
		return f.client, nil
	}
	return f.guarded()
}

// forForeign is the Fetcher for what is foreign in registries: it shows nobody the
// server's credentials, and gives nothing that was got with them, since whoever
// names a module in a namespace need not be allowed to have it.
func (f *Fetcher) forForeign() *Fetcher {
	without := *f
	without.Credential = nil
	if f.Cache != "" {
		without.Cache = filepath.Join(f.Cache, "namespaced")
	}
	return &without
}

// guard makes a client that connects to nothing that is inside.
func guard(base http.RoundTripper, dialer net.Dialer) (*http.Client, error) {
	if base == nil {
		base = http.DefaultTransport
	}
	found, ok := base.(*http.Transport)
	if !ok {
		return nil, errors.New("what connects to servers cannot be kept from the server's own machine")
	}
	transport := found.Clone()
	open := dialer
	dialer.Control = outsideOnly
	g := &guarded{dialer: dialer, open: open, proxy: found.Proxy}
	transport.DialContext, transport.DialTLSContext = g.dial, nil
	//lint:ignore SA1019 they would be used in the place of the others
	transport.Dial, transport.DialTLS = nil, nil
	if g.proxy != nil {
		transport.Proxy = g.proxyFor
	}
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}, nil
}

// guarded dials what is not inside. A proxy that the administrator has set may be
// anywhere: what lies behind it is the proxy's to guard.
type guarded struct {
	dialer, open net.Dialer
	proxy        func(*http.Request) (*url.URL, error)
	proxies      sync.Map
}

func (g *guarded) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if _, ok := g.proxies.Load(address); ok {
		return g.open.DialContext(ctx, network, address)
	}
	return g.dialer.DialContext(ctx, network, address)
}

func (g *guarded) proxyFor(r *http.Request) (*url.URL, error) {
	to, err := g.proxy(r)
	if to != nil {
		ports := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}
		g.proxies.Store(net.JoinHostPort(to.Hostname(), cmp.Or(to.Port(), ports[to.Scheme])), true)
	}
	return to, err
}

// outsideOnly refuses a connection to what is inside, once its name is known to be
// the address that it is.
func outsideOnly(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%q is no address to connect to", address)
	}
	if inside(to.Addr()) {
		return fmt.Errorf("it leads to %s, which is the machine of the server itself or the link that it is on: an AdmissionPolicy may not have that asked", to.Addr())
	}
	return nil
}

func defaultDialer() net.Dialer {
	return net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
}
