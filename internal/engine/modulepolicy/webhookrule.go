package modulepolicy

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/builtin"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// WebhookRule is a rule as in a webhook's configuration: which requests something
// is asked about. Versions are checked and then left aside: the same object can be
// written in each version that is served, so that a rule for one of them means the
// object whichever way it comes.
type WebhookRule struct {
	Groups, Resources []string
	Operations        []admissionregistrationv1.OperationType
	Scope             admissionregistrationv1.ScopeType
}

func compileWebhookRule(from *admissionregistrationv1.RuleWithOperations, path *field.Path) (*WebhookRule, field.ErrorList) {
	var errs field.ErrorList
	list := func(name string, entries []string, empty bool) {
		at := path.Child(name)
		if len(entries) == 0 {
			errs = append(errs, field.Required(at, "matches nothing; name one or more, or \"*\" for all"))
		}
		if name != "resources" && len(entries) > 1 && slices.Contains(entries, stored.Anything) {
			errs = append(errs, field.Invalid(at, entries, "\"*\" stands for everything, so nothing else belongs beside it"))
		}
		for i, entry := range entries {
			if entry != stored.Anything && name != "resources" && strings.Contains(entry, stored.Anything) {
				errs = append(errs, field.Invalid(at.Index(i), entry, "is not a pattern; write whole names, or only \"*\""))
			}
		}
		errs = append(errs, builtin.CheckEntries(entries, empty, at)...)
	}
	list("apiGroups", from.APIGroups, true)
	list("apiVersions", from.APIVersions, false)
	list("resources", from.Resources, false)
	at := path.Child("operations")
	if len(from.Operations) == 0 {
		errs = append(errs, field.Required(at, "matches nothing; name one or more, or \"*\" for all"))
	}
	for i, operation := range from.Operations {
		switch operation {
		case admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete, admissionregistrationv1.Connect:
		case admissionregistrationv1.OperationAll:
			if len(from.Operations) > 1 {
				errs = append(errs, field.Invalid(at, from.Operations, "\"*\" stands for everything, so nothing else belongs beside it"))
			}
		default:
			errs = append(errs, field.NotSupported(at.Index(i), operation, []string{"CREATE", "UPDATE", "DELETE", "CONNECT", stored.Anything}))
		}
	}
	rule := &WebhookRule{Groups: from.APIGroups, Resources: from.Resources, Operations: from.Operations, Scope: admissionregistrationv1.AllScopes}
	if from.Scope != nil {
		rule.Scope = *from.Scope
		scopes := []admissionregistrationv1.ScopeType{admissionregistrationv1.AllScopes, admissionregistrationv1.ClusterScope, admissionregistrationv1.NamespacedScope}
		if !slices.Contains(scopes, rule.Scope) {
			errs = append(errs, field.NotSupported(path.Child("scope"), rule.Scope, scopes))
		}
	}
	if len(errs) == 0 {
		errs = rule.checkResources(path.Child("resources"))
	}
	return rule, errs
}

// checkResources refuses names that nobody asks for, such as pod in place of
// pods.
func (w *WebhookRule) checkResources(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := builtin.NewRuleNames(w.Groups)
	for i, entry := range w.Resources {
		name, subresource, slash := strings.Cut(entry, "/")
		wrong := ""
		switch {
		case slash && (name == "" || subresource == "" || strings.Contains(subresource, "/")):
			wrong = "write resource or resource/subresource, such as pods or pods/exec"
		case name != stored.Anything && strings.Contains(name, stored.Anything), subresource != stored.Anything && strings.Contains(subresource, stored.Anything):
			wrong = "is not a pattern; write whole names, or \"*\" in place of one"
		case name != stored.Anything:
			wrong = names.Resource(name)
		}
		if wrong == "" && slash {
			wrong = names.Subresource(name, subresource)
		}
		if wrong != "" {
			errs = append(errs, field.Invalid(path.Index(i), entry, wrong))
		}
	}
	return errs
}

