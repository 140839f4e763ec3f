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
// all. What is about Sallyport's own kinds is always there: nobody else is stopped by it, and
// by it is seen whether webhooks reach Sallyport. Until a canary was answered, nothing else is
// added, changed or made to refuse more than it did, and nothing is taken away.
func plan(live, wanted []admissionregistrationv1.MutatingWebhook, t *trusts, answered bool) (after []admissionregistrationv1.MutatingWebhook, complete bool) {
	complete = true
	for i := range wanted {
		w := wanted[i].DeepCopy()
		was := find(live, w.Name)
		w.ClientConfig.CABundle = t.bundle(was, find(live, canary))
		switch {
		case wiring.Own(w.Name), answered, was != nil && loosens(w):
			after = append(after, *w)
		case was != nil:
			after = append(after, *was)
			complete = complete && apiequality.Semantic.DeepEqual(was, w)
		default:
			complete = false
		}
	}
	for i := range live {
		if find(wanted, live[i].Name) != nil {
			continue
		}
		if strings.HasSuffix(live[i].Name, suffix) {
			// Of another version, which does not know what it asks about.
			complete = complete && answered
			if answered {
				continue
			}
		}
		after = append(after, live[i])
	}
	return after, complete
}

func find(webhooks []admissionregistrationv1.MutatingWebhook, name string) *admissionregistrationv1.MutatingWebhook {
	at := slices.IndexFunc(webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return w.Name == name })
	if at < 0 {
		return nil
	}
	return &webhooks[at]
}

// loosens reports whether a webhook lets in what Sallyport cannot be asked about.
func loosens(w *admissionregistrationv1.MutatingWebhook) bool {
	return w.FailurePolicy != nil && *w.FailurePolicy == admissionregistrationv1.Ignore
}
