package clusters

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/clientcmd/api/latest"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// maxKubeconfig is what a Secret can hold.
const maxKubeconfig = 1 << 20

// marker begins or ends a document of YAML.
var marker = regexp.MustCompile(`(?m)^(---|\.\.\.)(\s|$)`)

// ParseKubeconfig reads the kubeconfig of a cluster that is guarded. Whoever
// writes it decides what the server connects to, and must decide nothing else
// about the server: it runs no program, names none of the server's files, goes
// through no proxy, and is checked against a certificate authority. An error says
// all that is wrong with it, and none of what is secret in it.
func ParseKubeconfig(data []byte) (*rest.Config, error) {
	written, err := decodeKubeconfig(data)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(refused(written)...); err != nil {
		return nil, err
	}
	config := clientcmdapi.NewConfig()
	if err := latest.Scheme.Convert(written, config, nil); err != nil {
		return nil, fmt.Errorf("a name stands twice among its clusters, users, contexts or extensions: %w", err)
	}
	// With no place to look for further files or for the account of a pod.
	made, err := clientcmd.NewNonInteractiveClientConfig(*config, config.CurrentContext, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("its current context cannot be used: %w", err)
	}
	return made, nil
}

// decodeKubeconfig reads YAML or JSON strictly.
func decodeKubeconfig(data []byte) (*clientcmdv1.Config, error) {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New("it is empty")
	case len(data) > maxKubeconfig:
		return nil, fmt.Errorf("it has %d bytes, and at most %d are read", len(data), maxKubeconfig)
	}
	for _, at := range marker.FindAllIndex(data, -1) {
		if data[at[0]] == '.' || holdsSomething(data[:at[0]]) {
			return nil, errors.New("it holds more than one document of YAML; leave one")
		}
	}
	// What the parser says could quote what is secret.
	converted, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, errors.New("it is neither YAML nor JSON, or has a name twice")
	}
	config := &clientcmdv1.Config{}
	if err := apijson.UnmarshalStrict(converted, config); err != nil {
		var paths []string
		for _, wrong := range apijson.ErrorsOf(err) {
			paths = append(paths, strings.TrimSpace(wrong.Path+" "+described(wrong.Detail)))
		}
		return nil, fmt.Errorf("it cannot be read as a kubeconfig: %s", strings.Join(paths, "; "))
	}
	if config.Kind != "" && config.Kind != "Config" || config.APIVersion != "" && config.APIVersion != "v1" {
		return nil, fmt.Errorf("it is %q of %q; Config of v1 belongs here", config.Kind, config.APIVersion)
	}
	return config, nil
}

// holdsSomething reports whether there is more than blank lines, comments and
// markers.
func holdsSomething(data []byte) bool {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return true
		}
	}
	return false
}

// described keeps what a strict error says of names, and not what it quotes of
// values.
func described(detail string) string {
	if strings.HasPrefix(detail, "unknown field") {
		return detail
	}
	return "has a value of the wrong kind"
}

// refused lists what a kubeconfig must not hold, in any of its parts: one that is
// not used today is used once the current context changes.
func refused(config *clientcmdv1.Config) []error {
	var errs []error
	refuse := func(path, format string, args ...any) {
		errs = append(errs, fmt.Errorf(path+" "+format, args...))
	}
	const inline = "names a file of the server; write its content into %s (kubectl config view --flatten --minify does)"
	for i := range config.Clusters {
		c, at := &config.Clusters[i].Cluster, fmt.Sprintf("clusters[%d].cluster.", i)
		if c.CertificateAuthority != "" {
			refuse(at+"certificate-authority", inline, "certificate-authority-data")
		}
		if c.ProxyURL != "" {
			refuse(at+"proxy-url", "leads through another machine, which is not done; leave it out")
		}
		if c.InsecureSkipTLSVerify {
			refuse(at+"insecure-skip-tls-verify", "lets anybody answer for the API server; give certificate-authority-data in its place")
		}
		if why := checkServer(c.Server); why != "" {
			refuse(at+"server", "%s", why)
		}
	}
	for i := range config.AuthInfos {
		u, at := &config.AuthInfos[i].AuthInfo, fmt.Sprintf("users[%d].user.", i)
		for _, file := range []struct{ field, value, inline string }{
			{"client-certificate", u.ClientCertificate, "client-certificate-data"},
			{"client-key", u.ClientKey, "client-key-data"},
			{"tokenFile", u.TokenFile, "token"},
		} {
			if file.value != "" {
				refuse(at+file.field, inline, file.inline)
			}
		}
		if u.Exec != nil {
			refuse(at+"exec", "runs a program on the server; give a token or a client certificate in its place")
		}
		if u.AuthProvider != nil {
			refuse(at+"auth-provider", "runs a plugin; give a token or a client certificate in its place")
		}
	}
	return errs
}

// checkServer says why an address cannot be that of an API server; empty where it
// can.
func checkServer(server string) string {
	u, err := url.Parse(server)
	switch {
	case server == "":
		return "is missing: it is the address of the API server"
	case err != nil || u.Host == "" || u.Opaque != "":
		return "is not a URL such as https://10.0.0.1:6443"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "holds more than scheme, host, port and path"
	case strings.EqualFold(u.Scheme, "https"):
		return ""
	case strings.EqualFold(u.Scheme, "http") && loopback(u.Hostname()):
		return ""
	}
	return "does not begin with https://, which everything but a loopback address has to"
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
