// Package wiring holds the files that put Sallyport's two doors into a
// kube-apiserver, and fills them in for one Sallyport. The files can be used as
// they are, with addresses and paths changed by hand.
package wiring

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"
)

//go:embed authorization-config.yaml
var authorizationConfig []byte

//go:embed authorization-config-all.yaml
var authorizationConfigAll []byte

//go:embed authorization-kubeconfig.yaml
var authorizationKubeconfig []byte

//go:embed validatingwebhookconfiguration.yaml
var webhookConfiguration []byte

//go:embed mutatingwebhookconfiguration.yaml
var mutatingConfiguration []byte

//go:embed admission-config.yaml
var admissionConfig []byte

//go:embed admission-kubeconfig.yaml
var admissionKubeconfig []byte

// Credentials are what kube-apiserver shows Sallyport: a client certificate with
// its key, or a file with a bearer token.
type Credentials struct {
	CertFile, KeyFile string
	TokenFile         string
}

func (c Credentials) fill(user *clientcmdv1.AuthInfo) error {
	switch {
	case c.TokenFile != "" && c.CertFile == "" && c.KeyFile == "":
	case c.TokenFile == "" && c.CertFile != "" && c.KeyFile != "":
	default:
		return errors.New("credentials are either a certificate with its key or a token file")
	}
	user.ClientCertificate, user.ClientKey, user.TokenFile = c.CertFile, c.KeyFile, c.TokenFile
	return nil
}

// Authorizer says how kube-apiserver asks Sallyport's side door.
type Authorizer struct {
	// KubeconfigFile is a file with what AuthorizerKubeconfig returned.
	KubeconfigFile string
	// FailurePolicy is Deny or NoOpinion. Empty: as in the file, Deny.
	FailurePolicy string
	// Timeout of one question. Zero: as in the file.
	Timeout time.Duration
	// Exempt are users that Sallyport is never asked about: those that it reads the
	// cluster as.
	Exempt []string
	// Everything has Sallyport asked about every resource, as
	// authorization-config-all.yaml has it: DenyPolicies about others than what gets
	// into a pod, and sessions that give more than RBAC, need that.
	Everything bool
	// Further are what Sallyport is asked about beyond what gets into a pod, where that is
	// not everything. What authorization-config-all.yaml leaves out is left out here too.
	Further []Resource
	// Namespace is Sallyport's own. Empty: as in the file.
	Namespace string
	// Start are namespaces beside kube-system whose service accounts are not asked about
	// where more than what gets into a pod is.
	Start []string
}

// Resource is one that an API server is asked about.
type Resource struct {
	Group, Resource, Subresource string
	// Verbs are those by which it is; nil for all.
	Verbs []string
}

// Configuration returns the AuthorizationConfiguration with Sallyport ahead of
// Node and RBAC.
func (a Authorizer) Configuration() (*apiserverv1.AuthorizationConfiguration, error) {
	config := &apiserverv1.AuthorizationConfiguration{}
	name, content := "authorization-config.yaml", authorizationConfig
	if a.Everything {
		name, content = "authorization-config-all.yaml", authorizationConfigAll
	}
	if err := yaml.UnmarshalStrict(content, config); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if a.KubeconfigFile == "" {
		return nil, errors.New("the authorizer needs a kubeconfig file that says where Sallyport is")
	}
	webhook := config.Authorizers[0].Webhook
	if len(a.Further) > 0 && !a.Everything {
		if err := a.askFurther(webhook.MatchConditions); err != nil {
			return nil, err
		}
	}
	for i := range webhook.MatchConditions {
		a.place(&webhook.MatchConditions[i].Expression)
	}
	webhook.ConnectionInfo.KubeConfigFile = &a.KubeconfigFile
	switch a.FailurePolicy {
	case "":
	case apiserverv1.FailurePolicyDeny, apiserverv1.FailurePolicyNoOpinion:
		webhook.FailurePolicy = a.FailurePolicy
	default:
		return nil, fmt.Errorf("the failure policy is %q, want Deny or NoOpinion", a.FailurePolicy)
	}
	if a.Timeout != 0 {
		webhook.Timeout = metav1.Duration{Duration: a.Timeout}
	}
	if len(a.Exempt) > 0 {
		webhook.MatchConditions = append(webhook.MatchConditions, apiserverv1.WebhookMatchCondition{
			Expression: "!(request.user in [" + quoted(a.Exempt) + "])",
		})
	}
	return config, nil
}

