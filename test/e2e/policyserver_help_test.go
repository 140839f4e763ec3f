package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/test/lab"
)

const system = "sallyport-system"

// farm is a cluster of its own in which nothing runs pods: processes of the test
// stand for those of PolicyServers, with what the controller made for them, and the
// API server reaches them by their Services.
type farm struct {
	*testing.T
	lab *lab.Lab
	// address is one of this machine that endpoints may have.
	address string
}

func newFarm(t *testing.T) *farm {
	t.Helper()
	address := outerAddress()
	if address == "" {
		t.Skip("this machine has no address but loopback, which no endpoint may have")
	}
	config := filepath.Join(repository(t), "config")
	l, err := startLab(t.Context(), lab.Options{
		Log: os.Stderr, CRDs: []string{filepath.Join(config, "crd")},
		// Webhooks are called at the endpoints of their Services, as nothing routes the
		// addresses of Services here.
		APIServerFlags: map[string][]string{"enable-aggregator-routing": {"true"}},
		Users:          []lab.User{{Name: bob}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	f := &farm{t, l, address}
	for _, namespace := range []string{system, "web"} {
		if err := l.CreateNamespace(t.Context(), namespace, nil); err != nil {
			t.Fatal(err)
		}
	}
	features := filepath.Join(config, "rbac", "features")
	f.must("apply", "-f", filepath.Join(config, "rbac"), "-f", filepath.Join(features, "policyserver-controller.yaml"), "-f", filepath.Join(features, "policyserver.yaml"))
	f.apply(people)
	return f
}

// outerAddress is an address of this machine that others could use.
func outerAddress() string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	return ""
}

func (f *farm) kubectl(args ...string) lab.Result {
	return f.lab.Kubectl(f.Context(), lab.Admin, args...)
}

// must runs kubectl, and returns what it printed.
func (f *farm) must(args ...string) string {
	f.Helper()
	r := f.kubectl(args...)
	if !r.OK() {
		f.Fatalf("kubectl %s: %s", strings.Join(args, " "), r)
	}
	return r.Stdout
}

func (f *farm) apply(manifest string) {
	f.Helper()
	if err := f.lab.Apply(f.Context(), manifest); err != nil {
		f.Fatal(err)
	}
}

// write applies a manifest as bob, who may do everything that RBAC can allow.
func (f *farm) write(manifest string) lab.Result {
	return f.lab.Run(f.Context(), lab.Kubectl{User: bob, Args: []string{"apply", "-f", "-"}, Stdin: strings.NewReader(manifest)})
}

// await waits until kubectl prints this.
func (f *farm) await(says string, args ...string) {
	f.Helper()
	eventually(f.T, func() string {
		if r := f.kubectl(args...); !r.OK() || !strings.Contains(r.Stdout, says) {
			return "kubectl " + strings.Join(args, " ") + ": " + r.String()
		}
		return ""
	})
}

// gone waits until there is no such object.
func (f *farm) gone(kind, namespace, name string) {
	f.Helper()
	eventually(f.T, func() string {
		if r := f.kubectl("get", kind, name, "-n", namespace, "--ignore-not-found", "-o", "name"); !r.OK() || r.Stdout != "" {
			return r.String()
		}
		return ""
	})
}

// ready is the condition of a policy or a server.
func ready(kind string) string {
	return `jsonpath={.status.conditions[?(@.type=="` + kind + `")].status} {.status.conditions[?(@.type=="` + kind + `")].reason}: {.status.conditions[?(@.type=="` + kind + `")].message}`
}

// program is a Sallyport that the test runs.
type program struct {
	mu  sync.Mutex
	out bytes.Buffer
	url string
	ca  []byte
}

func (p *program) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(text)
}

func (p *program) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// run runs Sallyport until stop is called or the test ends. Its address is one that
// the API server reaches; arguments say :8443 for it.
func (f *farm) run(account string, ca func() []byte, args ...string) (_ *program, stop func()) {
	f.Helper()
	kubeconfig, err := f.lab.Kubeconfig(f.Context(), "system:serviceaccount:"+system+":"+account)
	if err != nil {
		f.Fatal(err)
	}
	listener, err := net.Listen("tcp", f.address+":0")
	if err != nil {
		f.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	for i := range args {
		if args[i] == ":8443" {
			args[i] = address
		}
	}
	p := &program{url: "https://" + address}
	cmd := exec.Command(quick, append(args, "--kubeconfig", kubeconfig, "--shutdown-delay", "0s")...)
	cmd.Stdout, cmd.Stderr = p, p
	cmd.Env = append(os.Environ(), "HOME="+f.TempDir())
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
	})
	f.Cleanup(func() {
		stop()
		if f.Failed() {
			f.Logf("%s as %s:\n%s", args[0:4], account, p.log())
		}
	})
	eventually(f.T, func() string {
		p.ca = ca()
		if status, err := p.get(f.Context(), "/readyz"); err != nil || status != http.StatusOK {
			return fmt.Sprintf("%d, %v\n%s", status, err, p.log())
		}
		return ""
	})
	return p, stop
}

