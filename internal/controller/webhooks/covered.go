package webhooks

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// hook is what counts of a webhook of either kind.
type hook struct {
	configuration, name string
	mutates             bool
	rules               []admissionregistrationv1.RuleWithOperations
	policy              *admissionregistrationv1.FailurePolicyType
	match               *admissionregistrationv1.MatchPolicyType
	namespaces, objects *metav1.LabelSelector
	conditions          []admissionregistrationv1.MatchCondition
	leads               admissionregistrationv1.WebhookClientConfig
	// astray says why it does not lead where the canary is answered; "" where it does.
	astray string
	// known are those match conditions that leave out only what has to run so that
	// Sallyport can start, what it is repaired by, and what no policy is about.
	known []admissionregistrationv1.MatchCondition
}

func validating(c *admissionregistrationv1.ValidatingWebhookConfiguration) []hook {
	hooks := make([]hook, len(c.Webhooks))
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		hooks[i] = hook{c.Name, w.Name, false, w.Rules, w.FailurePolicy, w.MatchPolicy, w.NamespaceSelector, w.ObjectSelector, w.MatchConditions, w.ClientConfig, "", nil}
	}
	return hooks
}

func mutating(c *admissionregistrationv1.MutatingWebhookConfiguration) []hook {
	hooks := make([]hook, len(c.Webhooks))
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		hooks[i] = hook{c.Name, w.Name, true, w.Rules, w.FailurePolicy, w.MatchPolicy, w.NamespaceSelector, w.ObjectSelector, w.MatchConditions, w.ClientConfig, "", nil}
	}
	return hooks
}

// narrowed says what requests a webhook leaves out that it asks about by its rules;
// "" where it leaves out none but those of which it is known.
func (h *hook) narrowed(q question) string {
	if !selectsAll(h.objects) {
		return "its objectSelector leaves objects out"
	}
	if _, byName := namesLeftOut(h.namespaces); q.namespace == "" && !byName {
		return "its namespaceSelector leaves namespaces out"
	}
	if q.namespace != "" && !selects(h.namespaces, q.namespace) {
		return "its namespaceSelector leaves the namespace " + q.namespace + " out"
	}
	for _, c := range h.conditions {
		if !slices.Contains(h.known, c) && !slices.Contains(q.further, c) && !(c == onlyConverted && !q.version.Empty()) {
			return fmt.Sprintf("its match condition %q leaves requests out", c.Name)
		}
	}
	return ""
}

// selects reports whether a selector selects a namespace, whatever labels it has beside
// its name.
func selects(s *metav1.LabelSelector, namespace string) bool {
	if s == nil {
		return true
	}
	return len(s.MatchLabels) == 0 && !slices.ContainsFunc(s.MatchExpressions, func(e metav1.LabelSelectorRequirement) bool {
		if e.Key != corev1.LabelMetadataName {
			return true
		}
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			return !slices.Contains(e.Values, namespace)
		case metav1.LabelSelectorOpNotIn:
			return slices.Contains(e.Values, namespace)
		}
		return true
	})
}

func selectsAll(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0
}

// asks reports whether a webhook asks about a cell of a served resource, whatever the
// object is.
func (h *hook) asks(k class, c cell, s *served) bool {
	if own := classOf(h.name); h.mutates != k.mutates || own != nil && (own.wide && !k.wide || own.labels && !k.labels || own.own && !k.own) {
		return false
	}
	if asks := h.leadsToConverted(); asks == k.version.Empty() || asks && !h.converts(k.version, s) {
		return false
	}
	return slices.ContainsFunc(h.rules, func(r admissionregistrationv1.RuleWithOperations) bool { return h.asksBy(&r, c, s) })
}

// asksBy reports whether a webhook asks about a cell by one of its rules.
func (h *hook) asksBy(r *admissionregistrationv1.RuleWithOperations, c cell, s *served) bool {
	return contains(r.APIGroups, c.group) && h.versions(r, s) && scoped(r.Scope, s) && operations(r.Operations, c.operation) && aboutResource(r, s)
}