// quoted writes strings as CEL literals.
func quoted(values []string) string {
	literals := make([]string, len(values))
	for i, v := range values {
		literals[i] = "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`).Replace(v) + "'"
	}
	return strings.Join(literals, ", ")
}

// AuthorizerKubeconfig returns the kubeconfig that leads kube-apiserver to
// Sallyport: base is its URL without a path, caFile the CA of its certificate.
// A cluster name, where one is given, becomes part of the path.
func AuthorizerKubeconfig(base, caFile, cluster string, credentials Credentials) ([]byte, error) {
	config := &clientcmdv1.Config{}
	if err := yaml.UnmarshalStrict(authorizationKubeconfig, config); err != nil {
		return nil, fmt.Errorf("authorization-kubeconfig.yaml: %w", err)
	}
	server, err := door(base, "authorize", cluster)
	if err != nil {
		return nil, err
	}
	config.Clusters[0].Cluster.Server = server
	config.Clusters[0].Cluster.CertificateAuthority = caFile
	if err := credentials.fill(&config.AuthInfos[0].AuthInfo); err != nil {
		return nil, err
	}
	return yaml.Marshal(config)
}

// AdmissionKubeconfig returns the kubeconfig that gives kube-apiserver these
// credentials for the webhook with this name: SERVICE.NAMESPACE.svc, HOST:PORT,
// or * for every webhook.
func AdmissionKubeconfig(webhook string, credentials Credentials) ([]byte, error) {
	config := &clientcmdv1.Config{}
	if err := yaml.UnmarshalStrict(admissionKubeconfig, config); err != nil {
		return nil, fmt.Errorf("admission-kubeconfig.yaml: %w", err)
	}
	config.AuthInfos[0].Name = webhook
	if err := credentials.fill(&config.AuthInfos[0].AuthInfo); err != nil {
		return nil, err
	}
	return yaml.Marshal(config)
}

// AdmissionConfiguration returns what lets kube-apiserver identify itself to
// validating webhooks. The file is one with what AdmissionKubeconfig returned.
func AdmissionConfiguration(kubeconfigFile string) (*apiserverv1.AdmissionConfiguration, error) {
	config := &apiserverv1.AdmissionConfiguration{}
	if err := yaml.UnmarshalStrict(admissionConfig, config); err != nil {
		return nil, fmt.Errorf("admission-config.yaml: %w", err)
	}
	for i := range config.Plugins {
		plugin := &config.Plugins[i]
		var webhooks map[string]any
		if err := yaml.Unmarshal(plugin.Configuration.Raw, &webhooks); err != nil {
			return nil, fmt.Errorf("admission-config.yaml: %w", err)
		}
		webhooks["kubeConfigFile"] = kubeconfigFile
		raw, err := json.Marshal(webhooks)
		if err != nil {
			return nil, err
		}
		plugin.Configuration = &runtime.Unknown{Raw: raw, ContentType: runtime.ContentTypeJSON}
	}
	return config, nil
}

// Webhook returns the ValidatingWebhookConfiguration of a Sallyport that stands
// at a URL. The CA of its certificate comes in PEM. A cluster name, where one is
// given, becomes part of the path.
func Webhook(base string, ca []byte, cluster string) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(webhookConfiguration, config); err != nil {
		return nil, fmt.Errorf("validatingwebhookconfiguration.yaml: %w", err)
	}
	address, err := door(base, "validate", cluster)
	if err != nil {
		return nil, err
	}
	for i := range config.Webhooks {
		config.Webhooks[i].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &address, CABundle: ca}
	}
	return config, nil
}

// MutatingWebhook returns the MutatingWebhookConfiguration of a Sallyport, as
// Webhook does.
func MutatingWebhook(base string, ca []byte, cluster string) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(mutatingConfiguration, config); err != nil {
		return nil, fmt.Errorf("mutatingwebhookconfiguration.yaml: %w", err)
	}
	address, err := door(base, "mutate", cluster)
	if err != nil {
		return nil, err
	}
	for i := range config.Webhooks {
		config.Webhooks[i].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &address, CABundle: ca}
	}
	return config, nil
}

func door(base, name, cluster string) (string, error) {
	parsed, err := url.Parse(base)
	if err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		return "", fmt.Errorf("the URL of Sallyport is %q, want https://HOST:PORT", base)
	}
	if cluster == "" {
		return parsed.JoinPath(name).String(), nil
	}
	return parsed.JoinPath(name, url.PathEscape(cluster)).String(), nil
}
