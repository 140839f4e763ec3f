package cluster

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Superusers is the group that may do everything, through no rule.
const Superusers = superusers

// Subject is somebody whom a binding can name. Only a ServiceAccount has a
// namespace.
type Subject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is such as "ServiceAccount shop/web".
func (s Subject) String() string { return ObjectRef(s).String() }

// Compare orders by kind, namespace and name.
func (s Subject) Compare(other Subject) int { return ObjectRef(s).compare(ObjectRef(other)) }

// ObjectRef names a role or a binding.
type ObjectRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is such as "Role shop/reader".
func (r ObjectRef) String() string {
	return objectKey{r.Kind, r.Namespace, r.Name}.String()
}

func (r ObjectRef) compare(other ObjectRef) int {
	return cmp.Or(cmp.Compare(r.Kind, other.Kind), cmp.Compare(r.Namespace, other.Namespace), cmp.Compare(r.Name, other.Name))
}

// Rule is one rule of a role.
type Rule struct {
	// Index among the rules of Of, from 0; -1 for a role that stands in no file
	// and that every cluster has, whose rules are known and not their places.
	Index int
	// Of is the role in which the rule is written: for an aggregated ClusterRole
	// that nobody has put together, one of those that it selects.
	Of ObjectRef
	*rbacv1.PolicyRule
}

// Through says how somebody came to a right.
type Through struct {
	Binding ObjectRef `json:"binding"`
	Role    ObjectRef `json:"role"`
	Rule    RuleRef   `json:"rule"`
}

// RuleRef is a Rule for people and scripts to find.
type RuleRef struct {
	Index int `json:"index"`
	// Of is the role in which the rule is written, if it is another than the one
	// that is bound.
	Of   *ObjectRef `json:"of,omitempty"`
	Text string     `json:"text"`
}

// Through names the rule in words, as it comes by this binding.
func (g *Grant) Through(rule *Rule) *Through {
	t := &Through{Binding: g.Binding, Role: g.Role, Rule: RuleRef{Index: rule.Index, Text: ruleText(rule.PolicyRule)}}
	if rule.Of != g.Role {
		of := rule.Of
		t.Rule.Of = &of
	}
	return t
}

// Place says which rule it is, such as "rule 2", or "rule 0 of ClusterRole
// reader".
func (r *RuleRef) Place() string {
	place := fmt.Sprintf("rule %d", r.Index)
	if r.Index < 0 {
		place = "built-in rule"
	}
	if r.Of != nil {
		place += " of " + r.Of.String()
	}
	return place
}

// String is the whole way, on one line.
func (t *Through) String() string {
	return t.Binding.String() + " -> " + t.Role.String() + ", " + t.Rule.Place() + " " + t.Rule.Text
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/@:-]*$`)

// ruleText writes a rule on one line, in the words of a role. What is not a plain
// word stands in quotes.
func ruleText(rule *rbacv1.PolicyRule) string {
	var parts []string
	for _, field := range []struct {
		name   string
		values []string
		always bool
	}{
		{"verbs", rule.Verbs, true}, {"apiGroups", rule.APIGroups, true}, {"resources", rule.Resources, true}, {"resourceNames", rule.ResourceNames, false},
	} {
		if len(field.values) == 0 && !field.always {
			continue
		}
		words := make([]string, len(field.values))
		for i, value := range field.values {
			if words[i] = value; !plainWord.MatchString(value) {
				words[i] = strconv.Quote(value)
			}
		}
		parts = append(parts, field.name+": ["+strings.Join(words, ", ")+"]")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
