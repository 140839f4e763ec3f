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
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/review/request"
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

// shipped reads the webhooks that are shipped, as they are.
func (d *door) shipped(ctx context.Context) ([]hook, error) {
	hooks, _, err := d.read(ctx, d.Name)
	if err != nil {
		return nil, err
	}
	return marked(hooks)
}

// marked are webhooks that are shipped, with those of their match conditions that are.
func marked(hooks []hook) ([]hook, error) {
	for i := range hooks {
		h := &hooks[i]
		for _, c := range h.conditions {
			_, is, err := wiring.LeavesPodsOut(c)
			if err != nil {
				return nil, err
			}
			if is {
				h.known = append(h.known, c)
			}
		}
	}
	return hooks, nil
}

// follow makes the webhooks of the configuration that follows policies what they need
// beyond the shipped ones, and returns them as the API server has them; live are those
// that it had, nil where there is no configuration. They lead where the first of the
// shipped ones does. found says whether there is a configuration.
func (d *door) follow(ctx context.Context, n *needs, has *catalogue, shipped, live []hook, complete bool) (followed []hook, found bool, err error) {
	if found = live != nil; !found || d.Static || !complete || len(shipped) == 0 {
		n.left.knows(live)
		return live, found, nil
	}
	wanted := d.wanted(n, has, shipped, live)
	if !same(live, wanted) {
		if live, err = d.apply(ctx, wanted); err != nil {
			return nil, true, fmt.Errorf("the webhooks of %s%s cannot be written: %w", d.Name, RulesSuffix, err)
		}
		d.Log.Info("webhooks follow policies", "configuration", d.Name+RulesSuffix, "mutating", d.mutates, "webhooks", len(live))
	}
	for i := range live {
		if at := slices.IndexFunc(wanted, func(w hook) bool { return w.name == live[i].name }); at >= 0 {
			live[i].known = wanted[at].known
		}
	}
	return live, true, nil
}

// wanted are the webhooks that policies need beyond the shipped ones, where these are
// live.
func (d *door) wanted(n *needs, has *catalogue, shipped, live []hook) []hook {
	var wanted []hook
	for _, k := range n.classes(d.mutates, live) {
		if h, any := d.wantedOf(k, n, has, live, shipped, wanted); any {
			wanted = append(wanted, h)
		}
	}
	return wanted
}

// wantedOf is the webhook of a class beside those that are shipped, and beside others of
// ours; false where none is needed.
func (d *door) wantedOf(k class, n *needs, has *catalogue, live, shipped, ours []hook) (h hook, any bool) {
	cells, in := map[cell]bool{}, spaces{}
	for one := range n.cells[k] {
		if !k.own {
			if n.lack(question{class: k}, one, has, shipped) {
				cells[one] = true
			}
			continue
		}
		for namespace := range n.in[k][one] {
			if !slices.Contains(n.left.namespaces[d.mutates], namespace) && n.lack(question{class: k, namespace: namespace}, one, has, slices.Concat(shipped, ours)) {
				cells[one] = true
				in.add(one, namespace)
			}
		}
	}
	for _, h := range live {
		if h.name == k.name() {
			h.keep(cells, in, has.unread)
		}
	}
	leads, said := k.leads(shipped[0].leads)
	if len(cells) == 0 || !k.version.Empty() && (!said || len(k.name()) > validation.DNS1123SubdomainMaxLength) {
		return hook{}, false
	}
	h = hook{
		configuration: d.Name + RulesSuffix, name: k.name(), mutates: d.mutates, rules: k.rules(cells, admissionregistrationv1.AllScopes), policy: k.failurePolicy(),
		match: ptr.To(admissionregistrationv1.Equivalent), namespaces: n.left.selector(d.mutates), conditions: n.left.conditions(k, cells, has), leads: leads,
	}
	if k.own {
		h.rules, h.namespaces = k.rules(cells, admissionregistrationv1.NamespacedScope), in.selector()
		h.conditions = append(h.conditions, in.conditions()...)
	}
	h.known = h.conditions
	return h, true
}

// keep adds the cells that a webhook asks about now of groups that cannot be read, for
// policies of namespaces in all that it selects.
func (h *hook) keep(cells map[cell]bool, in spaces, unread map[string]string) {
	own := classOf(h.name).own
	for _, r := range h.rules {
		for _, group := range r.APIGroups {
			if _, ok := unread[group]; !ok {
				continue
			}
			for _, resource := range r.Resources {
				for _, o := range r.Operations {
					one := cell{group, resource, request.Operation(o)}
					cells[one] = true
					for i := 0; own && h.namespaces != nil && i < len(h.namespaces.MatchExpressions); i++ {
						for _, namespace := range h.namespaces.MatchExpressions[i].Values {
							in.add(one, namespace)
						}
					}
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
	meta := metav1.ObjectMeta{Name: d.Name + RulesSuffix}
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
