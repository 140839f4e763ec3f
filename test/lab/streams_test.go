package lab

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// transports are the two that kubectl streams by.
var transports = map[string][]string{"WebSocket": nil, "SPDY": SPDY}

func overBoth(t *testing.T, run func(t *testing.T, kubectl func(stdin string, args ...string) Result)) {
	for name, env := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(stdin string, args ...string) Result {
				k := Kubectl{User: Admin, Env: env, Args: append([]string{"--namespace=shop"}, args...)}
				if stdin != "" {
					k.Stdin = strings.NewReader(stdin)
				}
				return shared.Run(t.Context(), k)
			})
		})
	}
}

func TestExec(t *testing.T) {
	overBoth(t, func(t *testing.T, kubectl func(string, ...string) Result) {
		kubectl("", "exec", "web", "--", "sh", "-c", "echo to stdout; echo to stderr >&2; echo $COLOUR; exit 7").want(t, 7, "to stdout\ngreen\n")
		kubectl("", "exec", "web", "--", "true").want(t, 0, "")
		kubectl("one\ntwo\n", "exec", "--stdin", "web", "--", "sort", "--reverse").want(t, 0, "two\none\n")
		kubectl("", "exec", "web", "--", "no-such-command").want(t, 127, "not found")
		kubectl("", "exec", "many", "--", "hostname").want(t, 0, "Defaulted container")
		kubectl("", "exec", "many", "-c", "second", "--", "sh", "-c", "basename $PWD").want(t, 0, "second")
		kubectl("", "exec", "many", "-c", "third", "--", "true").want(t, 1, "third")
	})
}

func TestExecWithATerminal(t *testing.T) {
	// kubectl asks for a terminal only where it has one itself: the request is made
	// without kubectl. The size of the terminal comes in a message of its own, after
	// the command has started.
	for name, env := range transports {
		t.Run(name, func(t *testing.T) {
			out, err := execInTerminal(t.Context(), env == nil, "shop", "web", "sh", "-c", "test -t 0 && test -t 1 && until stty size | grep 33; do sleep 0.05; done && exit 4")
			if code := exitStatus(err); code != 4 || !strings.Contains(out, "33 111") {
				t.Fatalf("want exit status 4 and a terminal of 33 lines and 111 columns, got %v and %q", err, out)
			}
		})
	}
}

func TestAttach(t *testing.T) {
	overBoth(t, func(t *testing.T, kubectl func(string, ...string) Result) {
		kubectl("", "attach", "web").want(t, 0, "attached to container app of pod shop/web")
		kubectl("knock knock\n", "attach", "--stdin", "web").want(t, 0, "knock knock")
	})
}

func TestPortForward(t *testing.T) {
	for name, env := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, stop, _, err := shared.PortForward(t.Context(), Kubectl{User: Admin, Env: env, Args: []string{"--namespace=shop", "pod/web", ":80"}})
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/greeting", strings.NewReader("hello"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if want := "pod shop/web answers on port 80: POST /greeting\nhello"; err != nil || string(body) != want {
				t.Fatalf("got %q and %v, want %q", body, err, want)
			}
			if got := echo(t, address, "no HTTP\n"); got != "no HTTP\n" {
				t.Fatalf("what is not HTTP came back as %q", got)
			}
		})
	}
}

func echo(t *testing.T, address, text string) string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer context.AfterFunc(t.Context(), func() { _ = conn.Close() })()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	back := make([]byte, len(text))
	if _, err := io.ReadFull(conn, back); err != nil {
		t.Fatal(err)
	}
	return string(back)
}

func TestCopy(t *testing.T) {
	for name, env := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			content := strings.Repeat("a line that is sent up and down\n", 20_000)
			if err := os.WriteFile(filepath.Join(dir, "up"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			kubectl := func(args ...string) Result {
				return shared.Run(t.Context(), Kubectl{User: Admin, Env: env, Dir: dir, Args: append([]string{"--namespace=shop", "cp"}, args...)})
			}
			kubectl("up", "web:"+name).want(t, 0, "")
			kubectl("web:"+name, "down").want(t, 0, "")
			back, err := os.ReadFile(filepath.Join(dir, "down"))
			if err != nil || string(back) != content {
				t.Fatalf("%d bytes came back, %d were sent up: %v", len(back), len(content), err)
			}
		})
	}
}

func TestLogs(t *testing.T) {
	shared.Kubectl(t.Context(), Admin, "logs", "--namespace=shop", "many", "-c", "sidecar").want(t, 0, "container sidecar of pod shop/many has started")
	shared.Kubectl(t.Context(), Admin, "logs", "--namespace=shop", "web", "--tail=0").want(t, 0, "")
}

func TestDebugAddsAnEphemeralContainer(t *testing.T) {
	ctx := t.Context()
	if err := shared.Apply(ctx, "{apiVersion: v1, kind: Pod, metadata: {name: odd, namespace: shop}, spec: {containers: [{name: app, image: app}]}}"); err != nil {
		t.Fatal(err)
	}
	if err := shared.AwaitRunning(ctx, "shop", "odd"); err != nil {
		t.Fatal(err)
	}
	debug := Kubectl{User: Admin, Stdin: strings.NewReader("is anybody there\n"), Args: []string{
		"debug", "--namespace=shop", "odd", "--image=registry.example.com/tools:1", "--container=tools", "--stdin", "--profile=general",
	}}
	shared.Run(ctx, debug).want(t, 0, "is anybody there")
	shared.Kubectl(ctx, Admin, "exec", "--namespace=shop", "odd", "-c", "tools", "--", "sh", "-c", "basename $PWD").want(t, 0, "tools")
}

// TestProxy needs an address that is not loopback: the API server proxies to no
// other.
func TestProxy(t *testing.T) {
	if shared.options.NodeAddress == "" {
		t.Skip("this machine has no address but loopback")
	}
	node := "/api/v1/nodes/" + NodeName + "/proxy"
	shared.Kubectl(t.Context(), Admin, "get", "--raw", node+"/healthz").want(t, 0, "ok")
	shared.Kubectl(t.Context(), Admin, "get", "--raw", node+"/pods").want(t, 0, `"name":"web"`)
	run := Kubectl{User: Admin, Stdin: strings.NewReader(""), Args: []string{"create", "--raw", node + "/run/shop/web/app?cmd=echo+reached", "-f", "-"}}
	shared.Run(t.Context(), run).want(t, 0, "reached")
}

func TestTheKubeletAnswersTheAPIServerAlone(t *testing.T) {
	node, err := shared.Client.CoreV1().Nodes().Get(t.Context(), NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort(node.Status.Addresses[0].Address, strconv.Itoa(int(node.Status.DaemonEndpoints.KubeletEndpoint.Port)))
	strangers, err := newAuthority("strangers")
	if err != nil {
		t.Fatal(err)
	}
	own, err := strangers.client(filepath.Join(t.TempDir(), "stranger"), "stranger", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.LoadX509KeyPair(own.certFile, own.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, certificates := range map[string][]tls.Certificate{"nobody": nil, "a stranger": {cert}} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/pods", nil)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := client.Do(request); err == nil {
			_ = response.Body.Close()
			t.Errorf("%s was answered with %s", name, response.Status)
		}
	}
}
