package shipped

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/sallyport-io/sallyport/config/wiring"
)

// suffix is that of the names of Sallyport's webhooks. Others in the same configuration are
// the administrator's, and stay.
const suffix = ".sallyport.io"

// canary is the webhook by which is seen whether webhooks reach Sallyport.
const canary = "exceptions.sallyport.io"

// plan works out what a configuration is to hold, of what it holds now, and whether that is
// all. What is about Sallyport's own kinds is always there: nobody is stopped by it, and by it
// is seen whether webhooks reach Sallyport. Until they do, nothing else is added, or made to
// refuse more than it did, and nothing is taken away.
func (k *Keeper) plan(live, wanted []admissionregistrationv1.MutatingWebhook, ca []byte, reached bool) (after []admissionregistrationv1.MutatingWebhook, complete bool) {
	known := map[string]*admissionregistrationv1.MutatingWebhook{}
	for i := range live {
		known[live[i].Name] = &live[i]
	}
	complete = true
	for i := range wanted {
		w := wanted[i].DeepCopy()
		was := known[w.Name]
		w.ClientConfig.CABundle = k.trusted(was, known[canary], ca)
		switch {
		case wiring.Own(w.Name), reached, was != nil && loosens(w):
			after = append(after, *w)
		case was != nil:
			after = append(after, *was)
			complete = complete && apiequality.Semantic.DeepEqual(was, w)
		default:
			complete = false
		}
	}
	for i := range live {
		isWanted := slices.ContainsFunc(wanted, func(w admissionregistrationv1.MutatingWebhook) bool { return w.Name == live[i].Name })
		if !isWanted && !(reached && strings.HasSuffix(live[i].Name, suffix)) {
			after = append(after, live[i])
		}
	}
	return after, complete
}

// trusted is the caBundle of a webhook: that of the configuration's canary, which is seen to
// work, where it has none of its own.
func (k *Keeper) trusted(was, canary *admissionregistrationv1.MutatingWebhook, ca []byte) []byte {
	switch {
	case k.KeepsCA:
		return ca
	case was != nil && len(was.ClientConfig.CABundle) > 0:
		return was.ClientConfig.CABundle
	case canary != nil && len(canary.ClientConfig.CABundle) > 0:
		return canary.ClientConfig.CABundle
	}
	return ca
}

// loosens reports whether a webhook lets in what Sallyport cannot be asked about.
func loosens(w *admissionregistrationv1.MutatingWebhook) bool {
	return w.FailurePolicy != nil && *w.FailurePolicy == admissionregistrationv1.Ignore
}

// asChanging has webhooks that judge in the form of those that change, which has all of
// their fields.
func asChanging(webhooks []admissionregistrationv1.ValidatingWebhook) []admissionregistrationv1.MutatingWebhook {
	all := make([]admissionregistrationv1.MutatingWebhook, len(webhooks))
	for i, w := range webhooks {
		all[i] = admissionregistrationv1.MutatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
			NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		}
	}
	return all
}

// asJudging takes asChanging back.
func asJudging(webhooks []admissionregistrationv1.MutatingWebhook) []admissionregistrationv1.ValidatingWebhook {
	all := make([]admissionregistrationv1.ValidatingWebhook, len(webhooks))
	for i, w := range webhooks {
		all[i] = admissionregistrationv1.ValidatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
			NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		}
	}
	return all
}
