package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// weakerRules is a DenyPolicy whose first rule goes by the label tier, and whose second
// may be about the same.
func weakerRules(first, second string) string {
	return deny0(fmt.Sprintf("{rules: [{%s, namespaces: {selectorTerms: [{matchLabels: {tier: gold}}]}}, {%s}]}", first, second))
}

// TestWeakerByLabels tells a change of labels by which a policy does less from one by
// which it does not, whatever else the policy says.
func TestWeakerByLabels(t *testing.T) {
	const (
		psa    = "pod-security.kubernetes.io/"
		widget = `verbs: [get], apiGroups: [example.com], resources: [widgets]`
		attach = `verbs: [create], apiGroups: [""], resources: [pods], subresources: [attach]`
	)
	prodOnly := func(policy string) string {
		return strings.Replace(policy, "{any: [{resources: {kinds: [Pod]}}]}", "{any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {env: prod}}}}]}", 1)
	}
	either := strings.Replace(excluding, "exclude: {any: [", `exclude: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {leave: "yes"}}}}, `, 1)
	overrides := func(first string) string {
		return strings.Replace(overriding, `{action: Audit, namespaceSelector: {matchLabels: {lax: "yes"}}}`, first, 1)
	}
	someEnv := strings.Replace(reading1, "kinds: [Pod]", "kinds: [Pod], namespaceSelector: {matchExpressions: [{key: env, operator: Exists}]}", 1)
	onlyDeployments := strings.NewReplacer("{name: labels}", `{name: labels, annotations: {sallyport.io/autogen-controllers: Deployment}}`, "[Pod, Deployment]", "[Job]").Replace(excluding)
	fixed := strings.Replace(overriding, `{pattern: {metadata: {labels: {team: "?*"}}}}`, "{podSecurity: {level: baseline}}", 1)
	nowhere := selectingModule + "\n  matchConditions: [{name: other, expression: \"namespaceObject.metadata.name == 'other'\"}]"
	elsewhere := strings.Replace(conditionalModule, "namespace: shop", "namespace: ops", 1)
	over := strings.Replace(escalating1, "CLUSTER", "prod-eu", 1)
	gold, none := set{"tier": "gold"}, set{}
	tests := []struct {
		name          string
		policies      []string
		before, after set
		weaker        string
		says          string
	}{
		{"a rule, left for one that is about everywhere", []string{weakerRules(widget, widget)}, gold, none, "", ""},
		{"for one of another verb", []string{weakerRules(widget, strings.Replace(widget, "[get]", "[list]", 1))}, gold, none, "d", "rules[0]"},
		{"for one of another group", []string{weakerRules(widget, strings.Replace(widget, "example.com", "example.org", 1))}, gold, none, "d", "rules[0]"},
		{"for one of another resource", []string{weakerRules(widget, strings.Replace(widget, "widgets", "gadgets", 1))}, gold, none, "d", "rules[0]"},
		{"for one of another subresource", []string{weakerRules(attach, strings.Replace(attach, "[attach]", "[exec]", 1))}, gold, none, "d", "rules[0]"},
		{"for one of a name", []string{weakerRules(widget, widget+", resourceNames: [web]")}, gold, none, "d", "rules[0]"},
		{"for one of another name", []string{weakerRules(widget+", resourceNames: [web]", widget+", resourceNames: [db]")}, gold, none, "d", "rules[0]"},
		{"for one of that name", []string{weakerRules(widget+", resourceNames: [web]", widget+", resourceNames: [w*]")}, gold, none, "", ""},
		{"of a name, for one of every name", []string{weakerRules(widget+", resourceNames: [web]", widget)}, gold, none, "", ""},
		{"a rule that was not about the namespace before", []string{weakerRules(widget, strings.Replace(widget, "[get]", "[list]", 1))}, set{"tier": "silver"}, set{"tier": "bronze"}, "", ""},

		{"a milder action of a rule that is not about the namespace", []string{prodOnly(overriding)}, none, set{"lax": "yes"}, "", ""},
		{"a milder action of one that is", []string{prodOnly(overriding)}, set{"env": "prod"}, set{"env": "prod", "lax": "yes"}, "labels", "its action becomes Audit"},
		{"a milder action that is for another namespace", []string{overrides(`{action: Audit, namespaces: [ops], namespaceSelector: {matchLabels: {lax: "yes"}}}`)}, none, set{"lax": "yes"}, "", ""},
		{"a milder action that is for this one", []string{overrides(`{action: Audit, namespaces: [shop], namespaceSelector: {matchLabels: {lax: "yes"}}}`)}, none, set{"lax": "yes"}, "labels", "its action becomes Audit"},
		{"a milder action after one for this namespace whatever its labels", []string{overrides(`{action: Warn, namespaces: [shop]}`)}, none, set{"lax": "some"}, "", ""},
		{"an exclusion of what the rule is not generated for", []string{onlyDeployments}, none, set{"skip": "yes"}, "", ""},
		{"an expression that reads another label than the selector", []string{someEnv}, set{"env": "a", "team": "a"}, set{"env": "b", "team": "a"}, "", ""},
		{"a lower standard of a rule that is not about the namespace", []string{prodOnly(byLabels)}, set{psa + "enforce": "restricted"}, none, "", ""},
		{"an expression of a rule that is not about the namespace", []string{prodOnly(reading1)}, set{"team": "a"}, set{"team": "b"}, "", ""},
		{"labels of a standard, where the level is written out", []string{fixed}, set{psa + "enforce": "restricted", "lax": "yes"}, set{"lax": "some"}, "", ""},

		{"a module, left from where it was not", []string{selectingModule}, set{"env": "test"}, set{"env": "dev"}, "", ""},
		{"a module, still selected", []string{strings.Replace(selectingModule, "[prod]", "[prod, stage]", 1)}, set{"env": "prod"}, set{"env": "stage"}, "", ""},
		{"a label without a value", []string{strings.Replace(exemptingTerms, "{matchLabels: {env: dev}}", "{matchExpressions: [{key: open, operator: Exists}]}", 1)}, none, set{"open": ""}, "strict", "the label open= of namespace shop"},
		{"a module whose conditions do not hold here", []string{nowhere}, set{"env": "prod"}, none, "", ""},
		{"a module of another namespace", []string{elsewhere}, set{"env": "prod"}, none, "", ""},

		{"two labels, each of which is enough", []string{either}, none, set{"skip": "yes", "leave": "yes"}, "labels", "the labels leave=yes,skip=yes of namespace shop"},

		{"an escalation, beside what has no risk to excuse", []string{denyRules, over}, none, set{"debug": "yes"}, "", ""},
		{"an escalation, beside a policy of another cluster", []string{strings.Replace(plainRisk, "spec:", "spec:\n  appliesTo: {clusters: [dev]}", 1), over}, none, set{"debug": "yes"}, "", ""},
		{"an escalation, where the pods are exempt already", []string{exemptingTerms, over}, set{"env": "dev"}, set{"env": "dev", "debug": "yes"}, "", ""},
		{"an exception to a Policy of the namespace", []string{strings.Replace(ofItsOwn, "NAMESPACE", "shop", 1), strings.Replace(excusing, "policyName: strict", "policyName: shop/labels", 1)}, set{"env": "prod"}, set{"env": "dev", "x": "y"}, "labels", "ClusterPolicyException dev excuses more"},
	}
	state := clusterOf(t, namespace("shop", nil))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			policies := make([]string, len(tt.policies))
			for i, p := range tt.policies {
				policies[i] = strings.Replace(p, "[EXEMPT]", "[exempt]", 1)
			}
			results := resultsAboutLabels(setOf(t, policies...).Decide(t.Context(), relabelRequest(t, state, "alice", tt.before, tt.after)))
			var weaker []string
			for _, r := range results {
				weaker = append(weaker, r.Policy)
				if !strings.Contains(r.Message, tt.says) || len(r.Findings) == 0 {
					t.Errorf("%s, with %d findings", r.Message, len(r.Findings))
				}
			}
			if got := strings.Join(weaker, " "); got != tt.weaker {
				t.Errorf("does less: %q, want %q: %+v", got, tt.weaker, results)
			}
		})
	}
}

