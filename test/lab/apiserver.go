package lab

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/config/wiring"
)

// auditPolicy keeps what every request was, with its annotations, and no bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// startControlPlane starts etcd and kube-apiserver.
func (l *Lab) startControlPlane(context.Context) error {
	flags, err := l.apiServerFlags()
	if err != nil {
		return err
	}
	l.env = &envtest.Environment{
		ControlPlaneStartTimeout: startTimeout,
		CRDDirectoryPaths:        l.options.CRDs,
		ErrorIfCRDPathMissing:    true,
		UseExistingCluster:       new(bool),
	}
	server := l.env.ControlPlane.GetAPIServer()
	store := &envtest.Etcd{DataDir: filepath.Join(l.Dir, "data")}
	l.env.ControlPlane.Etcd = store
	l.env.ControlPlane.KubectlPath = filepath.Join(l.binaries, "kubectl")
	if store.Path, err = l.signalled(etcd); err != nil {
		return err
	}
	if server.Path, err = l.signalled(apiServer); err != nil {
		return err
	}
	server.CertDir = filepath.Join(l.Dir, "apiserver")
	for _, dir := range []string{store.DataDir, server.CertDir} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	logs := make([]*os.File, 0, 2)
	for _, name := range []string{"etcd", "kube-apiserver"} {
		file, err := os.Create(l.LogFile(name))
		if err != nil {
			return err
		}
		defer file.Close()
		logs = append(logs, file)
	}
	store.Out, store.Err = logs[0], logs[0]
	server.Out, server.Err = logs[1], logs[1]

	args := server.Configure().Disable("authorization-mode")
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		args.Set(name, flags[name]...)
	}
	if l.options.Controllers != NoControllers {
		args.Disable("disable-admission-plugins")
	}
	if l.Config, err = l.env.Start(); err != nil {
		return fmt.Errorf("%w\nthe end of etcd's log:\n%s\nthe end of kube-apiserver's log:\n%s", err, tail(l.LogFile("etcd")), tail(l.LogFile("kube-apiserver")))
	}
	l.Client, err = kubernetes.NewForConfig(l.Config)
	return err
}

// apiServerFlags writes the files that kube-apiserver reads and returns the
// flags that it is started with.
func (l *Lab) apiServerFlags() (map[string][]string, error) {
	authorization := l.options.Authorization
	if authorization == "" {
		authorization = nodeAndRBAC
	}
	if err := os.WriteFile(l.authorizationFile(), []byte(authorization), 0o600); err != nil {
		return nil, err
	}
	admission, err := l.admissionFile()
	if err != nil {
		return nil, err
	}
	tokens, err := l.tokenFile()
	if err != nil {
		return nil, err
	}
	kubelet, err := l.kubeletCallers()
	if err != nil {
		return nil, err
	}
	flags := map[string][]string{
		"authorization-config":            {l.authorizationFile()},
		"admission-control-config-file":   {admission},
		"token-auth-file":                 {tokens},
		"enable-admission-plugins":        {strings.Join(append([]string{"NodeRestriction"}, l.options.AdmissionPlugins...), ",")},
		"kubelet-client-certificate":      {kubelet.certFile},
		"kubelet-client-key":              {kubelet.keyFile},
		"kubelet-preferred-address-types": {"InternalIP"},
		"endpoint-reconciler-type":        {"none"},
	}
	if len(l.options.FeatureGates) > 0 {
		var gates []string
		for _, name := range slices.Sorted(maps.Keys(l.options.FeatureGates)) {
			gates = append(gates, fmt.Sprintf("%s=%t", name, l.options.FeatureGates[name]))
		}
		flags["feature-gates"] = []string{strings.Join(gates, ",")}
	}
	if len(l.options.Programs) > 0 {
		// By addresses of Services nothing is reached here: there is no proxy on the node.
		flags["enable-aggregator-routing"] = []string{"true"}
	}
	if l.options.Audit || l.options.Used != nil {
		policy, text := filepath.Join(l.Dir, "audit-policy.yaml"), auditPolicy
		if !l.options.Audit {
			text = l.options.Used.policy()
		}
		if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
			return nil, err
		}
		flags["audit-policy-file"] = []string{policy}
		flags["audit-log-path"] = []string{l.AuditLog()}
	}
	maps.Copy(flags, l.options.APIServerFlags)
	return flags, nil
}

// admissionFile writes what admission plugins read: the certificate that the API
// server shows to webhooks, and the defaults of PodSecurity.
func (l *Lab) admissionFile() (string, error) {
	var err error
	if l.callers, err = newAuthority("callers of webhooks"); err != nil {
		return "", err
	}
	if err := os.WriteFile(l.CallerCA(), l.callers.pem, 0o600); err != nil {
		return "", err
	}
	if l.caller, err = l.callers.client(filepath.Join(l.Dir, "webhook-client"), cmp.Or(l.options.Caller, "kube-apiserver")); err != nil {
		return "", err
	}
	kubeconfig, err := wiring.AdmissionKubeconfig("*", wiring.Credentials{CertFile: l.caller.certFile, KeyFile: l.caller.keyFile})
	if err != nil {
		return "", err
	}
	kubeconfigFile := filepath.Join(l.Dir, "admission-kubeconfig.yaml")
	if err := os.WriteFile(kubeconfigFile, kubeconfig, 0o600); err != nil {
		return "", err
	}
	config, err := wiring.AdmissionConfiguration(kubeconfigFile)
	if err != nil {
		return "", err
	}
	if l.options.PodSecurity != "" {
		raw, err := yaml.YAMLToJSON([]byte(l.options.PodSecurity))
		if err != nil {
			return "", fmt.Errorf("the PodSecurity option: %w", err)
		}
		config.Plugins = append(config.Plugins, apiserverv1.AdmissionPluginConfiguration{
			Name: "PodSecurity", Configuration: &runtime.Unknown{Raw: raw, ContentType: runtime.ContentTypeJSON},
		})
	}
	content, err := yaml.Marshal(config)
	if err != nil {
		return "", err
	}
	name := filepath.Join(l.Dir, "admission.yaml")
	return name, os.WriteFile(name, content, 0o600)
}

// CallerCA returns the file with the CA of the certificate that the API server
// shows to webhooks: what --client-ca-file of Sallyport takes.
func (l *Lab) CallerCA() string { return filepath.Join(l.Dir, "webhook-client-ca.crt") }
