package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// RuleNames checks the names in a deny rule against those that requests carry: a
// rule with one that no request can have looks strict and denies nothing. What
// may be somebody's own verb, group or resource is accepted as it is.
type RuleNames struct {
	entries []string
	groups  glob.List
	known   *builtinResources
}

func NewRuleNames(apiGroups []string) *RuleNames {
	return &RuleNames{entries: apiGroups, groups: glob.NewList(apiGroups), known: Builtins()}
}

// Group says what is wrong with an entry of apiGroups; "" if nothing is.
func (n *RuleNames) Group(entry string) string {
	name, version, slash := strings.Cut(entry, "/")
	switch {
	case entry == "core":
		return "is not a group; the core group is written \"\""
	case isVersion(entry):
		return "is a version, and no group; the core group is written \"\""
	case slash:
		return fmt.Sprintf("names a version (%s), and a rule holds for every one; write only the group: %q", version, name)
	case entry != strings.ToLower(entry):
		return "is not a group; groups are in lower case: " + strings.ToLower(entry)
	}
	for _, group := range slices.Sorted(maps.Keys(n.known.Groups)) {
		if strings.HasPrefix(group, entry+".") {
			return "is not a group; write " + group
		}
	}
	return ""
}

func isVersion(s string) bool {
	digits := strings.TrimPrefix(s, "v")
	return digits != s && digits != "" && digits[0] >= '0' && digits[0] <= '9'
}

// Verb says what is wrong with an entry of verbs.
func (n *RuleNames) Verb(entry string) string {
	lower := strings.ToLower(entry)
	switch {
	case verbs[entry] || glob.IsPattern(entry):
		return ""
	case strings.ContainsAny(entry, " \t/,"):
		return "is not a verb; list each verb on its own"
	case verbs[lower]:
		return "is not a verb; verbs are in lower case: " + lower
	}
	if point := subresourceOf("pods", lower); point != "" && n.groups.Match("") && apijson.Misspelt(lower, verbs) == "" {
		return fmt.Sprintf("is not a verb, but a subresource of pods: write resources: [pods/%s] and, as there are several verbs that lead to it, verbs: [\"*\"]", point)
	}
	if !n.known.closed(n.entries) {
		return ""
	}
	if meant := meantVerbs[lower]; meant != "" {
		return "is not a verb of these resources; write " + meant
	}
	if near := apijson.Misspelt(lower, verbs); near != "" && len(lower) > 3 {
		return fmt.Sprintf("is not a verb of these resources; did you mean %s?", near)
	}
	return ""
}

// Resource says what is wrong with the name of a resource, without a
// subresource.
func (n *RuleNames) Resource(name string) string {
	lower := strings.ToLower(name)
	switch {
	case glob.IsPattern(name):
		if name != lower {
			return "matches nothing: resources are in lower case"
		}
		return ""
	case name != lower:
		meant := lower
		if plural := n.known.pluralOf(lower, n.entries, &n.groups); plural != "" {
			meant = plural
		}
		return "resources are in the plural and lower case, as kubectl api-resources lists them: " + meant
	case strings.ContainsAny(name, " \t,"):
		return "is not a resource; list each resource on its own"
	case strings.Contains(name, "."):
		resource, group, _ := strings.Cut(name, ".")
		return fmt.Sprintf("is not a resource; write %s here, and %q among the apiGroups", resource, group)
	}
	if _, ok := n.known.groupOf(name, &n.groups); ok {
		return ""
	}
	if plural := n.known.pluralOf(name, n.entries, &n.groups); plural != "" {
		return "is not a resource; resources are in the plural, as kubectl api-resources lists them: " + plural
	}
	if !n.known.closed(n.entries) {
		return ""
	}
	if groups := n.known.groupsOf(name); len(groups) > 0 {
		return fmt.Sprintf("is a resource of another group: list %s among the apiGroups", quotedOr(groups))
	}
	if point := subresourceOf("pods", name); point != "" && slices.Contains(n.entries, "") {
		return "is not a resource, but a subresource: write pods/" + point
	}
	if near := n.known.misspelt(name, n.entries); near != "" {
		return fmt.Sprintf("is not a resource of these groups; did you mean %s?", near)
	}
	return ""
}

// Subresource says what is wrong with a subresource of the resources. Custom
// resources have what they have; those of pods and services are known.
func (n *RuleNames) Subresource(resource, name string) string {
	known := subresources[resource]
	if known == nil || !slices.Contains(n.entries, "") || len(n.entries) > 1 {
		return ""
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(known)), func(k string) bool { return glob.Match(name, k) }) {
		return ""
	}
	if meant := subresourceOf(resource, strings.ToLower(name)); meant != "" {
		return fmt.Sprintf("is not a subresource of %s; did you mean %s?", resource, meant)
	}
	return fmt.Sprintf("is not a subresource of %s; these are %s", resource, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
}

// Check appends an error for each entry at path that say finds fault with.
func (n *RuleNames) Check(entries []string, path *field.Path, say func(string) string) field.ErrorList {
	var errs field.ErrorList
	for i, entry := range entries {
		if wrong := say(entry); wrong != "" && strings.TrimSpace(entry) == entry && entry != "" {
			errs = append(errs, field.Invalid(path.Index(i), entry, wrong))
		}
	}
	return errs
}

// CheckRuleNames finds fault with the names in a rule as they stand there. It is for
// rules that are written as others before they are compiled: what is wrong is said of
// what somebody wrote.
func CheckRuleNames(r *v1alpha1.DenyRule, path *field.Path) field.ErrorList {
	names := NewRuleNames(r.APIGroups)
	var errs field.ErrorList
	for _, list := range []struct {
		name       string
		entries    []string
		allowEmpty bool
		say        func(string) string
	}{
		{"verbs", r.Verbs, false, names.Verb},
		{"apiGroups", r.APIGroups, true, names.Group},
		{"resources", r.Resources, false, names.Resource},
		{"subresources", r.Subresources, true, func(entry string) string {
			for _, resource := range r.Resources {
				if wrong := names.Subresource(resource, entry); wrong != "" {
					return wrong
				}
			}
			return ""
		}},
	} {
		at := path.Child(list.name)
		errs = append(errs, CheckEntries(list.entries, list.allowEmpty, at)...)
		errs = append(errs, names.Check(list.entries, at, list.say)...)
	}
	return errs
}

func quotedOr(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(quoted, " or ")
}
