package policy

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// TestPoliciesThatCannotWork has one thing wrong with each policy, and what is said of
// it: one problem, at its place.
func TestPoliciesThatCannotWork(t *testing.T) {
	deny := func(spec string) string { return yamlOf("DenyPolicy", "x", "spec: {"+spec+"}") }
	rule := func(fields string) string { return deny("rules: [{" + fields + "}]") }
	policy := func(spec string) string { return yamlOf("ClusterPolicy", "x", "spec: {"+spec+"}") }
	const (
		pods    = "match: {any: [{resources: {kinds: [Pod]}}]}"
		pattern = "validate: {pattern: {spec: {x: y}}}"
		sound   = "rules: [{name: r, " + pods + ", " + pattern + "}]"
	)
	validate := func(body string) string { return policy("rules: [{name: r, " + pods + ", validate: {" + body + "}}]") }
	overrides := func(list string) string { return policy("validationFailureActionOverrides: [" + list + "], " + sound) }
	matching := func(match string) string { return policy("rules: [{name: r, match: " + match + ", " + pattern + "}]") }
	generated := func(annotation string) string {
		return strings.Replace(policy(sound), "{name: x}", "{name: x, annotations: {sallyport.io/autogen-controllers: '"+annotation+"'}}", 1)
	}
	for _, c := range []struct{ name, document, path, says string }{
		{"a DenyPolicy that denies nothing", deny(""), "spec", "denies nothing"},
		{"no verb", rule(`apiGroups: [""], resources: [pods]`), "spec.rules[0].verbs", "matches nothing"},
		{"no group", rule(`verbs: [get], resources: ["*"]`), "spec.rules[0].apiGroups", "matches nothing"},
		{"no resource", rule(`verbs: [get], apiGroups: [""]`), "spec.rules[0].resources", "matches nothing"},
		{"an empty verb", rule(`verbs: [""], apiGroups: [""], resources: [pods]`), "spec.rules[0].verbs[0]", "an empty name matches nothing"},
		{"an empty resource", rule(`verbs: [get], apiGroups: [""], resources: [""]`), "spec.rules[0].resources[0]", "an empty name matches nothing"},
		{"a space before a verb", rule(`verbs: [" get"], apiGroups: [""], resources: [pods]`), "spec.rules[0].verbs[0]", "begins or ends with a space"},
		{"a space after a group", rule(`verbs: [get], apiGroups: ["apps "], resources: [deployments]`), "spec.rules[0].apiGroups[0]", "begins or ends with a space"},
		{"a space after a resource", rule(`verbs: [get], apiGroups: [""], resources: ["pods "]`), "spec.rules[0].resources[0]", "begins or ends with a space"},
		{"no subresource of a list", rule(`verbs: [get], apiGroups: [""], resources: [pods], subresources: []`), "spec.rules[0].subresources", "an empty list matches nothing"},
		{"an empty subresource", rule(`verbs: [get], apiGroups: [""], resources: [pods], subresources: [""]`), "spec.rules[0].subresources[0]", "an empty name matches nothing"},
		{"no name of a list", rule(`verbs: [get], apiGroups: [""], resources: [pods], resourceNames: []`), "spec.rules[0].resourceNames", "an empty list matches nothing"},
		{"an empty name", rule(`verbs: [get], apiGroups: [""], resources: [pods], resourceNames: [""]`), "spec.rules[0].resourceNames[0]", "an empty name matches nothing"},
		{"a slash and nothing after it", rule(`verbs: [get], apiGroups: [""], resources: [pods/]`), "spec.rules[0].resources[0]", "write resource or resource/subresource"},
		{"a slash and nothing before it", rule(`verbs: [get], apiGroups: [""], resources: [/exec]`), "spec.rules[0].resources[0]", "write resource or resource/subresource"},
		{"two slashes", rule(`verbs: [get], apiGroups: [""], resources: [pods/exec/x]`), "spec.rules[0].resources[0]", "write resource or resource/subresource"},
		{"a subresource in two ways", rule(`verbs: [get], apiGroups: [""], resources: [pods/exec], subresources: [log]`), "spec.rules[0].resources[0]", "names a subresource while"},
		{"an unknown namespace form", rule(`verbs: [get], apiGroups: [""], resources: [pods], namespaces: []`), "spec.rules[0].namespaces", ""},

		{"no rules", policy("validationFailureAction: Audit"), "spec.rules", "requires nothing"},
		{"an unknown action", policy("validationFailureAction: Block, " + sound), "spec.validationFailureAction", "Enforce"},
		{"an unknown failurePolicy", policy("failurePolicy: Never, " + sound), "spec.failurePolicy", "Ignore"},
		{"a rule without a name", policy("rules: [{" + pods + ", " + pattern + "}]"), "spec.rules[0].name", "give the rule a name"},
		{"two rules of one name", policy("rules: [{name: r, " + pods + ", " + pattern + "}, {name: r, " + pods + ", " + pattern + "}]"), "spec.rules[1].name", "is the name of rules[0] already"},
		{"an override without an action", overrides("{namespaces: [dev]}"), "spec.validationFailureActionOverrides[0].action", "give Enforce, Warn or Audit"},
		{"an override with an unknown action", overrides("{action: Block, namespaces: [dev]}"), "spec.validationFailureActionOverrides[0].action", "Enforce"},
		{"an override for no namespace", overrides("{action: Audit}"), "spec.validationFailureActionOverrides[0].namespaces", "selects no namespace"},
		{"an override for an empty list", overrides("{action: Audit, namespaces: []}"), "spec.validationFailureActionOverrides[0].namespaces", "selects no namespace"},
		{"an override for an empty list and a selector", overrides("{action: Audit, namespaces: [], namespaceSelector: {matchLabels: {a: b}}}"), "spec.validationFailureActionOverrides[0].namespaces", "selects no namespace"},
		{"an override for an empty name", overrides(`{action: Audit, namespaces: [dev, ""]}`), "spec.validationFailureActionOverrides[0].namespaces[1]", "an empty name matches no namespace"},
		{"an override that selects all", overrides("{action: Audit, namespaceSelector: {}}"), "spec.validationFailureActionOverrides[0].namespaceSelector", "selects every namespace"},
		{"an override whose selector cannot work", overrides("{action: Audit, namespaceSelector: {matchExpressions: [{key: a, operator: Near}]}}"), "spec.validationFailureActionOverrides[0].namespaceSelector", "Near"},
		{"an unknown action of a rule", validate("pattern: {spec: {x: y}}, failureAction: Block"), "spec.rules[0].validate.failureAction", "Enforce"},
		{"an override of a rule without an action", validate("pattern: {spec: {x: y}}, failureActionOverrides: [{namespaces: [dev]}]"), "spec.rules[0].validate.failureActionOverrides[0].action", "give Enforce, Warn or Audit"},
		{"a rule that requires nothing", validate("message: x"), "spec.rules[0].validate", "requires nothing"},
		{"a rule that requires two things", validate("pattern: {spec: {x: y}}, podSecurity: {level: baseline}"), "spec.rules[0].validate", "requires several things"},
		{"an empty pattern", validate("pattern: {}"), "spec.rules[0].validate.pattern", "is empty and matches every object"},
		{"a pattern that is a list", validate("pattern: [a]"), "spec.rules[0].validate.pattern", "matches no object"},
		{"patterns that are not a list", validate("anyPattern: {spec: {x: y}}"), "spec.rules[0].validate.anyPattern", "is a list of patterns"},
		{"patterns one of which is empty", validate("anyPattern: [{spec: {x: y}}, {}]"), "spec.rules[0].validate.anyPattern[1]", "is empty and matches every object"},
		{"patterns one of which is null", validate("anyPattern: [{spec: {x: y}}, null]"), "spec.rules[0].validate.anyPattern[1]", "is null"},
		{"a standard about what holds no pod", policy("rules: [{name: r, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {podSecurity: {level: baseline}}}]"), "spec.rules[0].match.any[0].resources.kinds[0]", "holds no pod that is known here"},
		{"a match without kinds", matching("{any: [{resources: {namespaces: [dev]}}]}"), "spec.rules[0].match.any[0].resources.kinds", "name at least one kind"},
		{"a match in short without kinds", matching("{namespace: [dev]}"), "spec.rules[0].match.resources.kinds", "name at least one kind"},
		{"a match by name without kinds", matching("{name: [web]}"), "spec.rules[0].match.resources.kinds", "name at least one kind"},
		{"one of two filters without kinds", matching("{any: [{resources: {kinds: [Pod]}}, {resources: {namespaces: [dev]}}]}"), "spec.rules[0].match.any[1].resources.kinds", "name at least one kind"},
		{"all filters without kinds", matching("{all: [{resources: {namespaces: [dev]}}]}"), "spec.rules[0].match.all[0].resources.kinds", "name at least one kind"},
		{"a Policy with a match that cannot work", yamlOf("Policy", "shop/x", "spec: {rules: [{name: r, match: {any: []}, "+pattern+"}]}"), "spec.rules[0].match.any", "an empty list matches nothing"},
		{"a standard with a match that cannot work", policy("rules: [{name: r, match: {any: []}, validate: {podSecurity: {level: baseline}}}]"), "spec.rules[0].match.any", "an empty list matches nothing"},
		{"an exclude that cannot work", policy("rules: [{name: r, " + pods + ", exclude: {any: [{resources: {kinds: [Pod], selector: {matchExpressions: [{key: a, operator: Near}]}}}]}, " + pattern + "}]"), "spec.rules[0].exclude.any[0].resources.selector.matchExpressions[0]", "Near"},
		{"a Policy about another namespace", strings.Replace(yamlOf("Policy", "shop/x", "spec: {"+sound+"}"), "kinds: [Pod]", "kinds: [Pod], namespaces: [shop, bank]", 1), "spec.rules[0].match.any[0].resources.namespaces[1]", `is only about its own namespace "shop"`},
		{"an annotation that is empty", generated(" "), "metadata.annotations[sallyport.io/autogen-controllers]", "write none, all, or kinds"},
		{"an annotation with a kind that makes no pods", generated("Deployment,ConfigMap"), "metadata.annotations[sallyport.io/autogen-controllers]", "is not a kind that makes pods"},
		{"an annotation with Pod", generated("Pod"), "metadata.annotations[sallyport.io/autogen-controllers]", "is not a kind that makes pods"},

		{"a policy without a name", strings.Replace(policy(sound), "name: x", "labels: {a: b}", 1), "metadata.name", "is missing"},
		{"a Policy without a namespace", yamlOf("Policy", "x", "spec: {"+sound+"}"), "metadata.namespace", "is missing"},
		{"a ClusterPolicy with a namespace", yamlOf("ClusterPolicy", "shop/x", "spec: {"+sound+"}"), "metadata.namespace", "has no namespace"},
		{"another version", strings.Replace(policy(sound), "v1alpha1", "v2", 1), "apiVersion", "is not a version that is read here"},
		{"a ClusterPolicy with capabilities", policy("capabilities: [can_i], " + sound), "spec.capabilities", "unknown field"},
		{"a Policy with an unknown field", yamlOf("Policy", "shop/x", "spec: {contextual: [], "+sound+"}"), "spec.contextual", "unknown field"},
		{"an unknown kind", strings.Replace(policy(sound), "ClusterPolicy", "ClusterPolicie", 1), "kind", "is not a kind of"},
		{"an exception with an empty duration", yamlOf("PolicyException", "shop/x", `spec: {duration: "", exceptions: [{policyName: p, ruleNames: [r]}]}`), "spec.duration", "is empty; write a time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sources Sources
			problems := addYAML(t, &sources, c.document)
			if len(problems) == 0 {
				_, problems = Compile(sources, pod.Default(), exception.Options{Began: judgedAt})
			}
			if len(problems) != 1 || problems[0].Path != c.path || !strings.Contains(problems[0].Detail, c.says) {
				t.Errorf("got %v, want one problem at %s that says %q", problems, c.path, c.says)
			}
		})
	}
}

