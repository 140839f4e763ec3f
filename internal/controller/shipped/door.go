package shipped

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// door is one of the two configurations, with its webhooks in the form of those that change.
type door struct {
	name    string
	mutates bool
	api     configurations
	wanted  []admissionregistrationv1.MutatingWebhook

	// installed is set where there is such a configuration, with the webhooks live.
	installed bool
	live      []admissionregistrationv1.MutatingWebhook
	// object is what was read.
	object metav1.Object
}

// configurations are those of one kind.
type configurations interface {
	get(ctx context.Context, name string) (metav1.Object, []admissionregistrationv1.MutatingWebhook, error)
	// update puts webhooks in place of those of what was read, unless that was changed
	// since.
	update(ctx context.Context, object metav1.Object, webhooks []admissionregistrationv1.MutatingWebhook) (metav1.Object, []admissionregistrationv1.MutatingWebhook, error)
}

func (d *door) kind() string {
	if d.mutates {
		return "MutatingWebhookConfiguration"
	}
	return "ValidatingWebhookConfiguration"
}

// read reads the configuration.
func (d *door) read(ctx context.Context) (err error) {
	d.object, d.live, err = d.api.get(ctx, d.name)
	d.installed = err == nil
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("the %s %s cannot be read: %w", d.kind(), d.name, err)
	}
	return nil
}

// write makes the webhooks those of after, and reports whether they are that. Where the
// configuration was taken away meanwhile, it stays away.
func (d *door) write(ctx context.Context, after []admissionregistrationv1.MutatingWebhook, log logr.Logger) (written bool, err error) {
	if apiequality.Semantic.DeepEqual(d.live, after) {
		return true, nil
	}
	object, live, err := d.api.update(ctx, d.object, after)
	switch {
	case apierrors.IsNotFound(err):
		d.installed, d.live = false, nil
		return false, nil
	case err != nil:
		return false, fmt.Errorf("the webhooks of the %s %s cannot be written: %w", d.kind(), d.name, err)
	}
	d.object, d.live = object, live
	log.Info("webhooks that are shipped were written", "configuration", d.name, "mutating", d.mutates, "webhooks", len(live))
	return true, nil
}

// judging are the configurations that judge.
type judging struct{ client kubernetes.Interface }

func (j judging) get(ctx context.Context, name string) (metav1.Object, []admissionregistrationv1.MutatingWebhook, error) {
	c, err := j.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	return c, asChanging(c.Webhooks), nil
}

func (j judging) update(ctx context.Context, object metav1.Object, webhooks []admissionregistrationv1.MutatingWebhook) (metav1.Object, []admissionregistrationv1.MutatingWebhook, error) {
	c := object.(*admissionregistrationv1.ValidatingWebhookConfiguration).DeepCopy()
	c.Webhooks = asJudging(webhooks)
	c, err := j.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Update(ctx, c, metav1.UpdateOptions{FieldManager: FieldOwner})
	if err != nil {
		return nil, nil, err
	}
	return c, asChanging(c.Webhooks), nil
}

// changing are the configurations that change.
type changing struct{ client kubernetes.Interface }

func (m changing) get(ctx context.Context, name string) (metav1.Object, []admissionregistrationv1.MutatingWebhook, error) {
	c, err := m.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	return c, c.Webhooks, nil
}

func (m changing) update(ctx context.Context, object metav1.Object, webhooks []admissionregistrationv1.MutatingWebhook) (metav1.Object, []admissionregistrationv1.MutatingWebhook, error) {
	c := object.(*admissionregistrationv1.MutatingWebhookConfiguration).DeepCopy()
	c.Webhooks = webhooks
	c, err := m.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Update(ctx, c, metav1.UpdateOptions{FieldManager: FieldOwner})
	if err != nil {
		return nil, nil, err
	}
	return c, c.Webhooks, nil
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
