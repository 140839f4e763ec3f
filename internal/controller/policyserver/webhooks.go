package policyserver

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// Target is the server that webhooks lead to. No question is asked about objects in
// its namespace, so that it can start.
type Target struct {
	Namespace, Service string
	Port               int32
	CABundle           []byte
	// LetIn has nothing refused while the server cannot be asked, whatever policies say.
	LetIn bool
}

// validating is the webhook by which an API server asks a policy.
func (t *Target) validating(p *hosted) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name: webhookName(p.id), ClientConfig: t.client(p.id, "validate", t.failurePolicy(p)), AdmissionReviewVersions: []string{"v1"},
		Rules: p.spec.Rules, FailurePolicy: t.failurePolicy(p), MatchPolicy: new(admissionregistrationv1.Equivalent),
		SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: timeout(p),
		NamespaceSelector: t.namespaces(p), ObjectSelector: p.spec.ObjectSelector, MatchConditions: conditions(p),
	}
}

// mutating is the webhook by which it asks a policy for changes.
func (t *Target) mutating(p *hosted) admissionregistrationv1.MutatingWebhook {
	return admissionregistrationv1.MutatingWebhook{
		Name: webhookName(p.id), ClientConfig: t.client(p.id, "mutate", t.failurePolicy(p)), AdmissionReviewVersions: []string{"v1"},
		Rules: p.spec.Rules, FailurePolicy: t.failurePolicy(p), MatchPolicy: new(admissionregistrationv1.Equivalent),
		SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: timeout(p),
		NamespaceSelector: t.namespaces(p), ObjectSelector: p.spec.ObjectSelector, MatchConditions: conditions(p),
		// What others change later is for the policy to see too.
		ReinvocationPolicy: new(admissionregistrationv1.IfNeededReinvocationPolicy),
	}
}

// client leads to a policy, at /policy/ID/validate or /policy/ID/mutate, with
// /ignore before it for a webhook with that failure policy.
func (t *Target) client(id, what string, on *admissionregistrationv1.FailurePolicyType) admissionregistrationv1.WebhookClientConfig {
	path := "/policy/" + id + "/" + what
	if on != nil && *on == admissionregistrationv1.Ignore {
		path = door.IgnorePath + path
	}
	return admissionregistrationv1.WebhookClientConfig{
		CABundle: t.CABundle,
		Service:  &admissionregistrationv1.ServiceReference{Namespace: t.Namespace, Name: t.Service, Port: &t.Port, Path: &path},
	}
}

func (t *Target) failurePolicy(p *hosted) *admissionregistrationv1.FailurePolicyType {
	if t.LetIn || p.spec.FailurePolicy == v1alpha1.FailurePolicyIgnore {
		return new(admissionregistrationv1.Ignore)
	}
	return new(admissionregistrationv1.Fail)
}

func timeout(p *hosted) *int32 {
	if p.spec.TimeoutSeconds != nil {
		return p.spec.TimeoutSeconds
	}
	return new(int32(runner.DefaultTimeout.Seconds()))
}

// namespaces selects those of the policy, without the one in which its server has
// to be able to start.
func (t *Target) namespaces(p *hosted) *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	if p.wide != nil && p.wide.NamespaceSelector != nil {
		s = p.wide.NamespaceSelector.DeepCopy()
	}
	if p.ref.Namespace != "" {
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: []string{p.ref.Namespace},
		})
	}
	s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{t.Namespace},
	})
	return s
}

// notOurs leaves Sallyport's own objects out: a server that is away could otherwise
// not be repaired, nor a policy that refuses everything be taken away.
var notOurs = admissionregistrationv1.MatchCondition{
	Name: "not-of-sallyport", Expression: "request.resource.group != '" + v1alpha1.GroupVersion.Group + "'",
}

// conditions are those of the policy, and what keeps a rule about every group off
// our own, as it is when the policy is judged by.
func conditions(p *hosted) []admissionregistrationv1.MatchCondition {
	every := slices.ContainsFunc(p.spec.Rules, func(r admissionregistrationv1.RuleWithOperations) bool {
		return slices.Contains(r.APIGroups, "*")
	})
	named := slices.ContainsFunc(p.spec.Rules, func(r admissionregistrationv1.RuleWithOperations) bool {
		return slices.Contains(r.APIGroups, v1alpha1.GroupVersion.Group)
	})
	if !every || named {
		return p.spec.MatchConditions
	}
	return append([]admissionregistrationv1.MatchCondition{notOurs}, p.spec.MatchConditions...)
}
