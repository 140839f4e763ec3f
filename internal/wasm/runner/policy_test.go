package runner_test

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

func TestCheckModule(t *testing.T) {
	const shop = "shop"
	digest := "@sha256:" + strings.Repeat("a", 64)
	for _, tt := range []struct {
		address, namespace, want string
	}{
		{"registry://ghcr.io/org/policy:v1", shop, ""},
		{"registry://ghcr.io/org/policy:v1" + digest, shop, ""},
		{"registry://ghcr.io:8443/org/policy" + digest, shop, ""},
		{"ghcr.io/org/policy:v1", shop, ""},
		{"https://example.com/policy.wasm", shop, ""},
		{"https://192.0.2.7:8443/policy.wasm", shop, ""},
		{"https://[2001:db8::1]/policy.wasm", shop, ""},
		{"configmap://shop/modules/a.wasm", shop, ""},
		{"configmap://shop/modules/a.wasm", "", ""},
		{"file:///policies/a.wasm", "", ""},
		{"http://127.0.0.1:9000/a.wasm", "", ""},
		{"http://localhost/a.wasm", "", ""},
		{"registry://localhost:5000/a:v1", "", ""},
		{"https://10.0.0.1/a.wasm", "", ""},

		{"", "", "is not an address"},
		{"registry://", "", "is not an address"},
		{"https://example.com/a b", "", "is not an address"},
		{"https://example.com/a\u2028", "", "is not an address"},
		{"https://example.com/a\x00", "", "is not an address"},
		{"FILE:///etc/passwd", "", `scheme "FILE"`},
		{"File:///etc/passwd", shop, `scheme "File"`},
		{"HTTPS://example.com/a.wasm", shop, `scheme "HTTPS"`},
		{"oci://ghcr.io/a:v1", "", `scheme "oci"`},
		{" file:///a", "", "is not an address"},
		{"file://a.wasm", "", "begins with a slash"},
		{"file://localhost/a.wasm", "", "begins with a slash"},
		{"file:/etc/passwd", shop, "names no host"},
		{"file:///a.wasm", shop, "is a file of the server"},
		{"configmap://modules/a.wasm", "", "names no key"},
		{"configmap://a/b/c/d", "", "names no key"},
		{"configmap://kube-system/modules/a.wasm", shop, `own, "shop"`},
		{"configmap://Shop/modules/a.wasm", shop, `own, "shop"`},
		{"http://example.com/a.wasm", "", "over http"},
		{"http://127.0.0.1.example.com/a.wasm", "", "over http"},
		{"http://x.localhost/a.wasm", "", "over http"},
		{"http://localhost.example.com/a.wasm", "", "over http"},
		{"https://user:pass@example.com/a.wasm", "", "user name or a password"},
		{"https://user@127.0.0.1/a.wasm", shop, "user name or a password"},
		{"registry://user:pass@ghcr.io/a:v1", "", "user name or a password"},
		{"https:///a.wasm", "", "is not a URL"},
		{"https://:443/a.wasm", shop, "names no host"},
		{"https://:443/a.wasm", "", "names no host"},
		{"https://./a.wasm", shop, "names no host"},
		{"registry://:5000/a:v1", shop, "names no host"},
		{"registry://ghcr.io?x=/a:v1", shop, "names no host"},
		{"registry://a", "", "names no repository"},
		{"registry://ghcr.io/", "", "names no repository"},
		{"registry:///a:v1", "", "names no repository"},
		{"registry://ghcr.io/Org/Policy:v1", "", "is not an address in a registry"},
		{"registry://ghcr.io/org/policy", "", "neither a tag nor a digest"},
		{"registry://ghcr.io/org/policy@sha256:aa", "", "is not an address in a registry"},

		{"http://127.0.0.1/a.wasm", shop, "machine of the server"},
		{"http://localhost/a.wasm", shop, "machine of the server"},
		{"https://localhost/a.wasm", shop, "machine of the server"},
		{"https://LOCALHOST:443/a.wasm", shop, "machine of the server"},
		{"https://localhost./a.wasm", shop, "machine of the server"},
		{"https://localhost../a.wasm", shop, "machine of the server"},
		{"https://a.localhost/a.wasm", shop, "machine of the server"},
		{"https://ip6-localhost/a.wasm", shop, "machine of the server"},
		{"https://127.8.9.10/a.wasm", shop, "machine of the server"},
		{"https://127.0.0.1./a.wasm", shop, "machine of the server"},
		{"https://0.0.0.0/a.wasm", shop, "machine of the server"},
		{"https://0.1.2.3/a.wasm", shop, "machine of the server"},
		{"https://[::1]/a.wasm", shop, "machine of the server"},
		{"https://[::]:8443/a.wasm", shop, "machine of the server"},
		{"https://[::ffff:127.0.0.1]/a.wasm", shop, "machine of the server"},
		{"https://[::ffff:7f00:1]/a.wasm", shop, "machine of the server"},
		{"https://[::127.0.0.1]/a.wasm", shop, "machine of the server"},
		{"https://[64:ff9b::a9fe:a9fe]/a.wasm", shop, "machine of the server"},
		{"https://[2002:7f00:1::]/a.wasm", shop, "machine of the server"},
		{"https://169.254.169.254/latest", shop, "machine of the server"},
		{"https://[fe80::1]/a.wasm", shop, "machine of the server"},
		{"https://[fe80::1%25eth0]/a.wasm", shop, "names no host"},
		{"https://[fd00:ec2::254]/a.wasm", shop, "machine of the server"},
		{"https://100.100.100.200/a.wasm", shop, "machine of the server"},
		{"https://2130706433/a.wasm", shop, "neither a name nor an IP address"},
		{"https://127.1/a.wasm", shop, "neither a name nor an IP address"},
		{"https://0x7f.0.0.0x1/a.wasm", shop, "neither a name nor an IP address"},
		{"https://0177.0.0.1/a.wasm", shop, "neither a name nor an IP address"},
		{"https://127.0.0.1.:443/a.wasm", shop, "machine of the server"},
		{"https://%31%32%37.0.0.1/a.wasm", shop, "is not a URL"},
		{"https://\uff11\uff12\uff17.0.0.1/a.wasm", shop, "letters beyond ASCII"},
		{"https://\u24db\u24de\u24d2\u24d0lhost/a.wasm", shop, "letters beyond ASCII"},
		{`https://127.0.0.1\@example.com/a.wasm`, shop, "is not a URL"},
		{"https://example.com@127.0.0.1/a.wasm", shop, "user name or a password"},
		{"registry://127.0.0.1:5000/a:v1", shop, "machine of the server"},
		{"registry://localhost/a:v1", shop, "machine of the server"},
		{"registry://[::1]:5000/a:v1", shop, "machine of the server"},
		{"localhost:5000/a:v1", shop, "machine of the server"},
		{"registry://2130706433/a:v1", shop, "neither a name nor an IP address"},
	} {
		got := runner.CheckModule(tt.address, tt.namespace)
		if tt.want == "" && got != "" || tt.want != "" && !strings.Contains(got, tt.want) {
			t.Errorf("%q in namespace %q: %q, want %q", tt.address, tt.namespace, got, tt.want)
		}
	}
}

func FuzzCheckModule(f *testing.F) {
	for _, seed := range []string{"registry://a/b:c", "https://[::1]/", "file:///a", "configmap://a/b/c", "https://127.1", "a/b@sha256:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		cluster, namespaced := runner.CheckModule(address, ""), runner.CheckModule(address, "shop")
		if cluster != "" && namespaced == "" {
			t.Errorf("%q is right only for a namespace: %s", address, cluster)
		}
	})
}

func TestNew(t *testing.T) {
	if p := made(t, runner.Spec{}); string(p.Settings) != "{}" || p.Timeout != runner.DefaultTimeout || p.String() != "ClusterAdmissionPolicy/p" {
		t.Errorf("%+v", p)
	}
	if _, err := runner.New(runner.Spec{Kind: "AdmissionPolicy", Namespace: "shop", Name: "p", Capabilities: []string{"oci/*"}}); err == nil {
		t.Error("a policy of a namespace was given a capability")
	}
	if _, err := runner.New(runner.Spec{Kind: "ClusterAdmissionPolicy", Name: "p", Settings: []byte(`{`)}); err == nil {
		t.Error("settings that are not JSON")
	}
}
