package server

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"loopback", func(*Options) {}, ""},
		{"loopback by name", func(o *Options) { o.Addr = "localhost:0" }, ""},
		{"loopback of IPv6", func(o *Options) { o.Addr = "[::1]:0" }, ""},
		{"every address", func(o *Options) { o.Addr = ":0" }, "--client-ca-file or --auth-token-file"},
		{"every address of IPv4", func(o *Options) { o.Addr = "0.0.0.0:0" }, "--client-ca-file or --auth-token-file"},
		{"another host's name", func(o *Options) { o.Addr = "localhost.example.com:0" }, "--client-ca-file or --auth-token-file"},
		{"an address that is mapped", func(o *Options) { o.Addr = "[::ffff:10.0.0.1]:0" }, "--client-ca-file or --auth-token-file"},
		{"no port", func(o *Options) { o.Addr = "127.0.0.1" }, "is not HOST:PORT"},
		{"HTTP on every address, with tokens", func(o *Options) { o.Addr, o.InsecureHTTP, o.TokenFile = ":0", true, "x" }, "--insecure-http binds only loopback"},
		{"HTTP with a CA", func(o *Options) { o.InsecureHTTP, o.ClientCAFile = true, "x" }, "serves without TLS"},
		{"HTTP with a certificate", func(o *Options) { o.InsecureHTTP, o.CertFile, o.KeyFile = true, "x", "y" }, "serves without TLS"},
		{"HTTP with a CA to be written", func(o *Options) { o.InsecureHTTP, o.WriteCA = true, "x" }, "serves without TLS"},
		{"every address, with tokens", func(o *Options) { o.Addr, o.TokenFile = ":0", file(t, "tokens", "x\n") }, ""},
		{"every address, with client CAs", func(o *Options) { o.Addr, o.ClientCAFile = ":0", file(t, "ca.crt", newAuthority(t, nil, 1).pem()) }, ""},
		{"certificate without key", func(o *Options) { o.CertFile = "x" }, "needs its key"},
		{"key without certificate", func(o *Options) { o.KeyFile = "x" }, "needs its key"},
		{"CA of a given certificate", func(o *Options) { o.CertFile, o.KeyFile, o.WriteCA = "x", "y", "z" }, "--write-ca"},
		{"certificate that is not there", func(o *Options) { o.CertFile, o.KeyFile = "/nowhere/x", "/nowhere/y" }, "the certificate cannot be read"},
		{"CA that cannot be written", func(o *Options) { o.WriteCA = "/nowhere/ca.crt" }, "the CA cannot be written"},
		{"client CAs that are not there", func(o *Options) { o.ClientCAFile = "/nowhere/ca.crt" }, "client certificates cannot be read"},
		{"client CAs that are none", func(o *Options) { o.ClientCAFile = file(t, "ca.crt", "none") }, "no certificate in PEM form"},
		{"an address that is taken", func(o *Options) {
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { taken.Close() })
			o.Addr = taken.Addr().String()
		}, "the address cannot be bound"},
		{"tokens that are not there", func(o *Options) { o.TokenFile = "/nowhere/tokens" }, "tokens cannot be read"},
		{"an empty file of tokens", func(o *Options) { o.TokenFile = file(t, "tokens", "") }, "no token was found"},
		{"an empty file of client CAs", func(o *Options) { o.ClientCAFile = file(t, "ca.crt", "") }, "no certificate in PEM form"},
		{"no tokens", func(o *Options) { o.TokenFile = file(t, "tokens", "\n") }, "no token was found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t, &world{})
			tt.change(&o)
			s, err := New(o)
			if err == nil {
				defer s.Close()
			}
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestInsecureHTTP(t *testing.T) {
	o := options(t, &world{}, noExec)
	o.InsecureHTTP = true
	_, client, url := running(t, o)
	if code, body := post(t, client, url+"/authorize", sar); code != http.StatusOK || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("%s: status %d: %s", url, code, body)
	}
}

