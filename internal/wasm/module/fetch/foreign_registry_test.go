package fetch

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/sallyport-io/sallyport/internal/wasm/addresses"
)

// TestForeignGetsNothingOfTheServers says that whoever may only write into a
// namespace gets no module that the server got with its own credentials, by its
// digest or by these.
func TestForeignGetsNothingOfTheServers(t *testing.T) {
	t.Parallel()
	asked := false
	f := New(Options{Cache: t.TempDir(), Credential: func(context.Context, string) (auth.Credential, error) {
		asked = true
		return auth.Credential{}, errors.New("the test gives none")
	}})
	manifest := []byte(`{"layers":[{"mediaType":"application/wasm","digest":"` + DigestOf([]byte("\x00asm")) + `","size":4}]}`)
	for _, data := range [][]byte{manifest, []byte("\x00asm")} {
		if err := f.keep(DigestOf(data), data); err != nil {
			t.Fatal(err)
		}
	}
	address := "registry://modules.invalid/private@" + DigestOf(manifest)
	if _, err := f.Fetch(t.Context(), address); err != nil {
		t.Errorf("what was fetched before: %v", err)
	}
	if m, err := f.Fetch(Foreign(t.Context()), address); err == nil || asked {
		t.Errorf("got %v, credentials were asked for: %t", m, asked)
	}
}

// A registry names the token service that is asked for it. It leads nobody to what
// its own address could not lead to, and nobody on the way reads what is sent there.
func TestTokenServices(t *testing.T) {
	address := outside(t)
	var asked atomic.Int64
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"token":"t"}`))
	}))
	t.Cleanup(tokens.Close)
	_, plain, _ := net.SplitHostPort(tokens.Listener.Addr().String())
	realm := ""
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Www-Authenticate", `Bearer realm="`+realm+`",service="registry",scope="repository:a:pull"`)
		w.WriteHeader(http.StatusUnauthorized)
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
	dialer := net.Dialer{Resolver: names(t, map[string]string{
		"out.test": address, "in.test": "127.0.0.1", "private.test": "10.255.255.1", "metadata.test": "169.254.169.254",
	})}
	transport.DialContext = dialer.DialContext
	f := New(Options{Transport: transport, Credential: func(context.Context, string) (auth.Credential, error) {
		return auth.Credential{Username: "server", Password: "secret"}, nil
	}})
	client, err := guard(transport, dialer, addresses.HostsOf([]string{"out.test"}))
	f.guarded = func() (*http.Client, error) { return client, err }
	for _, tt := range []struct {
		realm   string
		foreign bool
		want    string
	}{
		{"http://out.test:" + plain + "/token", true, "uses http"},
		{"http://in.test:" + plain + "/token", true, "uses http"},
		{"http://10.255.255.1/token", true, "uses http"},
		{"http://127.0.0.1:" + plain + "/token", true, "uses http"},
		{"https://in.test:" + port + "/token", true, "leads to 127.0.0.1"},
		{"https://private.test/token", true, "leads to 10.255.255.1"},
		{"https://metadata.test/token", true, "leads to 169.254.169.254"},
		{"https://10.255.255.1/token", true, "leads to 10.255.255.1"},
		{"http://in.test:" + plain + "/token", false, "uses http"},
	} {
		realm = tt.realm
		ctx := t.Context()
		if tt.foreign {
			ctx = Foreign(ctx)
		}
		if _, err := f.Fetch(ctx, "registry://out.test:"+port+"/a:v1"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, foreign %t: %v, want %q", tt.realm, tt.foreign, err, tt.want)
		}
	}
	// A registry of this machine is asked without TLS, and sends nobody further so.
	local := httptest.NewServer(server.Config.Handler)
	t.Cleanup(local.Close)
	realm = "http://out.test:" + plain + "/token"
	if _, err := f.Fetch(t.Context(), "registry://"+local.Listener.Addr().String()+"/a:v1"); err == nil || !strings.Contains(err.Error(), "only https") {
		t.Errorf("a registry of this machine: %v", err)
	}
	for _, to := range []string{"http://out.test:" + plain + "/token", "https://10.255.255.1/token", "https://127.0.0.1:" + port + "/token"} {
		request, err := http.NewRequestWithContext(Foreign(t.Context()), http.MethodGet, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := client.Do(request); err == nil {
			response.Body.Close()
			t.Errorf("%s was asked", to)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the token service was asked %d times", n)
	}
}
