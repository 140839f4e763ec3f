package check

import (
	"encoding/json"
	"fmt"
	"io"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/sallyport-io/sallyport/internal/cli/judge"
	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// webhookFaults tells of what no request can meet in a webhook configuration; with
// --strict as what is wrong with it.
func (c *Checker) webhookFaults(stderr io.Writer, d *load.Document, resource decision.Resource) {
	faults, err := webhookFaultsOf(d)
	if err != nil {
		p := judge.ProblemOf(d, "", "", err.Error())
		c.fail(stderr, &p, resource)
		return
	}
	for i := range faults {
		f := &faults[i]
		p := judge.ProblemOf(d, "", f.Path.String(), fmt.Sprintf("%s, of the webhook %s: %s", f.Value, f.Webhook, f.Detail))
		if c.Flags.strict {
			c.fail(stderr, &p, resource)
			continue
		}
		fmt.Fprintln(stderr, "warning: "+decision.Clean(p.Error()))
	}
}

// webhookFaultsOf are those of a document; none of one that is not a webhook configuration.
func webhookFaultsOf(d *load.Document) ([]webhooks.Fault, error) {
	if d.GVK.Group != admissionregistrationv1.GroupName {
		return nil, nil
	}
	switch d.GVK.Kind {
	case "ValidatingWebhookConfiguration":
		config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := json.Unmarshal(d.Raw, config); err != nil {
			return nil, fmt.Errorf("cannot be read: %w", err)
		}
		return webhooks.FaultsOfValidating(config), nil
	case "MutatingWebhookConfiguration":
		config := &admissionregistrationv1.MutatingWebhookConfiguration{}
		if err := json.Unmarshal(d.Raw, config); err != nil {
			return nil, fmt.Errorf("cannot be read: %w", err)
		}
		return webhooks.FaultsOfMutating(config), nil
	}
	return nil, nil
}