func (p *program) get(ctx context.Context, path string) (int, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, InsecureSkipVerify: true}} // a probe of the kubelet verifies nothing
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return 0, err
	}
	response, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// endpoint has a Service lead to a program.
func (f *farm) endpoint(service string, p *program) {
	f.Helper()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(p.url, "https://"))
	number, err := strconv.Atoi(port)
	if err != nil {
		f.Fatal(err)
	}
	slices := f.lab.Client.DiscoveryV1().EndpointSlices(system)
	_ = slices.Delete(f.Context(), service, metav1.DeleteOptions{})
	_, err = slices.Create(f.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{f.address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new("https"), Port: new(int32(number))}},
	}, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
}

// stand runs what stands for the pods of a PolicyServer: the arguments of its
// Deployment, with the files of its ConfigMap and its Secret, as its account. It then
// says that the Deployment is rolled out.
func (f *farm) stand(server, account string) (*program, func()) {
	f.Helper()
	name := "policy-server-" + server
	f.await("sallyport", "get", "deployment", name, "-n", system, "-o", "jsonpath={.spec.template.spec.containers[0].name}")
	deployment, err := f.lab.Client.AppsV1().Deployments(system).Get(f.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	config, err := f.lab.Client.CoreV1().ConfigMaps(system).Get(f.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	secret, err := f.lab.Client.CoreV1().Secrets(system).Get(f.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	if got := deployment.Spec.Template.Spec.ServiceAccountName; got != account {
		f.Fatalf("the Deployment of %s runs as %s", server, got)
	}
	dir := f.TempDir()
	places := []string{"/etc/sallyport-tls", filepath.Join(dir, "tls"), "/etc/sallyport/", filepath.Join(dir, "policies") + "/", "/var/cache/sallyport", filepath.Join(dir, "cache")}
	for _, sub := range []string{"tls", "policies", "cache"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			f.Fatal(err)
		}
	}
	for key, content := range secret.Data {
		if err := os.WriteFile(filepath.Join(dir, "tls", key), content, 0o600); err != nil {
			f.Fatal(err)
		}
	}
	for key, content := range config.Data {
		if err := os.WriteFile(filepath.Join(dir, "policies", key), []byte(content), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	var args []string
	for _, arg := range deployment.Spec.Template.Spec.Containers[0].Args {
		args = append(args, strings.NewReplacer(places...).Replace(arg))
	}
	p, stop := f.run(account, func() []byte { return secret.Data["ca.crt"] }, args...)
	f.endpoint(name, p)
	n := *deployment.Spec.Replicas
	f.must("patch", "deployment", name, "-n", system, "--subresource=status", "--type=merge", "-p",
		fmt.Sprintf(`{"status":{"observedGeneration":%d,"replicas":%d,"updatedReplicas":%d,"readyReplicas":%d,"availableReplicas":%d}}`, deployment.Generation, n, n, n, n))
	return p, stop
}
