package wiring

import (
	"net/url"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// file is one that the API server reads, or a part of what it is started by.
type file struct {
	name string
	// says are lines ahead of its content.
	says    []string
	content string
}

// text is the file with what is said ahead of it.
func (f *file) text() string {
	text := "# " + f.name + "\n"
	for _, line := range f.says {
		text += "# " + decision.Clean(line) + "\n"
	}
	return text + f.content
}

func (f *flags) in(name string) string { return path.Join(f.directory, name) }

// credentials are what the API server shows.
func (f *flags) credentials() wiring.Credentials {
	if f.token {
		return wiring.Credentials{TokenFile: f.in("token")}
	}
	return wiring.Credentials{CertFile: f.in("client.crt"), KeyFile: f.in("client.key")}
}

// beside says which files have to be there that are not written here.
func (f *flags) beside() string {
	if f.token {
		return "Put beside it: " + f.in("token") + ", one of the tokens of Sallyport's --auth-token-file."
	}
	return "Put beside it: " + f.in("client.crt") + " and " + f.in("client.key") + ", signed by a CA of Sallyport's --client-ca-file."
}

func (f *flags) authorizerFiles(options wiring.Authorizer, says []string) ([]file, error) {
	config, err := options.Configuration()
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := wiring.AuthorizerKubeconfig(strings.TrimRight(f.server, "/"), f.in("ca.crt"), f.cluster, f.credentials())
	if err != nil {
		return nil, err
	}
	says = append([]string{"Sallyport is asked before Node and RBAC. It is read again when it changes."}, says...)
	return []file{
		{f.in("authorization-config.yaml"), says, string(text)},
		{f.in("authorization-kubeconfig.yaml"), []string{f.beside(), "And " + f.in("ca.crt") + ", the CA of Sallyport's certificate."}, string(kubeconfig)},
	}, nil
}

func (f *flags) admissionFiles() ([]file, error) {
	at, err := url.Parse(f.server)
	if err != nil {
		return nil, err
	}
	// The API server looks a webhook up by the name of its Service, or by HOST:PORT.
	name := at.Host
	if strings.HasSuffix(at.Hostname(), ".svc") && at.Port() == "443" {
		name = at.Hostname()
	} else if !strings.HasSuffix(at.Hostname(), ".svc") && at.Port() == "" {
		name = at.Hostname() + ":443"
	}
	kubeconfig, err := wiring.AdmissionKubeconfig(name, f.credentials())
	if err != nil {
		return nil, err
	}
	config, err := wiring.AdmissionConfiguration(f.in("admission-kubeconfig.yaml"))
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return nil, err
	}
	return []file{
		{f.in("admission-config.yaml"), []string{"What the API server has already for --admission-control-config-file goes into the same list of plugins."}, string(text)},
		{f.in("admission-kubeconfig.yaml"), []string{f.beside()}, string(kubeconfig)},
	}, nil
}
