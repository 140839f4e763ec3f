package images

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// notPublic are the networks that nobody on the internet is in, beside those that
// net/netip tells of: a registry in one of them is somebody's own.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	// These carry an IPv4 address, which could be any.
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("100::/64"),
}

// public reports whether an address is one of the internet.
func public(address netip.Addr) bool {
	address = address.Unmap()
	if !address.IsGlobalUnicast() || address.IsPrivate() {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(address) {
			return false
		}
	}
	return true
}

// hosts are names of hosts, with or without a port.
type hosts map[string]bool

func hostsOf(lists ...[]string) hosts {
	h := hosts{}
	for _, list := range lists {
		for _, name := range list {
			h[name] = true
		}
	}
	return h
}

// has reports whether a host with its port is listed, by itself or with the port.
func (h hosts) has(hostPort string) bool {
	if h[hostPort] {
		return true
	}
	name, _, err := net.SplitHostPort(hostPort)
	return err == nil && h[name]
}

// guarded is the way to registries. What a module names leads to public addresses
// alone, unless the administrator listed the host: the server stands where other
// things can be reached. The address is judged when it is connected to, after names
// were resolved, so that no name and no redirect leads around it.
type guarded struct {
	plain, private hosts
	transport      *http.Transport
}

func newGuarded(o *Options) *guarded {
	g := &guarded{plain: hostsOf(o.PlainHTTP), private: hostsOf(o.Private, o.PlainHTTP)}
	open := &net.Dialer{Timeout: 10 * time.Second}
	closed := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("the address %s is not understood: %w", address, err)
		}
		if !public(to.Addr()) {
			return fmt.Errorf("%s is no public address, and the registry is not listed as one that may have another", to.Addr())
		}
		return nil
	}}
	g.transport = http.DefaultTransport.(*http.Transport).Clone()
	// Through a proxy it would be the proxy that connects, and it knows no list.
	g.transport.Proxy = nil
	g.transport.ResponseHeaderTimeout = o.Timeout
	g.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if g.private.has(address) {
			return open.DialContext(ctx, network, address)
		}
		return closed.DialContext(ctx, network, address)
	}
	if o.Roots != nil {
		g.transport.TLSClientConfig.RootCAs = o.Roots
	}
	return g
}

// RoundTrip sends a request, if nobody on its way can change it.
func (g *guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != "https" && !g.plain.has(hostPort(request.URL)) {
		return nil, fmt.Errorf("%s is not read from %s: it is not listed as a registry without TLS", request.URL.Scheme, request.URL.Host)
	}
	return g.transport.RoundTrip(request)
}

// hostPort is the host of an address with its port.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[u.Scheme]
		if port == "" {
			port = "80"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}
