package fetch

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/wasm/addresses"
)

const emptyModule = "\x00asm\x01\x00\x00\x00"

// names answers each question for an IPv4 address with the one of its name.
func names(t *testing.T, addresses map[string]string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		query := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(query)
			if err != nil {
				return
			}
			name, at := "", 12
			for ; query[at] != 0; at += int(query[at]) + 1 {
				name += string(query[at+1:at+1+int(query[at])]) + "."
			}
			end := at + 5
			answer := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
			if to, ok := addresses[strings.TrimSuffix(name, ".")]; ok && binary.BigEndian.Uint16(query[at+1:]) == 1 && n >= end {
				four := netip.MustParseAddr(to).As4()
				answer[7] = 1
				answer = append(append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), four[:]...)
			}
			_, _ = server.WriteTo(answer, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// outside is an address of this machine that others can reach, where tests serve
// what is outside; the test is skipped if there is none.
func outside(t *testing.T) string {
	t.Helper()
	found, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range found {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Is4() && !addresses.Inside(prefix.Addr()) {
			return prefix.Addr().String()
		}
	}
	t.Skip("the machine has no address that others can reach")
	return ""
}

func TestForeign(t *testing.T) {
	address := outside(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		_, _ = w.Write([]byte(emptyModule))
	}))
	server.Listener.Close()
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Listener = listener
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.InsecureSkipVerify = true //nolint:gosec // the names of the test are in no certificate
	transport.DialContext = nil
	f := New(Options{Transport: transport})
	client, err := guard(transport, net.Dialer{Resolver: names(t, map[string]string{
		"out.test": address, "in.test": "127.0.0.1", "metadata.test": "169.254.169.254", "zero.test": "0.0.0.0",
		"private.test": "10.255.255.1", "shared.test": "100.64.0.1",
	})}, addresses.HostsOf([]string{"out.test", address, "in.test"}))
	f.guarded = func() (*http.Client, error) { return client, err }
	// A connection that somebody else has open is not used.
	if _, err := f.Fetch(t.Context(), "https://127.0.0.1:"+port+"/a"); err != nil {
		t.Fatal(err)
	}
	to := func(target string) string {
		return "https://out.test:" + port + "/a?to=" + url.QueryEscape(target)
	}
	for _, tt := range []struct{ address, want string }{
		{"https://out.test:" + port + "/a", ""},
		{"https://" + address + ":" + port + "/a", ""},
		{to("https://" + address + ":" + port + "/a"), ""},
		{"https://127.0.0.1:" + port + "/a", "machine of the server"},
		{"https://in.test:" + port + "/a", "leads to 127.0.0.1"},
		{"https://metadata.test/a", "leads to 169.254.169.254"},
		{"https://zero.test:" + port + "/a", "leads to 0.0.0.0"},
		{to("https://127.0.0.1:" + port + "/a"), "machine of the server"},
		{to("http://127.0.0.1:" + port + "/a"), "machine of the server"},
		{to("https://in.test:" + port + "/a"), "leads to 127.0.0.1"},
		{to("http://169.254.169.254/latest"), "machine of the server"},
		{to("http://out.test:" + port + "/a"), "only https"},
		{to("https://2130706433:" + port + "/a"), "neither a name nor an IP address"},
		{to("file:///etc/passwd"), "no host"},
		{"file:///etc/passwd", "a file of the server"},
		{"https://private.test:" + port + "/a", "leads to 10.255.255.1, which is not a public address"},
		{"https://shared.test:" + port + "/a", "leads to 100.64.0.1, which is not a public address"},
		{"https://10.255.255.1:" + port + "/a", "leads to 10.255.255.1, which is not a public address"},
		{to("https://private.test:" + port + "/a"), "leads to 10.255.255.1, which is not a public address"},
		{"registry://private.test:" + port + "/a:v1", "leads to 10.255.255.1, which is not a public address"},
		{"registry://in.test:" + port + "/a:v1", "leads to 127.0.0.1"},
		{"registry://127.0.0.1:" + port + "/a:v1", "machine of the server"},
		{"registry://localhost:" + port + "/a:v1", "machine of the server"},
	} {
		_, err := f.Fetch(Foreign(t.Context()), tt.address)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.address, err, tt.want)
		}
	}
}

// TestForeignThroughAProxy says that a proxy may be anywhere, and nothing else.
func TestForeignThroughAProxy(t *testing.T) {
	proxied := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		proxied++
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(proxy.Close)
	to, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := New(Options{Transport: &http.Transport{Proxy: http.ProxyURL(to)}})
	if _, err := f.Fetch(Foreign(t.Context()), "https://example.com/a"); proxied != 1 || err == nil {
		t.Errorf("asked the proxy %d times: %v", proxied, err)
	}
	if _, err := f.Fetch(Foreign(t.Context()), "https://"+to.Host+"/a"); proxied != 1 || err == nil || !strings.Contains(err.Error(), "machine of the server") {
		t.Errorf("the proxy itself: %v", err)
	}
}

// TestForeignNeedsATransport says that what cannot be guarded is not used.
func TestForeignNeedsATransport(t *testing.T) {
	f := New(Options{Transport: roundTripper{}})
	if _, err := f.Fetch(Foreign(t.Context()), "https://example.com/a"); err == nil || !strings.Contains(err.Error(), "cannot be kept") {
		t.Error(err)
	}
}

type roundTripper struct{}

func (roundTripper) RoundTrip(*http.Request) (*http.Response, error) { panic("it was used") }
