package wiring

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// Namespace that has to be in every list of what may start while Sallyport is away: the
// API server's own components are there.
const startNamespace = metav1.NamespaceSystem

// DefaultTimeoutSeconds is how long an API server waits for an answer, where nothing else is
// said.
const DefaultTimeoutSeconds = 5

// Installed says how the webhooks that are shipped are installed in the cluster that Sallyport
// runs in.
type Installed struct {
	// Namespace is Sallyport's own, and Name that of the Service in it, with its Port.
	Namespace, Name string
	Port            int32
	// URL is where API servers find Sallyport without a Service, such as
	// https://sallyport.example.com:8443; empty for the Service.
	URL string
	// CABundle is the CA of Sallyport's certificate, in PEM.
	CABundle []byte
	// FailurePolicy of the webhooks, except for those that keep theirs.
	FailurePolicy admissionregistrationv1.FailurePolicyType
	// TimeoutSeconds of the webhooks, except for those that keep theirs.
	TimeoutSeconds int32
	// Start are namespaces whose pods Kubernetes' own controllers may make while Sallyport
	// is away; kube-system is always among them.
	Start []string
	// PodKinds are resources of other projects that make pods, beside those of Kubernetes.
	PodKinds []schema.GroupResource
	// Exclude are namespaces that are not asked about, beside Sallyport's own.
	Exclude []string
}

// Webhooks about what makes pods, and about the marks on it.
const (
	podsWebhook      = "pods.sallyport.io"
	templatesWebhook = "templates.sallyport.io"
)

// own are the webhooks about Sallyport's own kinds and their definitions.
var own = []string{"policies.sallyport.io", "exceptions.sallyport.io", "sessions.sallyport.io", "definitions.sallyport.io"}

// Own reports whether the webhook with this name is about Sallyport's own kinds.
func Own(webhook string) bool { return slices.Contains(own, webhook) }

// keeps reports whether a webhook goes on refusing what could not be judged, whatever the
// failure policy is: what is written of Sallyport's own kinds, and marks that are written by
// themselves, would count once it is back. The webhook that marks templates is asked about
// each of them.
func keeps(webhook string, mutates bool) bool {
	return Own(webhook) || webhook == templatesWebhook && !mutates
}

// Webhooks returns both configurations as they are installed, with what an API server would
// fill in.
func (i *Installed) Webhooks() (*admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration, error) {
	judges, changes := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(i.text(webhookConfiguration), judges); err != nil {
		return nil, nil, fmt.Errorf("validatingwebhookconfiguration.yaml: %w", err)
	}
	if err := yaml.UnmarshalStrict(i.text(mutatingConfiguration), changes); err != nil {
		return nil, nil, fmt.Errorf("mutatingwebhookconfiguration.yaml: %w", err)
	}
	for at := range judges.Webhooks {
		w := &judges.Webhooks[at]
		switch w.Name {
		case podsWebhook:
			w.Rules = append(w.Rules, i.podRules("", admissionregistrationv1.Create, admissionregistrationv1.Update)...)
		case templatesWebhook:
			w.Rules = append(w.Rules, i.podRules("/status", admissionregistrationv1.Update)...)
		}
		i.complete(keeps(w.Name, false), &w.ClientConfig, &w.FailurePolicy, &w.TimeoutSeconds, &w.NamespaceSelector, &w.ObjectSelector)
	}
	for at := range changes.Webhooks {
		w := &changes.Webhooks[at]
		if w.Name == templatesWebhook {
			w.Rules = append(w.Rules, i.podRules("", admissionregistrationv1.Create, admissionregistrationv1.Update)...)
		}
		i.complete(keeps(w.Name, true), &w.ClientConfig, &w.FailurePolicy, &w.TimeoutSeconds, &w.NamespaceSelector, &w.ObjectSelector)
	}
	return judges, changes, nil
}

// podRules are about the kinds that make pods beside those of Kubernetes, in every version.
func (i *Installed) podRules(subresource string, operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	var rules []admissionregistrationv1.RuleWithOperations
	all := admissionregistrationv1.AllScopes
	for _, kind := range i.PodKinds {
		rules = append(rules, admissionregistrationv1.RuleWithOperations{Operations: operations, Rule: admissionregistrationv1.Rule{
			APIGroups: []string{kind.Group}, APIVersions: []string{"*"}, Resources: []string{kind.Resource + subresource}, Scope: &all,
		}})
	}
	return rules
}

// text is a file with the namespaces that are named in its expressions.
func (i *Installed) text(file []byte) []byte {
	start := append([]string{startNamespace}, i.Start...)
	slices.Sort(start)
	return []byte(strings.NewReplacer("'"+Namespace+"'", quoted([]string{i.Namespace}), "['"+startNamespace+"']", "["+quoted(slices.Compact(start))+"]").Replace(string(file)))
}

func (i *Installed) complete(kept bool, leads *admissionregistrationv1.WebhookClientConfig, policy **admissionregistrationv1.FailurePolicyType, timeout **int32, namespaces, objects **metav1.LabelSelector) {
	path := ptr.Deref(leads.Service.Path, "")
	if !kept {
		*policy, *timeout = &i.FailurePolicy, &i.TimeoutSeconds
		if i.FailurePolicy == admissionregistrationv1.Ignore {
			path = "/ignore" + path
		}
	}
	*leads = admissionregistrationv1.WebhookClientConfig{CABundle: i.CABundle}
	if i.URL != "" {
		url := i.URL + path
		leads.URL = &url
	} else {
		leads.Service = &admissionregistrationv1.ServiceReference{Namespace: i.Namespace, Name: i.Name, Port: &i.Port, Path: &path}
	}
	if *namespaces != nil {
		names := append([]string{i.Namespace}, i.Exclude...)
		slices.Sort(names)
		*namespaces = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: slices.Compact(names),
		}}}
	} else {
		*namespaces = &metav1.LabelSelector{}
	}
	if *objects == nil {
		*objects = &metav1.LabelSelector{}
	}
}
