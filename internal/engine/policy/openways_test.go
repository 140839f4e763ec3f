package policy

import (
	"slices"
	"testing"

	"github.com/sallyport-io/sallyport/internal/engine/deny"
)

// TestHowRulesNameWaysIn asks how a rule comes to be about an exec, by what is written
// in it.
func TestHowRulesNameWaysIn(t *testing.T) {
	exec := &deny.IntoPodsBy[slices.IndexFunc(deny.IntoPodsBy, func(w deny.Way) bool { return w.String() == "pods/exec" })]
	for _, c := range []struct {
		resources string
		want      deny.Naming
	}{
		{"resources: [pods/exec]", deny.ByName},
		{"resources: ['*'], subresources: [exec]", deny.ByName},
		{"resources: [pods/attach, pods/exec]", deny.ByName},
		{"resources: [pods], subresources: [attach, exec]", deny.ByName},
		{"resources: [pods/attach]", deny.ByEverything},
		{"resources: [pods], subresources: [attach]", deny.ByPattern},
		{"resources: ['pods/*']", deny.ByPattern},
		{"resources: ['*/exec']", deny.ByPattern},
		{"resources: ['*/e*']", deny.ByPattern},
		{"resources: ['p*/exec']", deny.ByPattern},
		{"resources: [pods], subresources: ['*']", deny.ByPattern},
		{"resources: ['*'], subresources: ['e*']", deny.ByPattern},
		{"resources: ['*/*']", deny.ByEverything},
		{"resources: ['*']", deny.ByEverything},
		{"resources: ['*'], subresources: ['*']", deny.ByEverything},
		{"resources: ['*/*', 'pods/e*']", deny.ByPattern},
		{"resources: [pods]", deny.ByEverything},
		{"resources: ['services/*']", deny.ByEverything},
		{"resources: [services], subresources: ['*']", deny.ByEverything},
		{"resources: ['pods/a*']", deny.ByEverything},
	} {
		rule := setOf(t, deny0(`{rules: [{verbs: [get], apiGroups: [""], `+c.resources+`}]}`)).Deny[0].Rules[0]
		if got := rule.ComesTo(exec); got != c.want {
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
		rule := func(rest string) *deny.Rule {
			if rest != "" {
				rest = ", " + rest
			}
			return setOf(t, deny0(`{rules: [{verbs: [get], apiGroups: [""], resources: [pods/exec]`+rest+`}]}`)).Deny[0].Rules[0]
		}
		if got := rule(c.rule).Spans(rule(c.other)); got != c.want {
			t.Errorf("%q spans %q: %v", c.rule, c.other, got)
		}
	}
}
