package images

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sallyport-io/sallyport/internal/wasm/addresses"
)

// guarded is the way to registries. What a module names leads only to public
// addresses, unless the administrator listed the host: the server stands where other
// things can be reached. The address is judged when it is connected to, after names
// were resolved, so that no name and no redirect leads around it.
type guarded struct {
	plain, private addresses.Hosts
	transport      *http.Transport
}

func newGuarded(o *Options) *guarded {
	g := &guarded{plain: addresses.HostsOf(o.PlainHTTP), private: addresses.HostsOf(o.Private, o.PlainHTTP)}
	open := &net.Dialer{Timeout: 10 * time.Second}
	closed := &net.Dialer{Timeout: 10 * time.Second, Control: addresses.OnlyPublic}
	g.transport = http.DefaultTransport.(*http.Transport).Clone()
	// Through a proxy it would be the proxy that connects, and it knows no list.
	g.transport.Proxy = nil
	g.transport.ResponseHeaderTimeout = o.Timeout
	g.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if g.private.Has(address) {
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
	if request.URL.Scheme != "https" && !g.plain.Has(hostPort(request.URL)) {
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
