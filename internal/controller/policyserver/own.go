package policyserver

import (
	"context"
	"errors"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// OwnWebhooks is what the configurations are called whose webhooks lead to this
// Sallyport itself.
const OwnWebhooks = "sallyport-policies"

// itself stands for this Sallyport where a PolicyServer is asked for. Nothing owns
// what is made for it.
var itself = &v1alpha1.PolicyServer{ObjectMeta: metav1.ObjectMeta{UID: "sallyport"}}

// settle is how long a policy that is new has for its module to be loaded before
// API servers ask for it.
const settle = 10 * time.Second

// judgedHere lists the policies that this Sallyport is to be asked for: those that
// name no server, and those that no server has webhooks for.
func (c *Controller) judgedHere(ctx context.Context, w *snapshot) ([]*hosted, error) {
	elsewhere := map[*hosted]bool{}
	for _, s := range w.servers {
		if s.DeletionTimestamp != nil {
			continue
		}
		hooks, err := c.hooks(ctx, s)
		var theirs *inTheWay
		if err != nil && !errors.As(err, &theirs) {
			return nil, err
		}
		for _, p := range w.policies {
			elsewhere[p] = elsewhere[p] || err == nil && hooks.ask(p)
		}
	}
	here := slices.Clone(w.own)
	for _, p := range w.policies {
		if !elsewhere[p] {
			here = append(here, p)
		}
	}
	return here, nil
}

// wireOwn keeps webhooks for the policies that this Sallyport runs itself; none
// where they are not wanted, so that no webhook stays that leads to what is gone.
func (c *Controller) wireOwn(ctx context.Context, w *snapshot) error {
	if c.Own == nil {
		if c.ownGone {
			return nil
		}
		err := c.removeOwn(ctx)
		// Who may not look has made none.
		c.ownGone = err == nil || apierrors.IsForbidden(err)
		if c.ownGone {
			return nil
		}
		return err
	}
	live, err := c.hooks(ctx, itself)
	if err != nil {
		return err
	}
	target, err := c.Own(live.bundle())
	if err != nil {
		return err
	}
	judged, err := c.judgedHere(ctx, w)
	if err != nil {
		return err
	}
	asked, wanted := live.ids(), &webhooks{}
	for _, p := range judged {
		switch {
		case p.object.GetDeletionTimestamp() != nil:
		case p.broken:
			wanted.keep(target, live, p.id)
		case p.inForce() || asked[p.id] || c.Clock.Since(p.object.GetCreationTimestamp().Time) >= settle:
			wanted.add(target, p)
		}
	}
	wanted.distinguish()
	refused, err := c.write(ctx, itself, target, live, wanted)
	errs := []error{err}
	for _, p := range judged {
		why, no := refused[p.id]
		switch had := apimeta.FindStatusCondition(p.status.Conditions, conditionWebhook); {
		case no:
			errs = append(errs, c.setStatus(ctx, p.object, p.status, condition(conditionWebhook, false, "WebhookRefused", why)))
		case had != nil && had.Status != metav1.ConditionTrue && err == nil:
			errs = append(errs, c.setStatus(ctx, p.object, p.status, condition(conditionWebhook, true, "WebhookTaken", "the API server takes its webhook")))
		}
	}
	return errors.Join(errs...)
}

// conditionWebhook is the condition of a policy that this Sallyport runs itself whose
// webhook the API server does not take, or did not.
const conditionWebhook = "WebhookReady"

// inForce reports whether the policy as it is now was put in force.
func (p *hosted) inForce() bool {
	ready := apimeta.FindStatusCondition(p.status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == p.object.GetGeneration()
}

// distinguish gives webhooks names of their own where two policies have the same
// id. Both are asked by either.
func (h *webhooks) distinguish() {
	seen := map[string]bool{}
	for i := range h.validating.Webhooks {
		w := &h.validating.Webhooks[i]
		for seen[w.Name] {
			w.Name = digest([]byte(w.Name)) + webhookSuffix
		}
		seen[w.Name] = true
	}
	clear(seen)
	for i := range h.mutating.Webhooks {
		w := &h.mutating.Webhooks[i]
		for seen[w.Name] {
			w.Name = digest([]byte(w.Name)) + webhookSuffix
		}
		seen[w.Name] = true
	}
}

func (c *Controller) removeOwn(ctx context.Context) error {
	if _, err := c.remove(ctx, itself, &admissionregistrationv1.ValidatingWebhookConfiguration{}, "", OwnWebhooks); err != nil {
		return err
	}
	_, err := c.remove(ctx, itself, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", OwnWebhooks)
	return err
}
