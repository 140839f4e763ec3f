package clusters

import (
	"strings"
	"testing"
)

// kubeconfig has one cluster, one user and one context, with what a test puts into
// them.
func kubeconfig(cluster, user string) string {
	return "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {" + cluster + "}}]\n" +
		"users: [{name: u, user: {" + user + "}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"
}

func TestParseKubeconfig(t *testing.T) {
	const server = `server: "https://10.0.0.1:6443"`
	fine := kubeconfig(server, "token: s3cret")
	for _, tt := range []struct {
		name, text string
		// want are parts of the error; none: there is none.
		want []string
	}{
		{"a token", fine, nil},
		{"behind a marker and a comment", "# of the cluster\n---\n" + fine, nil},
		{"JSON", `{"clusters":[{"name":"c","cluster":{"server":"https://a"}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{"token":"t"}}],"current-context":"x"}`, nil},
		{"plain HTTP on loopback", kubeconfig(`server: "http://127.0.0.1:8080"`, ""), nil},
		{"with a path, as some proxies of API servers have", kubeconfig(`server: "https://hub/k8s/clusters/c-1"`, "token: t"), nil},
		{"somebody to act as", kubeconfig(server, "token: t, as: reader"), nil},
		{"nothing", " \n", []string{"it is empty"}},
		{"too much", strings.Repeat("#", maxKubeconfig+1), []string{"at most"}},
		{"no YAML", "{", []string{"neither YAML nor JSON"}},
		{"a name twice", fine + "kind: Config\n", []string{"has a name twice"}},
		{"a cluster twice", strings.Replace(fine, "clusters: [", "clusters: [{name: c, cluster: {server: \"https://b\"}}, ", 1), []string{"a name stands twice"}},
		{"two documents", fine + "---\n" + fine, []string{"more than one document"}},
		{"an ended document", fine + "...\nkind: x\n", []string{"more than one document"}},
		{"another kind", strings.Replace(fine, "Config", "Pod", 1), []string{`it is "Pod" of "v1"`}},
		{"an unknown field", kubeconfig(server, "token: s3cret, password-file: x"), []string{"password-file unknown field"}},
		{"a field in another case", kubeconfig(server, "Token: s3cret"), []string{"Token unknown field"}},
		{"a value of the wrong kind", kubeconfig(server, "token: [s3cret]"), []string{"wrong kind"}},
		{"no current context", strings.Replace(fine, "current-context: x", "", 1), []string{"current context cannot be used"}},
		{"a context that is not there", strings.Replace(fine, "current-context: x", "current-context: other", 1), []string{"current context cannot be used"}},
		{"a program", kubeconfig(server, "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, id], interactiveMode: Never}"), []string{"users[0].user.exec runs a program"}},
		{"a plugin", kubeconfig(server, "auth-provider: {name: oidc}"), []string{"users[0].user.auth-provider runs a plugin"}},
		{"a program of a user that is not in use", strings.Replace(fine, "users: [", "users: [{name: v, user: {exec: {command: sh}}}, ", 1), []string{"users[0].user.exec"}},
		{"files", kubeconfig(server+", certificate-authority: /etc/ca", "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token, client-certificate: a, client-key: b"),
			[]string{"certificate-authority names a file", "tokenFile names a file", "client-certificate names a file", "client-key names a file"}},
		{"a proxy", kubeconfig(server+`, proxy-url: "http://proxy"`, ""), []string{"proxy-url leads through another machine"}},
		{"anybody may answer", kubeconfig(server+`, insecure-skip-tls-verify: true`, ""), []string{"insecure-skip-tls-verify lets anybody answer"}},
		{"plain HTTP", kubeconfig(`server: "http://10.0.0.1"`, ""), []string{"does not begin with https://"}},
		{"a name that looks like loopback", kubeconfig(`server: "http://localhost.example.org"`, ""), []string{"does not begin with https://"}},
		{"no scheme", kubeconfig(`server: "10.0.0.1:6443"`, ""), []string{"not a URL"}},
		{"a file for an address", kubeconfig(`server: "file:///etc/passwd"`, ""), []string{"not a URL"}},
		{"no address", kubeconfig(`tls-server-name: a`, ""), []string{"server is missing"}},
		{"a user in the address", kubeconfig(`server: "https://u:p@10.0.0.1"`, ""), []string{"more than scheme"}},
		{"a bad authority", kubeconfig(server+`, certificate-authority-data: "!"`, ""), []string{"wrong kind"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config, err := ParseKubeconfig([]byte(tt.text))
			if len(tt.want) == 0 {
				if err != nil || config == nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("it was accepted")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not hold %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%q says what is secret", err)
			}
		})
	}
}

func FuzzParseKubeconfig(f *testing.F) {
	f.Add([]byte(kubeconfig(`server: "https://a"`, "token: t")))
	f.Add([]byte(kubeconfig(`server: "https://a"`, "exec: {command: sh}")))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := ParseKubeconfig(data)
		if err != nil {
			return
		}
		if config.ExecProvider != nil || config.AuthProvider != nil || config.BearerTokenFile != "" || config.CAFile != "" || config.CertFile != "" || config.KeyFile != "" || config.Insecure || config.Proxy != nil {
			t.Errorf("%q came to %+v", data, config)
		}
	})
}
