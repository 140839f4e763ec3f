package webhooks

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/builtin"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// Fault is a part of a webhook that no request can meet, so that the webhook asks about
// less than it looks.
type Fault struct {
	// Configuration and Webhook are names.
	Configuration, Webhook string
	// Path is that of the field, from the top of the configuration.
	Path *field.Path
	// Value is what stands there, and Detail says why nothing meets it and what to write.
	Value, Detail string
}

// String is the fault in one line.
func (f *Fault) String() string {
	return fmt.Sprintf("%s: webhook %s: %s = %s: %s", f.Configuration, f.Webhook, f.Path, f.Value, f.Detail)
}

// FaultsOfValidating lists what no request can meet of the webhooks of a configuration,
// whoever made it.
func FaultsOfValidating(c *admissionregistrationv1.ValidatingWebhookConfiguration) []Fault {
	return faultsOf(validating(c))
}

// FaultsOfMutating does so for those that change objects.
func FaultsOfMutating(c *admissionregistrationv1.MutatingWebhookConfiguration) []Fault {
	return faultsOf(mutating(c))
}

func faultsOf(hooks []hook) []Fault {
	var all []Fault
	for i := range hooks {
		h := &hooks[i]
		at := field.NewPath("webhooks").Index(i)
		say := func(path *field.Path, value, detail string) {
			all = append(all, Fault{h.configuration, h.name, path, value, detail})
		}
		for j := range h.rules {
			faultsOfRule(&h.rules[j], at.Child("rules").Index(j), say)
		}
		h.selectsNoConnect(at, say)
	}
	return all
}

// selectsNoConnect finds an objectSelector where somebody connects: what comes then are
// options, which have no labels, and a selector that says anything never meets those.
func (h *hook) selectsNoConnect(at *field.Path, say func(*field.Path, string, string)) {
	if selectsAll(h.objects) {
		return
	}
	for i := range h.rules {
		r := &h.rules[i]
		if operations(r.Operations, admissionregistrationv1.Connect) && slices.ContainsFunc(r.Resources, func(entry string) bool { return strings.Contains(entry, "/") }) {
			say(at.Child("objectSelector"), metav1.FormatLabelSelector(h.objects), fmt.Sprintf(
				"rule %d is about CONNECT, which comes with options in place of an object; these have no labels, so that no exec, attach, port-forward or proxy is asked about. Give CONNECT a webhook of its own without objectSelector", i))
			return
		}
	}
}

func faultsOfRule(r *admissionregistrationv1.RuleWithOperations, at *field.Path, say func(*field.Path, string, string)) {
	names := builtin.NewRuleNames(r.APIGroups)
	for i, group := range r.APIGroups {
		if group == "*" {
			continue
		}
		if wrong := names.Group(group); wrong != "" {
			say(at.Child("apiGroups").Index(i), group, wrong)
		}
	}
	for i, entry := range r.Resources {
		if wrong := faultOfResource(r, names, entry); wrong != "" {
			say(at.Child("resources").Index(i), entry, wrong)
		}
	}
}

// faultOfResource says why nothing, or not all that it looks like, meets an entry of a
// rule; "" where that is not known.
func faultOfResource(r *admissionregistrationv1.RuleWithOperations, names *builtin.RuleNames, entry string) string {
	name, subresource, slash := strings.Cut(entry, "/")
	if name != "*" {
		if wrong := names.Resource(name); wrong != "" {
			return wrong
		}
		if slash && subresource != "*" {
			if wrong := names.Subresource(name, subresource); wrong != "" {
				return wrong
			}
		}
		if wrong := faultOfScope(r, name); wrong != "" {
			return wrong
		}
	}
	never := func(group string) bool {
		return (&served{group: group, resource: name}).never()
	}
	if len(r.APIGroups) > 0 && !slices.ContainsFunc(r.APIGroups, func(group string) bool { return group == "*" || !never(group) }) {
		return "the API server asks no webhook about it"
	}
	asked := make([]string, len(r.Operations))
	for i, o := range r.Operations {
		asked[i] = string(o)
	}
	if wrong := match.NeverAsked(r.APIGroups, entry, asked); wrong != "" {
		return wrong
	}
	if !slash && (slices.Contains(asked, "CONNECT") || entry == "*" && slices.Contains(asked, "*")) {
		return fmt.Sprintf("is about no subresource, and CONNECT comes to nothing else: exec, attach, port-forward and proxy are not asked about by it; write %s/* for its subresources too", name)
	}
	return ""
}

// faultOfScope says why nothing of a resource has the scope of a rule; "" where it may.
func faultOfScope(r *admissionregistrationv1.RuleWithOperations, name string) string {
	if r.Scope == nil || len(r.APIGroups) != 1 {
		return ""
	}
	namespaced, group := builtin.AllNamespaced(r.APIGroups, []string{name}), r.APIGroups[0]
	switch {
	case *r.Scope == admissionregistrationv1.ClusterScope && namespaced:
		return "is in namespaces, and the rule's scope is Cluster; write scope: Namespaced"
	case *r.Scope == admissionregistrationv1.NamespacedScope && match.ClusterResource(group, name):
		return "is in no namespace, and the rule's scope is Namespaced; write scope: Cluster"
	}
	return ""
}
