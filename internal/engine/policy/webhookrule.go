package policy

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// webhookRule is a rule as in a webhook's configuration: which requests something
// is asked about. Versions are checked and then left aside: the same object can be
// written in each version that is served, so that a rule for one of them means the
// object whichever way it comes.
type webhookRule struct {
	groups, resources []string
	operations        []admissionregistrationv1.OperationType
	scope             admissionregistrationv1.ScopeType
}

func compileWebhookRule(from *admissionregistrationv1.RuleWithOperations, path *field.Path) (*webhookRule, field.ErrorList) {
	var errs field.ErrorList
	list := func(name string, entries []string, empty bool) {
		at := path.Child(name)
		if len(entries) == 0 {
			errs = append(errs, field.Required(at, "matches nothing; name one or more, or \"*\" for all"))
		}
		if name != "resources" && len(entries) > 1 && slices.Contains(entries, anything) {
			errs = append(errs, field.Invalid(at, entries, "\"*\" stands for everything, so nothing else belongs beside it"))
		}
		for i, entry := range entries {
			if entry != anything && name != "resources" && strings.Contains(entry, anything) {
				errs = append(errs, field.Invalid(at.Index(i), entry, "is not a pattern; write whole names, or only \"*\""))
			}
		}
		errs = append(errs, checkEntries(entries, empty, at)...)
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
			errs = append(errs, field.NotSupported(at.Index(i), operation, []string{"CREATE", "UPDATE", "DELETE", "CONNECT", anything}))
		}
	}
	rule := &webhookRule{groups: from.APIGroups, resources: from.Resources, operations: from.Operations, scope: admissionregistrationv1.AllScopes}
	if from.Scope != nil {
		rule.scope = *from.Scope
		scopes := []admissionregistrationv1.ScopeType{admissionregistrationv1.AllScopes, admissionregistrationv1.ClusterScope, admissionregistrationv1.NamespacedScope}
		if !slices.Contains(scopes, rule.scope) {
			errs = append(errs, field.NotSupported(path.Child("scope"), rule.scope, scopes))
		}
	}
	if len(errs) == 0 {
		errs = rule.checkResources(path.Child("resources"))
	}
	return rule, errs
}

// checkResources refuses names that nobody asks for, such as pod in place of
// pods.
func (w *webhookRule) checkResources(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := newRuleNames(w.groups)
	for i, entry := range w.resources {
		name, subresource, slash := strings.Cut(entry, "/")
		wrong := ""
		switch {
		case slash && (name == "" || subresource == "" || strings.Contains(subresource, "/")):
			wrong = "write resource or resource/subresource, such as pods or pods/exec"
		case name != anything && strings.Contains(name, anything), subresource != anything && strings.Contains(subresource, anything):
			wrong = "is not a pattern; write whole names, or \"*\" in place of one"
		case name != anything:
			wrong = names.resource(name)
		}
		if wrong == "" && slash {
			wrong = names.subresource(name, subresource)
		}
		if wrong != "" {
			errs = append(errs, field.Invalid(path.Index(i), entry, wrong))
		}
	}
	return errs
}

// about reports whether the rule is about the request.
func (w *webhookRule) about(r *request.Request) bool {
	return w.aboutServed(r.Resource.Group, r.Resource.Resource) && w.aboutOperation(operationOf(r)) && w.aboutResource(r.Resource.Resource, r.Subresource) && w.aboutScope(r)
}

// aboutServed is aboutGroup for a resource. Events are served by two groups: they
// are the same objects, whichever one they come by.
func (w *webhookRule) aboutServed(group, resource string) bool {
	other, ok := match.OtherGroup(group, resource)
	return w.aboutGroup(group) || ok && w.aboutGroup(other)
}

// aboutGroup leaves Sallyport's own objects out where they are not named: a
// module that refuses everything could otherwise not be taken away any more.
func (w *webhookRule) aboutGroup(group string) bool {
	return slices.Contains(w.groups, group) || group != v1alpha1.GroupVersion.Group && slices.Contains(w.groups, anything)
}

func (w *webhookRule) aboutOperation(o request.Operation) bool {
	return slices.Contains(w.operations, admissionregistrationv1.OperationType(o)) || slices.Contains(w.operations, admissionregistrationv1.OperationAll)
}

func (w *webhookRule) aboutResource(resource, subresource string) bool {
	return slices.ContainsFunc(w.resources, func(entry string) bool { return match.ResourceNamed(entry, resource, subresource) })
}

func (w *webhookRule) aboutScope(r *request.Request) bool {
	namespaced := r.Namespace != "" && !isNamespace(r)
	switch w.scope {
	case admissionregistrationv1.ClusterScope:
		return !namespaced
	case admissionregistrationv1.NamespacedScope:
		return namespaced
	}
	return true
}

// showsObjects reports whether the rule is about something that comes with an
// object, which may have labels.
func (w *webhookRule) showsObjects() bool {
	return slices.ContainsFunc(w.operations, func(o admissionregistrationv1.OperationType) bool { return o != admissionregistrationv1.Connect })
}

// checkNamespaced refuses a rule that nothing in a namespace can meet.
func (w *webhookRule) checkNamespaced(path *field.Path) field.ErrorList {
	const detail = "an AdmissionPolicy is about what is in its namespace, so this matches nothing; use a ClusterAdmissionPolicy"
	if w.scope == admissionregistrationv1.ClusterScope {
		return field.ErrorList{field.Invalid(path.Child("scope"), w.scope, detail)}
	}
	var errs field.ErrorList
	for i, entry := range w.resources {
		if name, _, _ := strings.Cut(entry, "/"); name == "namespaces" && len(w.groups) == 1 && w.groups[0] == "" {
			errs = append(errs, field.Invalid(path.Child("resources").Index(i), entry, detail))
		}
	}
	return errs
}

// named lists the resources that the rule names, without subresources; false if
// it may be about any.
func (w *webhookRule) named() ([]string, bool) {
	var names []string
	for _, entry := range w.resources {
		name, _, _ := strings.Cut(entry, "/")
		if name == anything {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

// String words the rule as a person would.
func (w *webhookRule) String() string {
	return fmt.Sprintf("%v of %s in %q", w.operations, strings.Join(w.resources, ", "), w.groups)
}

// idle says which of the resources of a module's rules no request is about, and what
// of its settings may not arrive.
func idle(spec *v1alpha1.AdmissionPolicySpec) []effect.Note {
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
