package exception

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// described is an exception as the rules about exceptions see it.
type described struct {
	kind, namespace, name string
	reason                string
	rules                 []ruleName
	period                Period
	// begins is its creation, or approval.
	begins time.Time
	// unanchored is set for a request that is not approved yet: how long it will
	// hold is known, and from when is not.
	unanchored bool
	wildcards  []wildcard
	// askedBy are the names of those who wrote it, where they are known.
	askedBy []string
}

// wildcard is a pattern, and where it stands.
type wildcard struct {
	path  *field.Path
	found string
}

// start is when the exception begins to hold.
func (d *described) start() time.Time {
	if d.period.From.After(d.begins) {
		return d.period.From
	}
	return d.begins
}

// maxRules bounds how many policies an exception names, and how many rules of each,
// and maxReason how long a reason is, in bytes: both are shown and kept in many
// places.
const (
	maxRules  = 64
	maxReason = 4096
)

// readRules reads what an exception names. path leads to the list.
func readRules(list []v1alpha1.ExceptedRules, ownNamespace string, path *field.Path) ([]ruleName, field.ErrorList) {
	if len(list) == 0 {
		return nil, field.ErrorList{field.Required(path, "excuses nothing; name at least one policy")}
	}
	if len(list) > maxRules {
		return nil, field.ErrorList{field.TooMany(path, len(list), maxRules)}
	}
	rules := make([]ruleName, 0, len(list))
	var errs field.ErrorList
	for i := range list {
		r, more := readRule(&list[i], ownNamespace, path.Index(i))
		rules = append(rules, r)
		errs = append(errs, more...)
	}
	return rules, errs
}

func readRule(entry *v1alpha1.ExceptedRules, ownNamespace string, at *field.Path) (ruleName, field.ErrorList) {
	r := ruleName{kind: entry.PolicyKind, policy: entry.PolicyName, ownNamespace: ownNamespace, everyRule: entry.RuleNames == nil, names: entry.RuleNames}
	var errs field.ErrorList
	if namespace, name, ok := strings.Cut(entry.PolicyName, "/"); ok {
		r.namespace, r.policy = namespace, name
		if namespace == "" || strings.Contains(name, "/") {
			errs = append(errs, field.Invalid(at.Child("policyName"), entry.PolicyName, "is not a policy; write NAME, or NAMESPACE/NAME for a Policy"))
		}
	}
	r.pattern = glob.IsPattern(r.policy)
	if r.policy == "" {
		errs = append(errs, field.Required(at.Child("policyName"), "name the policy"))
	}
	if kind, known := excusableKind(entry.PolicyKind); entry.PolicyKind != "" && !known {
		errs = append(errs, field.Invalid(at.Child("policyKind"), entry.PolicyKind, "is not a kind of policy that can be excused; known are "+excusableNames()))
	} else if len(Reachable(entry, ownNamespace)) == 0 {
		what := "is a name with a namespace, but a " + kind.Kind + " has none; write only NAME"
		if kind.Namespaced {
			what = "is a name without a namespace, and the exception has none either, so that it would excuse nothing; write NAMESPACE/NAME of the " + kind.Kind
		}
		errs = append(errs, field.Invalid(at.Child("policyName"), entry.PolicyName, what))
	}
	if entry.RuleNames != nil && len(entry.RuleNames) == 0 {
		errs = append(errs, field.Required(at.Child("ruleNames"), "an empty list names no rule; name one or more, or leave the field out for every rule"))
	}
	if len(entry.RuleNames) > maxRules {
		return r, append(errs, field.TooMany(at.Child("ruleNames"), len(entry.RuleNames), maxRules))
	}
	exact := true
	for j, name := range entry.RuleNames {
		if strings.TrimSpace(name) != name || name == "" {
			errs = append(errs, field.Invalid(at.Child("ruleNames").Index(j), name, "is not the name of a rule"))
		}
		exact = exact && !glob.IsPattern(name)
	}
	r.rules = glob.NewList(entry.RuleNames)
	if exact {
		r.exact = entry.RuleNames
	}
	return r, errs
}

// wildcardsIn lists the patterns of an exception. excepted leads to the list of
// rules, matched to the match block.
func wildcardsIn(list []v1alpha1.ExceptedRules, excepted *field.Path, m *v1alpha1.Match, matched *field.Path) []wildcard {
	var found []wildcard
	look := func(at *field.Path, entries ...string) {
		for i, entry := range entries {
			if glob.IsPattern(entry) {
				place := at
				if len(entries) > 1 {
					place = at.Index(i)
				}
				found = append(found, wildcard{place, entry})
			}
		}
	}
	lookPairs := func(at *field.Path, pairs map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(pairs)) {
			look(at.Key(key), key)
			look(at.Key(key), pairs[key])
		}
	}
	for i := range list {
		look(excepted.Index(i).Child("policyName"), list[i].PolicyName)
		if list[i].RuleNames == nil {
			found = append(found, wildcard{excepted.Index(i).Child("ruleNames"), "every rule"})
		}
		look(excepted.Index(i).Child("ruleNames"), list[i].RuleNames...)
	}
	match.EachFilter(m, matched, func(f *v1alpha1.ResourceFilter, at *field.Path) {
		look(at.Child("kind"), f.Kind...)
		look(at.Child("name"), f.Name...)
		look(at.Child("namespace"), f.Namespace...)
		if r := f.Resources; r != nil {
			at := at.Child("resources")
			look(at.Child("kinds"), r.Kinds...)
			look(at.Child("name"), r.Name)
			look(at.Child("names"), r.Names...)
			look(at.Child("namespaces"), r.Namespaces...)
			lookPairs(at.Child("annotations"), r.Annotations)
			if r.Selector != nil {
				lookPairs(at.Child("selector", "matchLabels"), r.Selector.MatchLabels)
			}
			if r.NamespaceSelector != nil {
				lookPairs(at.Child("namespaceSelector", "matchLabels"), r.NamespaceSelector.MatchLabels)
			}
		}
	})
	return found
}

// checkPolicies refuses patterns for policies where no ExceptionPolicy allows
// them.
func (r *Rules) checkPolicies(d *described, path *field.Path) field.ErrorList {
	if r.anyAllows(d.namespace, d.rules, func(s *v1alpha1.ExceptionPolicySpec) bool { return s.AllowAnyPolicy }) {
		return nil
	}
	var errs field.ErrorList
	for i := range d.rules {
		for _, name := range []string{d.rules[i].policy, d.rules[i].namespace} {
			if glob.IsPattern(name) {
				errs = append(errs, field.Invalid(path.Index(i).Child("policyName"), name,
					fmt.Sprintf("would excuse policies that are not named; name each (an ExceptionPolicy with allowAnyPolicy can allow patterns in a %s)", d.kind)))
			}
		}
	}
	return errs
}