// TestWeakerWhere goes by the tenant and by the cluster whose namespace is changed.
func TestWeakerWhere(t *testing.T) {
	state := clusterOf(t, namespace("shop", nil))
	tenants := strings.Replace(exemptingTerms, "spec:", "spec:\n  appliesTo: {tenants: [acme]}", 1)
	for name, tt := range map[string]struct {
		policies []string
		change   func(*request.Request)
		after    set
		want     int
	}{
		"its tenant":                             {[]string{tenants}, func(r *request.Request) { r.Tenant = "acme" }, set{"env": "dev"}, 1},
		"another tenant":                         {[]string{tenants}, func(r *request.Request) { r.Tenant = "other" }, set{"env": "dev"}, 0},
		"any tenant":                             {[]string{exemptingTerms}, func(r *request.Request) { r.Tenant = "acme" }, set{"env": "dev"}, 1},
		"no tenant is known":                     {[]string{tenants}, func(*request.Request) {}, set{"env": "dev"}, 1},
		"an automatic approval":                  {[]string{plainRisk, approving}, func(*request.Request) {}, set{"trusted": "yes"}, 1},
		"an automatic approval, somewhere else":  {[]string{plainRisk, approving}, func(r *request.Request) { r.Elsewhere = true }, set{"trusted": "yes"}, 0},
		"a namespace that could not be read":     {[]string{exemptingTerms}, func(r *request.Request) { r.Object.Raw = []byte(`{"spec":7}`) }, set{"env": "dev"}, 1},
		"one that could not be read before":      {[]string{exemptingTerms}, func(r *request.Request) { r.OldObject.Raw = []byte(`{"spec":7}`) }, set{"env": "dev"}, 1},
		"a label that is not to change anything": {[]string{exemptingTerms}, func(*request.Request) {}, set{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := relabelRequest(t, state, "alice", set{}, tt.after)
			tt.change(r)
			d := setOf(t, tt.policies...).Decide(t.Context(), r)
			if results := resultsAboutLabels(d); len(results) != tt.want || d.Refuses() != (tt.want > 0) || (tt.want > 0 && results[0].Status == decision.Error) != strings.Contains(name, "could not be read") {
				t.Errorf("%+v", d.Results)
			}
		})
	}
}

// TestRefusalsOfLabelsAreBounded names some of the policies that would do less, and no
// more questions are asked.
func TestRefusalsOfLabelsAreBounded(t *testing.T) {
	var policies []string
	for i := range mostRefused + 5 {
		policies = append(policies, strings.Replace(exemptingTerms, "name: strict", fmt.Sprintf("name: strict-%02d", i), 1))
	}
	d := setOf(t, policies...).Decide(t.Context(), relabelRequest(t, clusterOf(t, namespace("shop", nil)), "alice", set{}, set{"env": "dev"}))
	if results := resultsAboutLabels(d); len(results) != mostRefused || !d.Refuses() || strings.Contains(results[0].Message, "in namespace") && strings.Contains(results[0].Message, `"strict-00" in namespace`) {
		t.Errorf("%d results: %+v", len(results), results[0])
	}
}