// TestPatternsThatAreNotJSON are said to be that, and not to be null.
func TestPatternsThatAreNotJSON(t *testing.T) {
	broken := &apiextensionsv1.JSON{Raw: []byte("{")}
	for path, v := range map[string]*v1alpha1.Validation{"pattern": {Pattern: broken}, "anyPattern": {AnyPattern: broken}} {
		_, errs := clusterpolicy.CompileBody(v, &clusterpolicy.RulesOf{}, nil)
		if len(errs) != 1 || errs[0].Field != path || !strings.Contains(errs[0].Detail, "JSON") {
			t.Errorf("%s: %v", path, errs)
		}
	}
}

// TestPoliciesThatOnlyLookWrong are accepted.
func TestPoliciesThatOnlyLookWrong(t *testing.T) {
	for name, document := range map[string]string{
		"all filters, one of which names the kinds": yamlOf("ClusterPolicy", "x", "spec: {rules: [{name: r, match: {all: [{resources: {kinds: [Pod]}}, {resources: {namespaces: [dev]}}]}, validate: {pattern: {spec: {x: y}}}}]}"),
		"a match by who asks":                       yamlOf("ClusterPolicy", "x", "spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}, {resources: {kinds: ['*']}, subjects: [{kind: User, name: bob}]}]}, validate: {pattern: {spec: {x: y}}}}]}"),
		"a Policy that names its own namespace":     yamlOf("Policy", "shop/x", "spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod], namespaces: [shop]}}]}, validate: {pattern: {spec: {x: y}}}}]}"),
		"a Policy about every namespace":            yamlOf("Policy", "shop/x", "spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod], namespaces: ['*']}}]}, validate: {pattern: {spec: {x: y}}}}]}"),
		"a standard about a pattern of kinds":       yamlOf("ClusterPolicy", "x", "spec: {rules: [{name: r, match: {any: [{resources: {kinds: ['*Map']}}]}, validate: {podSecurity: {level: baseline}}}]}"),
	} {
		t.Run(name, func(t *testing.T) {
			if _, problems := Compile(sourcesOf(t, document), pod.Default(), exception.Options{Began: judgedAt}); len(problems) > 0 {
				t.Error(problems)
			}
		})
	}
}