// TestMethods says that every path and method has one answer, of one sentence,
// and that nothing is sent elsewhere.
func TestMethods(t *testing.T) {
	o := options(t, &world{})
	o.Cluster = func(string) (State, error) { return State{Cluster: &world{}}, nil }
	_, client, url := running(t, o)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, tt := range []struct {
		method, path string
		want         int
		allow        string
	}{
		{"POST", "/authorize", 200, ""}, {"POST", "/authorize/prod", 200, ""}, {"POST", "/authorize/prod%2Feu", 200, ""}, {"POST", "/authorize/..%2Fx", 200, ""},
		{"GET", "/validate", 405, "POST"}, {"HEAD", "/validate", 405, "POST"}, {"OPTIONS", "/mutate", 405, "POST"}, {"PUT", "/authorize", 405, "POST"},
		{"DELETE", "/mutate/x", 405, "POST"}, {"PATCH", "/validate/x", 405, "POST"}, {"BREW", "/validate", 405, "POST"},
		{"POST", "/metrics", 405, "GET, HEAD"}, {"POST", "/healthz", 405, "GET, HEAD"}, {"DELETE", "/readyz", 405, "GET, HEAD"},
		{"GET", "/healthz", 200, ""}, {"HEAD", "/healthz", 200, ""},
		{"POST", "/other", 404, ""}, {"POST", "/validate/a/b", 404, ""}, {"POST", "/", 404, ""}, {"POST", "", 404, ""},
		{"POST", "/validate/", 404, ""}, {"GET", "/validate/", 404, ""}, {"POST", "/authorize/", 404, ""}, {"POST", "/validate/x/", 404, ""},
		{"POST", "//validate", 404, ""}, {"POST", "/validate//x", 404, ""}, {"POST", "/x/../validate", 404, ""}, {"POST", "/./validate", 404, ""},
		{"POST", "/validate/..", 404, ""}, {"POST", "/Validate", 404, ""}, {"POST", "/%76alidate/", 404, ""}, {"GET", "/metrics/", 404, ""},
		{"POST", "/" + strings.Repeat("x", 5000), 404, ""},
	} {
		t.Run(tt.method+" "+tt.path[:min(len(tt.path), 20)], func(t *testing.T) {
			req, err := http.NewRequest(tt.method, url+tt.path, strings.NewReader(sar))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			code, body := read(t, resp)
			if code != tt.want || resp.Header.Get("Allow") != tt.allow {
				t.Errorf("status %d, Allow %q; want %d, %q: %s", code, resp.Header.Get("Allow"), tt.want, tt.allow, body)
			}
			if sentence := strings.TrimSuffix(body, "\n"); code >= 300 && tt.method != "HEAD" && (sentence == "" || strings.Contains(sentence, "\n") || len(sentence) > 400) {
				t.Errorf("%q is not a sentence", body)
			}
		})
	}
}

// TestShutdown ends the server while a request is being judged: it is answered.
func TestShutdown(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	o := options(t, &world{pod: func(context.Context) error { close(entered); <-release; return nil }}, noExec)
	o.InsecureHTTP = true
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	answered := make(chan int, 1)
	go func() {
		code, _ := post(t, http.DefaultClient, "http://"+s.Addr().String()+"/authorize", sar)
		answered <- code
	}()
	<-entered
	cancel()
	close(release)
	if code := <-answered; code != http.StatusOK {
		t.Errorf("status %d", code)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestShutdownDoesNotWaitForEver ends the server though a request does not end.
func TestShutdownDoesNotWaitForEver(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	o := options(t, &world{pod: func(context.Context) error { close(entered); <-release; return nil }}, noExec)
	o.InsecureHTTP = true
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.ending = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended, cut := make(chan error, 1), make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	client := &http.Client{Transport: &http.Transport{}}
	go func() {
		resp, err := client.Post("http://"+s.Addr().String()+"/authorize", "application/json", strings.NewReader(sar))
		if err == nil {
			resp.Body.Close()
		}
		cut <- err
	}()
	<-entered
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "requests were still running after 1ms") {
		t.Errorf("ended with %v", err)
	}
	if err := <-cut; err == nil {
		t.Error("the request was answered")
	}
	close(release)
}