// about reports whether the rule is about the request.
func (w *WebhookRule) about(r *request.Request) bool {
	return w.AboutServed(r.Resource.Group, r.Resource.Resource) && w.aboutOperation(call.OperationOf(r)) && w.aboutResource(r.Resource.Resource, r.Subresource) && w.aboutScope(r)
}

// AboutServed is aboutGroup for a resource. Events are served by two groups: they
// are the same objects, whichever one they come by.
func (w *WebhookRule) AboutServed(group, resource string) bool {
	other, ok := match.OtherGroup(group, resource)
	return w.aboutGroup(group) || ok && w.aboutGroup(other)
}

// aboutGroup leaves Sallyport's own objects out where they are not named: a
// module that refuses everything could otherwise not be taken away any more.
func (w *WebhookRule) aboutGroup(group string) bool {
	return slices.Contains(w.Groups, group) || group != v1alpha1.GroupVersion.Group && slices.Contains(w.Groups, stored.Anything)
}

func (w *WebhookRule) aboutOperation(o request.Operation) bool {
	return slices.Contains(w.Operations, admissionregistrationv1.OperationType(o)) || slices.Contains(w.Operations, admissionregistrationv1.OperationAll)
}

func (w *WebhookRule) aboutResource(resource, subresource string) bool {
	return slices.ContainsFunc(w.Resources, func(entry string) bool { return match.ResourceNamed(entry, resource, subresource) })
}

func (w *WebhookRule) aboutScope(r *request.Request) bool {
	namespaced := r.Namespace != "" && !isNamespace(r)
	switch w.Scope {
	case admissionregistrationv1.ClusterScope:
		return !namespaced
	case admissionregistrationv1.NamespacedScope:
		return namespaced
	}
	return true
}

// showsObjects reports whether the rule is about something that comes with an
// object, which may have labels.
func (w *WebhookRule) showsObjects() bool {
	return slices.ContainsFunc(w.Operations, func(o admissionregistrationv1.OperationType) bool { return o != admissionregistrationv1.Connect })
}

// CheckNamespaced refuses a rule that nothing in a namespace can meet.
func (w *WebhookRule) CheckNamespaced(path *field.Path) field.ErrorList {
	const detail = "an AdmissionPolicy is about what is in its namespace, so this matches nothing; use a ClusterAdmissionPolicy"
	if w.Scope == admissionregistrationv1.ClusterScope {
		return field.ErrorList{field.Invalid(path.Child("scope"), w.Scope, detail)}
	}
	var errs field.ErrorList
	for i, entry := range w.Resources {
		if name, _, _ := strings.Cut(entry, "/"); name == "namespaces" && len(w.Groups) == 1 && w.Groups[0] == "" {
			errs = append(errs, field.Invalid(path.Child("resources").Index(i), entry, detail))
		}
	}
	return errs
}

// named lists the resources that the rule names, without subresources; false if
// it may be about any.
func (w *WebhookRule) named() ([]string, bool) {
	var names []string
	for _, entry := range w.Resources {
		name, _, _ := strings.Cut(entry, "/")
		if name == stored.Anything {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

// String words the rule as a person would.
func (w *WebhookRule) String() string {
	return fmt.Sprintf("%v of %s in %q", w.Operations, strings.Join(w.Resources, ", "), w.Groups)
}

// Idle says which of the resources of a module's rules no request is about, and what
// of its settings may not arrive.
func Idle(spec *v1alpha1.AdmissionPolicySpec) []effect.Note {
	rules := spec.Rules
	found := nullSettings(spec.Settings, field.NewPath("spec", "settings"))
	for i := range rules {
		var asked []string
		for _, operation := range rules[i].Operations {
			asked = append(asked, string(operation))
		}
		for j, resource := range rules[i].Resources {
			if detail := match.NeverAsked(rules[i].APIGroups, resource, asked); detail != "" {
				found = append(found, effect.MatchesNothing.Note(field.NewPath("spec").Child("rules").Index(i).Child("resources").Index(j), detail))
			}
		}
	}
	return found
}
