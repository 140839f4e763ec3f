package policyserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/door"
)

// webhooks are those of a server, as they are or as they are wanted.
type webhooks struct {
	validating admissionregistrationv1.ValidatingWebhookConfiguration
	mutating   admissionregistrationv1.MutatingWebhookConfiguration
}

// hooks reads the webhooks of a server; none of somebody else's.
func (c *Controller) hooks(ctx context.Context, s *v1alpha1.PolicyServer) (*webhooks, error) {
	h := &webhooks{}
	if _, err := c.get(ctx, &h.validating, "", WebhooksName(s.Name)); err != nil {
		return nil, err
	}
	if _, err := c.get(ctx, &h.mutating, "", WebhooksName(s.Name)); err != nil {
		return nil, err
	}
	for _, o := range []struct {
		there bool
		owned bool
	}{{h.validating.UID != "", owned(&h.validating, s)}, {h.mutating.UID != "", owned(&h.mutating, s)}} {
		if o.there && !o.owned {
			return nil, &inTheWay{"the webhook configuration " + WebhooksName(s.Name)}
		}
	}
	return h, nil
}

// idOf is the id of the policy that a webhook leads to.
func idOf(client *admissionregistrationv1.WebhookClientConfig) string {
	if client.Service == nil || client.Service.Path == nil {
		return ""
	}
	id := strings.TrimPrefix(strings.TrimPrefix(*client.Service.Path, door.IgnorePath), "/policy/")
	id, _, _ = strings.Cut(id, "/")
	return id
}

// ids of the policies that some webhook leads to.
func (h *webhooks) ids() map[string]bool {
	found := map[string]bool{}
	for i := range h.validating.Webhooks {
		found[idOf(&h.validating.Webhooks[i].ClientConfig)] = true
	}
	for i := range h.mutating.Webhooks {
		found[idOf(&h.mutating.Webhooks[i].ClientConfig)] = true
	}
	return found
}

// ask reports whether some webhook asks for a policy, and not for another one with the
// same id.
func (h *webhooks) ask(p *hosted) bool {
	return slices.ContainsFunc(h.validating.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool {
		ref, ok := refOf(idOf(&w.ClientConfig), w.NamespaceSelector)
		return ok && ref == p.ref
	})
}

// add puts the webhooks of a policy in.
func (h *webhooks) add(t *Target, p *hosted) {
	h.validating.Webhooks = append(h.validating.Webhooks, t.validating(p))
	if p.spec.Mutating {
		h.mutating.Webhooks = append(h.mutating.Webhooks, t.mutating(p))
	}
}

// keep puts the webhooks of a policy in as they are, except for the CAs.
func (h *webhooks) keep(t *Target, live *webhooks, id string) {
	for _, w := range live.validating.Webhooks {
		if idOf(&w.ClientConfig) == id {
			w.ClientConfig = t.client(id, "validate", w.FailurePolicy)
			h.validating.Webhooks = append(h.validating.Webhooks, w)
		}
	}
	for _, w := range live.mutating.Webhooks {
		if idOf(&w.ClientConfig) == id {
			w.ClientConfig = t.client(id, "mutate", w.FailurePolicy)
			h.mutating.Webhooks = append(h.mutating.Webhooks, w)
		}
	}
}

// drop takes the webhooks of a policy out.
func (h *webhooks) drop(id string) {
	h.validating.Webhooks = slices.DeleteFunc(h.validating.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return idOf(&w.ClientConfig) == id })
	h.mutating.Webhooks = slices.DeleteFunc(h.mutating.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return idOf(&w.ClientConfig) == id })
}

// write puts the webhooks in force. Those that the API server refuses stay as they
// were, and the reason is returned by the id of the policy: one that it cannot use
// is not to keep the others out.
func (c *Controller) write(ctx context.Context, s *v1alpha1.PolicyServer, t *Target, live, wanted *webhooks) (refused map[string]string, err error) {
	refused = map[string]string{}
	for {
		id, why, err := c.tryWrite(ctx, s, wanted)
		if err != nil && id != "" && refused[id] == "" {
			refused[id] = why
			wanted.drop(id)
			wanted.keep(t, live, id)
			continue
		}
		return refused, err
	}
}

// tryWrite writes both configurations, the one for changes first, as what it does
// not change the other refuses. It returns the policy that is in the way, if the API
// server names one.
func (c *Controller) tryWrite(ctx context.Context, s *v1alpha1.PolicyServer, wanted *webhooks) (id, why string, err error) {
	mutating, validating := wanted.mutating.DeepCopy(), wanted.validating.DeepCopy()
	mutating.ObjectMeta, validating.ObjectMeta = c.meta(s, WebhooksName(s.Name), ""), c.meta(s, WebhooksName(s.Name), "")
	if len(mutating.Webhooks) == 0 {
		_, err = c.remove(ctx, s, mutating, "", mutating.Name)
	} else {
		err = c.put(ctx, s, mutating)
	}
	if err != nil {
		if i, detail, ok := refusedWebhook(err); ok && i < len(wanted.mutating.Webhooks) {
			id, why = idOf(&wanted.mutating.Webhooks[i].ClientConfig), detail
		}
		return id, why, err
	}
	if len(validating.Webhooks) == 0 {
		_, err = c.remove(ctx, s, validating, "", validating.Name)
		return "", "", err
	}
	if err = c.put(ctx, s, validating); err != nil {
		if i, detail, ok := refusedWebhook(err); ok && i < len(wanted.validating.Webhooks) {
			id, why = idOf(&wanted.validating.Webhooks[i].ClientConfig), detail
		}
	}
	return id, why, err
}

// refusedWebhook finds out which webhook the API server refuses, and why.
func refusedWebhook(err error) (index int, why string, ok bool) {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return 0, "", false
	}
	for _, cause := range status.Status().Details.Causes {
		rest, found := strings.CutPrefix(cause.Field, "webhooks[")
		number, at, closed := strings.Cut(rest, "]")
		i, err := strconv.Atoi(number)
		if found && closed && err == nil {
			return i, fmt.Sprintf("the API server refuses its webhook: %s: %s", strings.TrimPrefix(at, "."), cause.Message), true
		}
	}
	return 0, "", false
}
