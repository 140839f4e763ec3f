package fetch

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/sallyport-io/sallyport/internal/wasm/addresses"
)

type foreignKey struct{}

// Foreign gives a context in which a module is fetched for somebody who may only write
// into a namespace. Whatever the address, its redirects, the token service that its
// registry names and the names of these in DNS lead to, nothing is asked but what is
// on the internet, over TLS, and the hosts that the administrator has listed, and of
// these none that is the server's own machine, the link that it is on, or what its
// cloud keeps for it. Its files are not read either.
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
// server's credentials, and gives nothing that was fetched with them, since whoever
// names a module in a namespace need not be allowed to have it.
func (f *Fetcher) forForeign() *Fetcher {
	without := *f
	without.Credential = nil
	if f.Cache != "" {
		without.Cache = filepath.Join(f.Cache, "namespaced")
	}
	return &without
}

// guard makes a client that connects to nothing but the internet and to the listed
// hosts.
func guard(base http.RoundTripper, dialer net.Dialer, listed addresses.Hosts) (*http.Client, error) {
	if base == nil {
		base = http.DefaultTransport
	}
	found, ok := base.(*http.Transport)
	if !ok {
		return nil, errors.New("what connects to servers cannot be kept from the server's own machine")
	}
	transport := found.Clone()
	g := &guarded{public: dialer, listed: dialer, open: dialer, hosts: listed, proxy: found.Proxy}
	g.public.Control, g.listed.Control = addresses.OnlyPublic, addresses.NotInside
	transport.DialContext, transport.DialTLSContext = g.dial, nil
	//lint:ignore SA1019 they would be used in place of the others
	transport.Dial, transport.DialTLS = nil, nil
	if g.proxy != nil {
		transport.Proxy = g.proxyFor
	}
	return &http.Client{Transport: &secured{base: transport, guard: g}, CheckRedirect: checkRedirect}, nil
}

// guarded dials what is public, and the listed hosts. A proxy that the administrator
// has set may be anywhere: what a name leads to behind it is the proxy's to guard.
type guarded struct {
	public, listed, open net.Dialer
	hosts                addresses.Hosts
	proxy                func(*http.Request) (*url.URL, error)
	proxies              sync.Map
}

// secured sends requests that nobody on their way can read or change. Redirects are
// checked before they are followed; a token service is named by a registry, and asked
// without that.
type secured struct {
	base http.RoundTripper
	// guard is nil for what is not foreign.
	guard *guarded
}

// RoundTrip sends a request.
func (s *secured) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkTransport(r.Context(), r.URL); err != nil {
		return nil, err
	}
	if s.guard != nil {
		// Behind a proxy nobody here sees an address but one that is written out.
		if a, err := addressOf(r.URL.Hostname()); err == nil && a.IsValid() && !s.guard.hosts.Has(hostPort(r.URL)) {
			if err := addresses.OnlyPublic("tcp", netip.AddrPortFrom(a, 443).String(), nil); err != nil {
				return nil, err
			}
		}
	}
	return s.base.RoundTrip(r)
}

func hostPort(u *url.URL) string {
	ports := map[string]string{"http": "80", "https": "443"}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), ports[u.Scheme]))
}

func (g *guarded) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if _, ok := g.proxies.Load(address); ok {
		return g.open.DialContext(ctx, network, address)
	}
	if g.hosts.Has(address) {
		return g.listed.DialContext(ctx, network, address)
	}
	return g.public.DialContext(ctx, network, address)
}

func (g *guarded) proxyFor(r *http.Request) (*url.URL, error) {
	to, err := g.proxy(r)
	if to != nil {
		ports := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}
		g.proxies.Store(net.JoinHostPort(to.Hostname(), cmp.Or(to.Port(), ports[to.Scheme])), true)
	}
	return to, err
}

func defaultDialer() net.Dialer {
	return net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
}
