package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/sallyport-io/sallyport/internal/request"
)

// door is one of the two kinds of webhook configurations.
type door struct {
	*Controller
	mutates bool
}

// read reads the webhooks of a configuration; found is false where there is none.
func (d *door) read(ctx context.Context, name string) (hooks []hook, found bool, err error) {
	kind, api := "ValidatingWebhookConfiguration", d.Client.AdmissionregistrationV1()
	if d.mutates {
		var live *admissionregistrationv1.MutatingWebhookConfiguration
		kind = "MutatingWebhookConfiguration"
		if live, err = api.MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{}); err == nil {
			hooks = mutating(live)
		}
	} else {
		var live *admissionregistrationv1.ValidatingWebhookConfiguration
		if live, err = api.ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{}); err == nil {
			hooks = validating(live)
		}
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("the %s %s cannot be read: %w", kind, name, err)
	}
	return hooks, true, nil
}

// ownNamespace is the selector of the first webhook that leaves out one namespace:
// that of Sallyport; nil if there is none.
func ownNamespace(hooks []hook) *metav1.LabelSelector {
	for i := range hooks {
		if s := hooks[i].namespaces; s != nil && leavesOutOne(s) {
			return s
		}
	}
	return nil
}

// follow makes the webhooks of the configuration that follows policies what they need
// beyond the shipped ones, and returns them as the API server has them. They lead
// where the first of these does. found says whether there is a configuration.
func (d *door) follow(ctx context.Context, n *needs, has *catalogue, shipped []hook) (followed []hook, found bool, err error) {
	live, found, err := d.read(ctx, d.Name+rulesSuffix)
	if err != nil || !found || d.Static || len(shipped) == 0 {
		return live, found, err
	}
	wanted := d.wanted(n, has, shipped, live)
	if same(live, wanted) {
		return live, true, nil
	}
	live, err = d.apply(ctx, wanted)
	if err != nil {
		return nil, true, fmt.Errorf("the webhooks of %s%s cannot be written: %w", d.Name, rulesSuffix, err)
	}
	d.Log.Info("webhooks follow policies", "configuration", d.Name+rulesSuffix, "mutating", d.mutates, "webhooks", len(live))
	return live, true, nil
}

// wanted are the webhooks that policies need beyond the shipped ones, where these are
// live.
func (d *door) wanted(n *needs, has *catalogue, shipped, live []hook) []hook {
	var wanted []hook
	for _, k := range classes(d.mutates) {
		cells := map[cell]bool{}
		for one := range n.cells[k] {
			if len(gaps(k, []cell{one}, has, shipped)) > 0 {
				cells[one] = true
			}
		}
		for _, h := range live {
			if h.name == k.name() {
				h.keep(cells, has.unread)
			}
		}
		if len(cells) == 0 {
			continue
		}
		wanted = append(wanted, hook{
			configuration: d.Name + rulesSuffix, name: k.name(), mutates: d.mutates, rules: rules(cells), policy: k.failurePolicy(),
			match: ptr.To(admissionregistrationv1.Equivalent), namespaces: ownNamespace(shipped), conditions: k.conditions(), leads: shipped[0].leads,
		})
	}
	return wanted
}

// keep adds the cells that a webhook asks about now of groups that cannot be read.
func (h *hook) keep(cells map[cell]bool, unread map[string]string) {
	for _, r := range h.rules {
		for _, group := range r.APIGroups {
			if _, ok := unread[group]; !ok {
				continue
			}
			for _, resource := range r.Resources {
				for _, o := range r.Operations {
					cells[cell{group, resource, request.Operation(o)}] = true
				}
			}
		}
	}
}

// same reports whether webhooks that are there are what is wanted. Others', which we
// did not make, do not count.
func same(live, wanted []hook) bool {
	ours := slices.DeleteFunc(slices.Clone(live), func(h hook) bool { return classOf(h.name) == nil })
	return len(ours) == len(wanted) && !slices.ContainsFunc(wanted, func(w hook) bool {
		return !slices.ContainsFunc(ours, func(h hook) bool { return apiequality.Semantic.DeepEqual(h.validating(), w.validating()) })
	})
}

// timeout is how long an API server waits for an answer, in seconds.
const timeout = 5

// apply writes the webhooks. Those of others in the same configuration stay; what
// others wrote into ours, which applying leaves, is replaced.
func (d *door) apply(ctx context.Context, wanted []hook) ([]hook, error) {
	options := metav1.PatchOptions{FieldManager: FieldOwner, Force: ptr.To(true)}
	meta := metav1.ObjectMeta{Name: d.Name + rulesSuffix}
	if d.mutates {
		to := d.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
		config := &admissionregistrationv1.MutatingWebhookConfiguration{TypeMeta: typeMeta("MutatingWebhookConfiguration"), ObjectMeta: meta}
		for i := range wanted {
			config.Webhooks = append(config.Webhooks, wanted[i].mutating())
		}
		live, err := applied(config, func(raw []byte) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
			return to.Patch(ctx, meta.Name, types.ApplyPatchType, raw, options)
		})
		if err == nil && !same(mutating(live), wanted) {
			live.Webhooks = append(slices.DeleteFunc(live.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return classOf(w.Name) != nil }), config.Webhooks...)
			live, err = to.Update(ctx, live, metav1.UpdateOptions{FieldManager: FieldOwner})
		}
		if err != nil {
			return nil, err
		}
		return mutating(live), nil
	}
	to := d.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{TypeMeta: typeMeta("ValidatingWebhookConfiguration"), ObjectMeta: meta}
	for i := range wanted {
		config.Webhooks = append(config.Webhooks, wanted[i].validating())
	}
	live, err := applied(config, func(raw []byte) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
		return to.Patch(ctx, meta.Name, types.ApplyPatchType, raw, options)
	})
	if err == nil && !same(validating(live), wanted) {
		live.Webhooks = append(slices.DeleteFunc(live.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return classOf(w.Name) != nil }), config.Webhooks...)
		live, err = to.Update(ctx, live, metav1.UpdateOptions{FieldManager: FieldOwner})
	}
	if err != nil {
		return nil, err
	}
	return validating(live), nil
}

func applied[T any](config T, patch func([]byte) (T, error)) (T, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return config, err
	}
	return patch(raw)
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: kind}
}

func (h *hook) validating() admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name: h.name, ClientConfig: h.leads, Rules: h.rules, FailurePolicy: h.policy, MatchPolicy: h.match,
		// Written out, so that someone else's are not left in their place.
		NamespaceSelector: selector(h.namespaces), ObjectSelector: selector(h.objects),
		SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: ptr.To[int32](timeout), AdmissionReviewVersions: []string{"v1"},
		MatchConditions: h.conditions,
	}
}

func selector(s *metav1.LabelSelector) *metav1.LabelSelector {
	if s == nil {
		return &metav1.LabelSelector{}
	}
	return s
}

func (h *hook) mutating() admissionregistrationv1.MutatingWebhook {
	w := h.validating()
	return admissionregistrationv1.MutatingWebhook{
		Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy, NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
		SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions,
		MatchConditions: w.MatchConditions, ReinvocationPolicy: ptr.To(admissionregistrationv1.IfNeededReinvocationPolicy),
	}
}
