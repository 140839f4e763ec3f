package convert_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRefused holds what cannot be read as ours: the fields that are told of, each
// with the words that say what can be done.
func TestRefused(t *testing.T) {
	name := requires("pattern: {a: b}")
	ruleWith := func(more string) string {
		return "rules: [{name: r, " + more + ", " + pods + ", validate: {pattern: {a: b}}}]\n"
	}
	const exception = "match: {any: [{resources: {kinds: [Pod]}}]}\n"
	tests := []struct {
		name, kind, spec string
		want             []string
	}{
		{"mutate", "", ruleWith("mutate: {patchStrategicMerge: {a: b}}"), []string{"spec.rules[0].mutate: is not read: Sallyport changes no objects"}},
		{"mutate that is empty", "", ruleWith("mutate: {}"), []string{"spec.rules[0].mutate: is not read"}},
		{"generate", "", ruleWith("generate: {kind: ConfigMap}"), []string{"spec.rules[0].generate: is not read: Sallyport makes no objects"}},
		{"verifyImages", "", ruleWith("verifyImages: [{imageReferences: ['*']}]"), []string{"spec.rules[0].verifyImages: is not read: Sallyport does not check signatures"}},
		{"context", "", ruleWith("context: [{name: a, configMap: {name: b}}]"), []string{"spec.rules[0].context: is not read: data for expressions in JMESPath; write it as validate.cel"}},
		{"preconditions", "", ruleWith("preconditions: {all: [{key: a, operator: Equals, value: b}]}"), []string{"spec.rules[0].preconditions: is not read: conditions in JMESPath; write them as match or exclude"}},
		{"preconditions in the older form", "", ruleWith("preconditions: [{key: a, operator: Equals, value: b}]"), []string{"spec.rules[0].preconditions: is not read"}},
		{"celPreconditions", "", ruleWith("celPreconditions: [{name: a, expression: 'true'}]"), []string{"spec.rules[0].celPreconditions: is not read: write them into the expressions"}},
		{"imageExtractors", "", ruleWith("imageExtractors: {Task: [{path: /spec}]}"), []string{"spec.rules[0].imageExtractors: is not read"}},
		{"deny", "", requires("deny: {conditions: {any: [{key: a, operator: Equals, value: b}]}}"), []string{"spec.rules[0].validate.deny: is not read: conditions in JMESPath; write it as validate.cel"}},
		{"deny without conditions, which refuses all", "", requires("deny: {}"), []string{"spec.rules[0].validate.deny: is not read"}},
		{"foreach", "", requires("foreach: [{list: request.object.spec.containers, pattern: {a: b}}]"), []string{"spec.rules[0].validate.foreach: is not read: a loop in JMESPath"}},
		{"manifests", "", requires("manifests: {attestors: []}"), []string{"spec.rules[0].validate.manifests: is not read"}},
		{"assert", "", requires("assert: {a: b}"), []string{"spec.rules[0].validate.assert: is not read"}},
		{"paramKind and paramRef", "", requires("cel: {paramKind: {kind: A}, paramRef: {name: a}, expressions: [{expression: 'true'}]}"), []string{"spec.rules[0].validate.cel.paramKind: is not read: expressions have no parameters", "spec.rules[0].validate.cel.paramRef: is not read"}},
		{"auditAnnotations", "", requires("cel: {auditAnnotations: [{key: a, valueExpression: b}], expressions: [{expression: 'true'}]}"), []string{"spec.rules[0].validate.cel.auditAnnotations: is not read"}},
		{"matchConditions", "", "webhookConfiguration: {matchConditions: [{name: a, expression: 'true'}]}\n" + name, []string{"spec.webhookConfiguration.matchConditions: is not read: every request that the rules match is judged"}},
		{"all of them at once", "", "admission: false\nrules: [{name: a, mutate: {a: b}}, {name: b, validate: {message: '{{ a }}', deny: {}}}]\n", []string{
			"spec.admission: is false", "spec.rules[0].mutate: is not read", "spec.rules[1].validate.deny: is not read", "spec.rules[1].validate.message: holds a variable",
		}},

		{"a variable in a message", "", requires("message: 'no {{ request.object.metadata.name }}', pattern: {a: b}"), []string{"spec.rules[0].validate.message: holds a variable, {{...}}"}},
		{"a variable in the message of an expression", "", requires("cel: {expressions: [{expression: 'true', message: '{{ a }}'}]}"), []string{"spec.rules[0].validate.cel.expressions[0].message: holds a variable"}},
		{"a variable in a pattern", "", requires("pattern: {spec: {containers: [{image: '{{ registry }}/*'}]}}"), []string{"spec.rules[0].validate.pattern.spec.containers[0].image: holds a variable, {{...}}, and patterns have none here"}},
		{"a variable in the name of a field", "", requires("pattern: {metadata: {labels: {'{{ key }}': '?*'}}}"), []string{"spec.rules[0].validate.pattern.metadata.labels: holds a variable"}},
		{"a variable that is escaped", "", requires(`pattern: {a: '\{{ b }}'}`), []string{"spec.rules[0].validate.pattern.a: holds a variable"}},
		{"a reference in a pattern", "", requires("anyPattern: [{a: b}, {spec: {memory: '<=$(./../limits/memory)'}}]"), []string{"spec.rules[0].validate.anyPattern[1].spec.memory: holds a reference to another field, $(...)"}},
		{"a variable in a list", "", requires("pattern: {a: ['{{ b }}', '$(c)']}"), []string{"spec.rules[0].validate.pattern.a[0]: holds a variable", "spec.rules[0].validate.pattern.a[1]: holds a reference"}},

		{"an action that there is not", "", "validationFailureAction: Deny\n" + name, []string{`spec.validationFailureAction: found "Deny", Enforce or Audit belongs here`}},
		{"an action that is ours", "", "validationFailureAction: Warn\n" + name, []string{`spec.validationFailureAction: is "Warn", which there is not; write Audit, with emitWarning: true`}},
		{"an action that is not a word", "", "validationFailureAction: true\n" + name, []string{"spec.validationFailureAction: found true or false, Enforce or Audit belongs here"}},
		{"an override that there is not", "", "validationFailureActionOverrides: [{action: block, namespaces: [a]}]\n" + name, []string{`spec.validationFailureActionOverrides[0].action: found "block"`}},
		{"overrides that are not a list", "", "validationFailureActionOverrides: {}\n" + name, []string{"spec.validationFailureActionOverrides: found an object, a list belongs here"}},
		{"not for requests", "", "admission: false\n" + name, []string{"spec.admission: is false, which keeps the policy from requests"}},
		{"one of several rules", "", "applyRules: One\nrules: [{name: a}, {name: b}]\n", []string{"spec.applyRules: is One, which leaves out the rules behind the first"}},
		{"an unknown applyRules", "", "applyRules: Two\n" + name, []string{`spec.applyRules: found "Two", All or One belongs here`}},
		{"failurePolicy twice", "", "failurePolicy: Fail\nwebhookConfiguration: {failurePolicy: Ignore}\n" + name, []string{"spec.failurePolicy: stands in webhookConfiguration.failurePolicy too"}},
		{"an unknown failurePolicy of the webhook", "", "webhookConfiguration: {failurePolicy: fail}\n" + name, []string{`spec.webhookConfiguration.failurePolicy: found "fail", Fail or Ignore belongs here`}},
		{"emitWarning that is not a boolean", "", "emitWarning: 'yes'\n" + name, []string{`spec.emitWarning: found "yes", true or false belongs here`}},
		{"our level of the standards", "", requires("podSecurity: {level: namespace}"), []string{`spec.rules[0].validate.podSecurity.level: is "namespace"`}},
		{"our fields of the standards", "", requires("podSecurity: {level: baseline, exemptions: {usernames: [a]}, probeHosts: kep-4940}"), []string{"spec.rules[0].validate.podSecurity.exemptions: unknown field", "spec.rules[0].validate.podSecurity.probeHosts: unknown field"}},

		{"a field that is misspelt", "", "validationFailureActions: Enforce\n" + name, []string{`spec.validationFailureActions: unknown field, did you mean "validationFailureAction"?`}},
		{"a field that lacks and is misspelt", "", ruleWith("precondition: {}"), []string{`spec.rules[0].precondition: unknown field, did you mean "preconditions"?`}},
		{"a selector outside of resources", "", "rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}, namespaceSelector: {}}]}, validate: {pattern: {a: b}}}]", []string{"spec.rules[0].match.any[0].namespaceSelector: unknown field"}},
		{"our short form of match", "", "rules: [{name: r, match: {any: [{kind: Pod}]}, validate: {pattern: {a: b}}}]", []string{"spec.rules[0].match.any[0].kind: unknown field"}},
		{"a spec that is none", "", "[]", []string{"spec: found a list, an object belongs here"}},
		{"rules that are not a list", "", "rules: {a: b}", []string{"spec.rules: found an object, a list belongs here"}},
		{"a rule that is none", "", "rules: [null, 1]", []string{"spec.rules[0]: found null, an object belongs here", "spec.rules[1]: found a number, an object belongs here"}},
		{"kinds that are not a list", "", "rules: [{name: r, match: {resources: {kinds: Pod}}, validate: {pattern: {a: b}}}]", []string{`spec.rules[0].match.resources.kinds: found "Pod", a list belongs here`}},

		{"conditions of an exception", "PolicyException", exception + "conditions: {any: [{key: a, operator: Equals, value: b}]}\nexceptions: [{policyName: a, ruleNames: [b]}]", []string{"spec.conditions: is not read: conditions in JMESPath"}},
		{"an exception without rules", "PolicyException", exception + "exceptions: [{policyName: a}]", []string{"spec.exceptions[0].ruleNames: names no rule, which excuses none there and every one here"}},
		{"an exception with an empty list of rules", "PolicyException", exception + "exceptions: [{policyName: a, ruleNames: []}]", []string{"spec.exceptions[0].ruleNames: names no rule"}},
		{"an exception with null for rules", "PolicyException", exception + "exceptions: [{policyName: a, ruleNames: null}]", []string{"spec.exceptions[0].ruleNames: names no rule"}},
		{"our fields of an exception", "PolicyException", exception + "exceptions: [{policyName: a, policyKind: DenyPolicy, ruleNames: [b]}]\nduration: 30d", []string{"spec.duration: unknown field", "spec.exceptions[0].policyKind: unknown field"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			kind, version := "ClusterPolicy", "v1"
			if test.kind != "" {
				kind, version = test.kind, "v2"
			}
			object, problems := ours(t, headOf("kyverno.io/"+version, kind)+"spec:\n"+indented(test.spec))
			if object != nil {
				t.Errorf("something was read: %s", object.Raw)
			}
			var got []string
			for i, p := range problems {
				if p.Kind != kind || p.Name != "p" || p.Origin == "" {
					t.Errorf("does not name the object: %s", p.Error())
				}
				got = append(got, p.At())
				if i < len(test.want) && strings.HasPrefix(got[i], test.want[i]) {
					got[i] = test.want[i]
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestRefusedObjects holds what cannot be read whatever stands in it.
func TestRefusedObjects(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a version of a policy", headOf("kyverno.io/v2", "ClusterPolicy"), `apiVersion: is "kyverno.io/v2"; a ClusterPolicy is read as kyverno.io/v1 and kyverno.io/v2beta1`},
		{"a version of an exception", headOf("kyverno.io/v3", "PolicyException"), `apiVersion: is "kyverno.io/v3"; a PolicyException is read as kyverno.io/v2, kyverno.io/v2beta1, kyverno.io/v2alpha1 and kyverno.io/v1`},
		{"a version of a request", headOf("kyverno.io/v2", "PolicyExceptionRequest"), `apiVersion: is "kyverno.io/v2"; a PolicyExceptionRequest is read as kyverno.io/v1`},
		{"a clean-up", headOf("kyverno.io/v2", "ClusterCleanupPolicy"), "deletes objects on a schedule, which Sallyport does not"},
		{"global context", headOf("kyverno.io/v2alpha1", "GlobalContextEntry"), "is data for expressions in JMESPath"},
		{"the policies of the newer group", headOf("policies.kyverno.io/v1", "ValidatingPolicy"), "is a policy of another system (policies.kyverno.io/v1), which this version does not read; take it out, or write it as a policy of sallyport.io/v1alpha1"},
		{"the group in capitals", headOf("Kyverno.io/v1", "ClusterPolicy"), "is a policy of another system (Kyverno.io/v1)"},
		{"a field beside the spec", headOf("kyverno.io/v1", "ClusterPolicy") + "rules: []\n", "rules: unknown field"},
		{"a name to be generated", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {generateName: p-}\n", "metadata.generateName: is not read"},
		{"generated rules, said twice", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p, annotations: {pod-policies.kyverno.io/autogen-controllers: none, sallyport.io/autogen-controllers: all}}\n", `metadata.annotations["sallyport.io/autogen-controllers"]: says otherwise than pod-policies.kyverno.io/autogen-controllers`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			object, problems := ours(t, test.text)
			if object != nil || len(problems) != 1 || !strings.HasPrefix(problems[0].At(), test.want) {
				t.Errorf("got %v, want %q", problems, test.want)
			}
		})
	}
}
