package webhooks

import (
	"bytes"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// CanaryResource is the resource of ours that is made in a dry run, to see whether
// webhooks reach Sallyport.
const CanaryResource = "policyexceptionresponses"

// canaryLead is where the webhook leads that is asked about the canary; nil if there is
// none.
func canaryLead(hooks []hook, mutates bool) *admissionregistrationv1.WebhookClientConfig {
	canary := served{group: v1alpha1.GroupVersion.Group, resource: CanaryResource, versions: []string{v1alpha1.GroupVersion.Version}}
	i := slices.IndexFunc(hooks, func(h hook) bool {
		return h.asks(class{mutates: mutates}, cell{canary.group, canary.resource, request.Create}, &canary)
	})
	if i < 0 {
		return nil
	}
	return &hooks[i].leads
}

// stray notes which webhooks lead elsewhere than the one that the canary shows to work.
func stray(hooks []hook, lead *admissionregistrationv1.WebhookClientConfig) {
	for i := range hooks {
		h := &hooks[i]
		switch {
		case lead == nil || sameDoor(h.leads, *lead):
		case !bytes.Equal(h.leads.CABundle, lead.CABundle):
			h.astray = "its caBundle is another than that of the webhook for exceptions"
		default:
			h.astray = "it leads elsewhere than the webhook for exceptions"
		}
	}
}

// sameDoor reports whether webhooks lead to the same, apart from what the class of a
// webhook puts before it.
func sameDoor(a, b admissionregistrationv1.WebhookClientConfig) bool {
	a, _ = class{}.leads(a)
	b, _ = class{}.leads(b)
	return apiequality.Semantic.DeepEqual(a, b)
}
