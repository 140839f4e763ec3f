package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/config/wiring"
)

// WireAccess puts a Sallyport ahead of Node and RBAC, as config/wiring has it, and
// returns when that is in force. Of the options, KubeconfigFile is filled in, and
// the user that Sallyport reads the cluster as is exempt. Further authorizers are
// asked between Sallyport and Node.
func (l *Lab) WireAccess(ctx context.Context, s *Sallyport, options wiring.Authorizer, further ...apiserverv1.AuthorizerConfiguration) error {
	kubeconfig, err := wiring.AuthorizerKubeconfig(s.URL, s.CAFile, l.options.Cluster, wiring.Credentials{CertFile: l.caller.certFile, KeyFile: l.caller.keyFile})
	if err != nil {
		return err
	}
	// The API server reads the file again only when it is another one.
	options.KubeconfigFile = filepath.Join(l.Dir, fmt.Sprintf("%s-authorization-kubeconfig-%d.yaml", s.options.Name, time.Now().UnixNano()))
	if err := os.WriteFile(options.KubeconfigFile, kubeconfig, 0o600); err != nil {
		return err
	}
	options.Exempt = append([]string{SallyportUser}, options.Exempt...)
	config, err := options.Configuration()
	if err != nil {
		return err
	}
	config.Authorizers = slices.Insert(config.Authorizers, 1, further...)
	content, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	return l.SetAuthorization(ctx, string(content))
}

// UnwireAccess goes back to only Node and RBAC.
func (l *Lab) UnwireAccess(ctx context.Context) error { return l.SetAuthorization(ctx, "") }

// WireAdmission makes the API server call a Sallyport at admission, as
// config/wiring has it, and returns when that is in force. The configuration can
// be edited before it is written.
func (l *Lab) WireAdmission(ctx context.Context, s *Sallyport, edit func(*admissionregistrationv1.ValidatingWebhookConfiguration)) error {
	ca, err := os.ReadFile(s.CAFile)
	if err != nil {
		return err
	}
	config, err := wiring.Webhook(s.URL, ca, l.options.Cluster)
	if err != nil {
		return err
	}
	if edit != nil {
		edit(config)
	}
	probe := fmt.Sprintf("probe-%d", time.Now().UnixNano())
	config.Webhooks = append(config.Webhooks, probeWebhook(probe))
	manifest, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	// What fills in goes first: the probe stands in what judges.
	filling, err := wiring.MutatingWebhook(s.URL, ca, l.options.Cluster)
	if err != nil {
		return err
	}
	first, err := yaml.Marshal(filling)
	if err != nil {
		return err
	}
	if err := l.Apply(ctx, string(first)+"---\n"+string(manifest)); err != nil {
		return err
	}
	return l.awaitProbe(ctx, probe, true)
}

// UnwireAdmission takes back what WireAdmission did.
func (l *Lab) UnwireAdmission(ctx context.Context) error {
	if err := l.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(ctx, "sallyport", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	webhooks := l.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	config, err := webhooks.Get(ctx, "sallyport", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := webhooks.Delete(ctx, config.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return l.awaitProbe(ctx, strings.TrimSuffix(config.Webhooks[len(config.Webhooks)-1].Name, probeSuffix), false)
}

const probeSuffix = ".lab.sallyport.io"

// probeWebhook refuses one ConfigMap that nobody makes, by leading nowhere. Once
// that one is refused, the webhooks that stand beside it are in force as well.
func probeWebhook(name string) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name:                    name + probeSuffix,
		AdmissionReviewVersions: []string{"v1"},
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		FailurePolicy:           new(admissionregistrationv1.Fail),
		TimeoutSeconds:          new(int32(1)),
		ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")},
		MatchConditions:         []admissionregistrationv1.MatchCondition{{Name: "probe", Expression: "object.metadata.name == '" + name + "'"}},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}},
	}
}

// awaitProbe returns when the probe's webhook is in force, or no longer is.
func (l *Lab) awaitProbe(ctx context.Context, name string, wanted bool) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		_, err := l.Client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		refused := err != nil && strings.Contains(err.Error(), name+probeSuffix)
		return refused == wanted, nil
	})
	if err != nil {
		return fmt.Errorf("the webhook configuration is not in force: %w", err)
	}
	return nil
}
