package policy

import (
	"slices"
	"testing"
)

// TestHowRulesNameWaysIn asks how a rule comes to be about an exec, by what is written
// in it.
func TestHowRulesNameWaysIn(t *testing.T) {
	exec := &intoPodsBy[slices.IndexFunc(intoPodsBy, func(w way) bool { return w.String() == "pods/exec" })]
	for _, c := range []struct {
		resources string
		want      naming
	}{
		{"resources: [pods/exec]", byName},
		{"resources: ['*'], subresources: [exec]", byName},
		{"resources: [pods/attach, pods/exec]", byName},
		{"resources: [pods], subresources: [attach, exec]", byName},
		{"resources: [pods/attach]", byEverything},
		{"resources: [pods], subresources: [attach]", byPattern},
		{"resources: ['pods/*']", byPattern},
		{"resources: ['*/exec']", byPattern},
		{"resources: ['*/e*']", byPattern},
		{"resources: ['p*/exec']", byPattern},
		{"resources: [pods], subresources: ['*']", byPattern},
		{"resources: ['*'], subresources: ['e*']", byPattern},
		{"resources: ['*/*']", byEverything},
		{"resources: ['*']", byEverything},
		{"resources: ['*'], subresources: ['*']", byEverything},
		{"resources: ['*/*', 'pods/e*']", byPattern},
		{"resources: [pods]", byEverything},
		{"resources: ['services/*']", byEverything},
		{"resources: [services], subresources: ['*']", byEverything},
		{"resources: ['pods/a*']", byEverything},
	} {
		rule := setOf(t, deny0(`{rules: [{verbs: [get], apiGroups: [""], `+c.resources+`}]}`)).deny[0].rules[0]
		if got := rule.comesTo(exec); got != c.want {
			t.Errorf("%s: %d, want %d", c.resources, got, c.want)
		}
	}
}

// TestSpansOfRules says of which rules one is about each object that they are about.
func TestSpansOfRules(t *testing.T) {
	const labels = "namespaces: {selectorTerms: [{matchLabels: {a: b}}]}"
	for _, c := range []struct {
		rule, other string
		want        bool
	}{
		{"", "", true},
		{"", "namespaces: [shop], resourceNames: [web]", true},
		{"resourceNames: [web]", "", false},
		{"resourceNames: [web]", "resourceNames: [web]", true},
		{"resourceNames: ['w*']", "resourceNames: [web, wiki]", true},
		{"resourceNames: [web]", "resourceNames: [web, wiki]", false},
		{"resourceNames: [web]", "resourceNames: ['*']", false},
		{"resourceNames: ['*']", "resourceNames: [web]", true},
		{"resourceNames: ['*']", "", true},
		{"namespaces: [shop]", "", false},
		{"namespaces: [shop]", "namespaces: [shop]", true},
		{"namespaces: [shop]", "namespaces: [shop, lab]", false},
		{"namespaces: ['*']", "", true},
		{"namespaces: ['*']", "namespaces: [shop]", true},
		{"namespaces: ['s*', '*']", labels, true},
		{labels, "namespaces: [shop]", false},
		{labels, "", false},
	} {
		rule := func(rest string) *denyRule {
			if rest != "" {
				rest = ", " + rest
			}
			return setOf(t, deny0(`{rules: [{verbs: [get], apiGroups: [""], resources: [pods/exec]`+rest+`}]}`)).deny[0].rules[0]
		}
		if got := rule(c.rule).spans(rule(c.other)); got != c.want {
			t.Errorf("%q spans %q: %v", c.rule, c.other, got)
		}
	}
}