func aboutResource(r *admissionregistrationv1.RuleWithOperations, s *served) bool {
	return slices.ContainsFunc(r.Resources, func(entry string) bool { return match.ResourceNamed(entry, s.resource, s.subresource) })
}

// scoped reports whether a rule is about resources of this scope.
func scoped(scope *admissionregistrationv1.ScopeType, s *served) bool {
	if scope == nil || *scope == admissionregistrationv1.AllScopes {
		return true
	}
	// What is asked about a namespace itself counts as of the whole cluster.
	namespaced := s.namespaced && (s.group != "" || s.resource != "namespaces")
	return namespaced == (*scope == admissionregistrationv1.NamespacedScope)
}

func contains(list []string, value string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

func operations[T ~string](list []admissionregistrationv1.OperationType, asked T) bool {
	return slices.ContainsFunc(list, func(o admissionregistrationv1.OperationType) bool { return o == "*" || string(o) == string(asked) })
}

// versions reports whether a rule is about every version of a resource. With the
// match policy Equivalent, naming one is naming all.
func (h *hook) versions(r *admissionregistrationv1.RuleWithOperations, s *served) bool {
	if h.match == nil || *h.match == admissionregistrationv1.Equivalent {
		return slices.ContainsFunc(s.versions, func(v string) bool { return contains(r.APIVersions, v) })
	}
	return !slices.ContainsFunc(s.versions, func(v string) bool { return !contains(r.APIVersions, v) })
}

// refuses reports whether a webhook that cannot be asked refuses.
func (h *hook) refuses() bool {
	return h.policy == nil || *h.policy == admissionregistrationv1.Fail
}

// gap is why a cell is not asked about.
type gap struct {
	cell cell
	why  string
}

func (g gap) String() string {
	return g.cell.String() + ": " + g.why
}

// String is OPERATION of RESOURCE, with its group and its subresource.
func (c cell) String() string {
	resource, subresource, with := strings.Cut(c.resource, "/")
	if c.group != "" {
		resource += "." + c.group
	}
	if with {
		resource += "/" + subresource
	}
	if c.operation == "" {
		return resource
	}
	return string(c.operation) + " of " + resource
}

// question is about what webhooks are asked.
type question struct {
	class
	// further are match conditions by which they need not ask.
	further []admissionregistrationv1.MatchCondition
	// namespace is the one in which they have to ask; empty for every one but those that
	// they leave out by their names.
	namespace string
}

// gaps lists which cells are not asked about by hooks, in the order of cells.
func gaps(q question, cells []cell, c *catalogue, hooks []hook) []gap {
	var all []gap
	for _, one := range cells {
		s := c.find(one)
		if s == nil {
			continue
		}
		why := missing(q, one, s, hooks)
		if why == "" && !q.version.Empty() {
			why = missingAsWritten(q, one, s, hooks)
		}
		if why != "" {
			all = append(all, gap{one, why})
		}
	}
	return all
}

// missing says why no hook asks about a cell; "" where one does.
func missing(q question, one cell, s *served, hooks []hook) string {
	why := "no webhook asks"
	if !q.version.Empty() {
		why = "no webhook asks about what is written by another version than " + q.version.String()
	}
	for i := range hooks {
		h := &hooks[i]
		if !h.asks(q.class, one, s) {
			continue
		}
		lacks := h.lacks(q)
		if lacks == "" {
			return ""
		}
		why = fmt.Sprintf("the webhook %s of %s %s", h.name, h.configuration, lacks)
	}
	return why
}

// lacks says why a webhook that asks about a cell by its rules does not count; "" where
// it does.
func (h *hook) lacks(q question) string {
	narrowed := h.narrowed(q)
	switch {
	case narrowed != "":
		return "asks, and " + narrowed
	case h.astray != "":
		return "asks, and " + h.astray
	case !q.ignore && !h.refuses():
		return "lets it in while Sallyport cannot be asked (failurePolicy: Ignore), and the policy says Fail"
	}
	return ""
}

func (c *catalogue) find(one cell) *served {
	i, ok := c.at[schema.GroupResource{Group: one.group, Resource: one.resource}]
	if !ok {
		return nil
	}
	return &c.all[i]
}
