package convert_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The action of a policy that gives none, beside whatever else stands in it.
const audits = "validationFailureAction: Audit\n"

// TestReadPolicies holds the specs of policies to the specs that they come to.
func TestReadPolicies(t *testing.T) {
	name := requires("pattern: {metadata: {name: '?*'}}")
	tests := []struct{ name, spec, want string }{
		{"no action is Audit", name, audits + name},
		{"null means no action", "validationFailureAction: null\n" + name, audits + name},
		{"Enforce", "validationFailureAction: Enforce\n" + name, "validationFailureAction: Enforce\n" + name},
		{"enforce", "validationFailureAction: enforce\n" + name, "validationFailureAction: Enforce\n" + name},
		{"audit", "validationFailureAction: audit\n" + name, audits + name},
		{"Audit that warns", "validationFailureAction: Audit\nemitWarning: true\n" + name, "validationFailureAction: Warn\n" + name},
		{"no action that warns", "emitWarning: true\n" + name, "validationFailureAction: Warn\n" + name},
		{"Enforce that warns", "validationFailureAction: Enforce\nemitWarning: true\n" + name, "validationFailureAction: Enforce\n" + name},
		{"Audit that does not warn", "emitWarning: false\n" + name, audits + name},
		{
			"overrides", "validationFailureActionOverrides: [{action: enforce, namespaces: [prod-*]}, {action: audit, namespaceSelector: {matchLabels: {a: b}}}]\n" + name,
			audits + "validationFailureActionOverrides: [{action: Enforce, namespaces: [prod-*]}, {action: Audit, namespaceSelector: {matchLabels: {a: b}}}]\n" + name,
		},
		{"overrides that warn", "emitWarning: true\nvalidationFailureActionOverrides: [{action: Audit, namespaces: [a]}]\n" + name, "validationFailureAction: Warn\nvalidationFailureActionOverrides: [{action: Warn, namespaces: [a]}]\n" + name},
		{"no overrides", "validationFailureActionOverrides: []\n" + name, audits + name},
		{"the action of a rule", requires("failureAction: enforce, pattern: {a: b}"), audits + requires("failureAction: Enforce, pattern: {a: b}")},
		{"the action of a rule that warns", "emitWarning: true\n" + requires("failureAction: Audit, pattern: {a: b}"), "validationFailureAction: Warn\n" + requires("failureAction: Warn, pattern: {a: b}")},
		{
			"overrides of a rule come before those of the policy",
			"validationFailureActionOverrides: [{action: Audit, namespaces: [b]}]\n" + requires("failureActionOverrides: [{action: Enforce, namespaces: [a]}], pattern: {a: b}"),
			audits + "validationFailureActionOverrides: [{action: Audit, namespaces: [b]}]\n" + requires("failureActionOverrides: [{action: Enforce, namespaces: [a]}, {action: Audit, namespaces: [b]}], pattern: {a: b}"),
		},
		{
			"overrides of a rule with an action count by themselves",
			"validationFailureActionOverrides: [{action: Audit, namespaces: [b]}]\n" + requires("failureAction: Enforce, failureActionOverrides: [{action: Enforce, namespaces: [a]}], pattern: {a: b}"),
			audits + "validationFailureActionOverrides: [{action: Audit, namespaces: [b]}]\n" + requires("failureAction: Enforce, failureActionOverrides: [{action: Enforce, namespaces: [a]}], pattern: {a: b}"),
		},
		{"no overrides of a rule", "validationFailureActionOverrides: [{action: Enforce, namespaces: [b]}]\n" + requires("failureActionOverrides: [], pattern: {a: b}"), audits + "validationFailureActionOverrides: [{action: Enforce, namespaces: [b]}]\n" + requires("pattern: {a: b}")},

		{"failurePolicy", "failurePolicy: Ignore\n" + name, audits + "failurePolicy: Ignore\n" + name},
		{"failurePolicy of the webhook", "webhookConfiguration: {failurePolicy: Ignore, timeoutSeconds: 5}\n" + name, audits + "failurePolicy: Ignore\n" + name},
		{"a webhook without conditions", "webhookConfiguration: {matchConditions: []}\n" + name, audits + name},
		{"background", "background: false\n" + name, audits + "background: false\n" + name},
		{"admission", "admission: true\n" + name, audits + name},
		{"all rules are applied", "applyRules: All\n" + name, audits + name},
		{"one of one rule is applied", "applyRules: One\n" + name, audits + name},
		{"fields without effect", "schemaValidation: false\nwebhookTimeoutSeconds: 3\ngenerateExisting: true\nuseServerSideApply: true\n" + name, audits + name},

		{"anyPattern", requires("anyPattern: [{a: b}, {c: {}}]"), audits + requires("anyPattern: [{a: b}, {c: '*'}]")},
		{"a pattern with empty maps and anchors", requires("pattern: {spec: {=(a): {}, (b): {}, X(b): {}, ^(c): [{<(d): '>1'}], e: [{}]}}"), audits + requires("pattern: {spec: {(b): '*', X(b): {}, ^(c): [{<(d): '>1'}], e: '*'}}")},
		{"nulls that must be absent", requires("pattern: {spec: {X(b): null, =(c): [{X(d): ~}], containers: [{X(e): null, f: {X(g): null}}]}}"), audits + requires("pattern: {spec: {X(b): 'null', =(c): [{X(d): 'null'}], containers: [{X(e): 'null', f: {X(g): 'null'}}]}}")},
		{"nulls of fields", requires("pattern: {spec: {a: null, =(b): null}}"), audits + requires("pattern: {spec: {X(a): 'null', X(b): 'null'}}")},
		{"nulls of labels", requires("pattern: {=(metadata): {labels: {a: null, =(b): null}, =(annotations): {c: null}}}"), audits + requires("pattern: {=(metadata): {labels: {=(a): '!?*', =(b): '!?*'}, =(annotations): {=(c): '!?*'}}}")},
		{"nulls of conditions", requires("pattern: {(a): null, <(b): null, c: d}"), audits + requires("pattern: {(a): '!?* | 0 | false', <(b): '!?* | 0 | false', c: d}")},
		{"numbers in a pattern", requires("pattern: {a: 1, b: 1.5, c: -3, d: 1e3, e: '010'}"), audits + requires("pattern: {a: 1, b: 1.5, c: -3, d: 1e3, e: '010'}")},
		{"allowExistingViolations", requires("allowExistingViolations: false, pattern: {a: b}"), audits + requires("allowExistingViolations: false, pattern: {a: b}")},
		{"podSecurity", requires("podSecurity: {level: baseline, version: v1.29}"), audits + requires("podSecurity: {level: baseline, version: v1.29, probeHosts: kubernetes}")},
		{
			"podSecurity with exclusions", requires("podSecurity: {level: restricted, exclude: [{controlName: Capabilities, images: ['cilium/*'], restrictedField: 'spec.containers[*].securityContext.capabilities.add', values: [NET_ADMIN]}]}"),
			audits + requires("podSecurity: {level: restricted, probeHosts: kubernetes, exclude: [{controlName: Capabilities, images: ['cilium/*'], restrictedField: 'spec.containers[*].securityContext.capabilities.add', values: [NET_ADMIN]}]}"),
		},
		{
			"cel", requires("cel: {generate: true, variables: [{name: n, expression: object.metadata.name}], expressions: [{expression: variables.n != '', message: m, messageExpression: \"'n'\", reason: Invalid}]}"),
			audits + requires("cel: {variables: [{name: n, expression: object.metadata.name}], expressions: [{expression: variables.n != '', message: m, messageExpression: \"'n'\"}]}"),
		},
		{"braces in cel", requires("cel: {expressions: [{expression: '{{}: 1}.size() == 1 && !object.metadata.name.contains(\"{{\")'}]}"), audits + requires("cel: {expressions: [{expression: '{{}: 1}.size() == 1 && !object.metadata.name.contains(\"{{\")'}]}")},

		{"the short form of match", "rules: [{name: r, match: {resources: {kinds: [Pod], name: a, namespaces: [b]}, subjects: [{kind: User, name: u}]}, validate: {pattern: {a: b}}}]", audits + "rules: [{name: r, match: {resources: {kinds: [Pod], name: a, namespaces: [b]}, subjects: [{kind: User, name: u}]}, validate: {pattern: {a: b}}}]"},
		{
			"match by all that there is",
			"rules: [{name: r, match: {all: [{resources: {kinds: ['*/*'], names: [a], annotations: {a: b}, selector: {matchLabels: {a: b}}, namespaceSelector: {matchExpressions: [{key: a, operator: Exists}]}, operations: [CREATE]}, roles: ['a:b'], clusterRoles: [c]}]}, validate: {pattern: {a: b}}}]",
			audits + "rules: [{name: r, match: {all: [{resources: {kinds: ['*/*'], names: [a], annotations: {a: b}, selector: {matchLabels: {a: b}}, namespaceSelector: {matchExpressions: [{key: a, operator: Exists}]}, operations: [CREATE]}, roles: ['a:b'], clusterRoles: [c]}]}, validate: {pattern: {a: b}}}]",
		},
		{"a subresource behind a dot", "rules: [{name: r, match: {any: [{resources: {kinds: [Pod.exec, apps/v1/Deployment.scale, networking.k8s.io/v1/Ingress]}}]}, validate: {pattern: {a: b}}}]", audits + "rules: [{name: r, match: {any: [{resources: {kinds: [Pod/exec, apps/v1/Deployment/scale, networking.k8s.io/v1/Ingress]}}]}, validate: {pattern: {a: b}}}]"},
		{"exclude", "rules: [{name: r, " + pods + ", exclude: {any: [{resources: {namespaces: [kube-system]}}, {clusterRoles: [cluster-admin]}]}, validate: {pattern: {a: b}}}]", audits + "rules: [{name: r, " + pods + ", exclude: {any: [{resources: {namespaces: [kube-system]}}, {clusterRoles: [cluster-admin]}]}, validate: {pattern: {a: b}}}]"},
		{"exclude that excludes nothing", "rules: [{name: r, " + pods + ", exclude: {resources: {}, any: []}, validate: {pattern: {a: b}}}]", audits + requires("pattern: {a: b}")},
		{"fields of a rule without effect", "rules: [{name: r, skipBackgroundRequests: true, reportProperties: {a: b}, context: [], mutate: null, " + pods + ", validate: {pattern: {a: b}}}]", audits + requires("pattern: {a: b}")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, apiVersion := range []string{"kyverno.io/v1", "kyverno.io/v2beta1"} {
				for _, kind := range []string{"ClusterPolicy", "Policy"} {
					compareSpec(t, headOf(apiVersion, kind), kind, test.spec, test.want)
				}
			}
		})
	}
}

// compareSpec reads an object and compares what it comes to.
func compareSpec(t *testing.T, head, kind, spec, want string) {
	t.Helper()
	object, problems := ours(t, head+"spec:\n"+indented(spec))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	wanted := treeOf(t, headOf("sallyport.io/v1alpha1", kind))
	wanted["spec"] = treeOf(t, want)
	if diff := cmp.Diff(wanted, treeOf(t, string(object.Raw))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestReadExceptions holds the specs of exceptions to the specs that they come
// to.
func TestReadExceptions(t *testing.T) {
	const resources = "match: {any: [{resources: {kinds: [Pod], names: [web-*]}}]}\n"
	tests := []struct{ name, spec, want string }{
		{"of a ClusterPolicy", resources + "exceptions: [{policyName: a, ruleNames: [b, autogen-b]}]", resources + "exceptions: [{policyName: a, policyKind: ClusterPolicy, ruleNames: [b, autogen-b]}]"},
		{"of a Policy", resources + "exceptions: [{policyName: shop/a, ruleNames: ['*']}]", resources + "exceptions: [{policyName: shop/a, policyKind: Policy, ruleNames: ['*']}]"},
		{"of several", resources + "exceptions: [{policyName: a, ruleNames: [b]}, {policyName: c, ruleNames: [d]}]", resources + "exceptions: [{policyName: a, policyKind: ClusterPolicy, ruleNames: [b]}, {policyName: c, policyKind: ClusterPolicy, ruleNames: [d]}]"},
		{"with podSecurity", resources + "exceptions: [{policyName: a, ruleNames: [b]}]\npodSecurity: [{controlName: Host Namespaces}, {controlName: Seccomp, images: ['*']}]", resources + "exceptions: [{policyName: a, policyKind: ClusterPolicy, ruleNames: [b]}]\npodSecurity: [{controlName: Host Namespaces}, {controlName: Seccomp, images: ['*']}]"},
		{"not for scans", "background: false\n" + resources + "exceptions: [{policyName: a, ruleNames: [b]}]", resources + "exceptions: [{policyName: a, policyKind: ClusterPolicy, ruleNames: [b]}]"},
		{"without conditions", "conditions: null\n" + resources + "exceptions: [{policyName: a, ruleNames: [b]}]", resources + "exceptions: [{policyName: a, policyKind: ClusterPolicy, ruleNames: [b]}]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, version := range []string{"v1", "v2alpha1", "v2beta1", "v2"} {
				compareSpec(t, headOf("kyverno.io/"+version, "PolicyException"), "PolicyException", test.spec, test.want)
			}
		})
	}
}

// TestReadMetadata holds what becomes of metadata.
func TestReadMetadata(t *testing.T) {
	tests := []struct{ name, metadata, want string }{
		{"names, labels and annotations stay", "{name: p, labels: {a: b}, annotations: {policies.kyverno.io/title: T}}", "{name: p, labels: {a: b}, annotations: {policies.kyverno.io/title: T}}"},
		{"what the API server fills in goes", "{name: p, uid: u, resourceVersion: '1', generation: 2, creationTimestamp: '2026-01-01T00:00:00Z', managedFields: [{manager: m}], finalizers: [f], ownerReferences: [{name: o}]}", "{name: p}"},
		{"what kubectl notes goes", "{name: p, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}'}}", "{name: p}"},
		{"generated rules", "{name: p, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}", "{name: p, annotations: {sallyport.io/autogen-controllers: none}}"},
		{"generated rules, said twice alike", "{name: p, annotations: {pod-policies.kyverno.io/autogen-controllers: Job, sallyport.io/autogen-controllers: Job}}", "{name: p, annotations: {sallyport.io/autogen-controllers: Job}}"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			object, problems := ours(t, "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: "+test.metadata+"\nspec: {rules: []}\nstatus: {ready: true}\n")
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			got := treeOf(t, string(object.Raw))
			if diff := cmp.Diff(map[string]any(treeOf(t, test.want)), got["metadata"]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if _, ok := got["status"]; ok {
				t.Error("the status is there still")
			}
		})
	}
}

// TestReadWorkflow holds the request and the response of document "Policy
// Exceptions", which have our form.
func TestReadWorkflow(t *testing.T) {
	for kind, spec := range map[string]string{
		"PolicyExceptionRequest":  "{exceptions: [{policyName: disallow-latest-tag, ruleNames: [validate-image-tag]}], reason: allow-latest-tag-for-test, exclude: {all: [{name: test, kind: [Deployment], namespace: [dev]}]}, duration: 30d}",
		"PolicyExceptionResponse": "{approvalPolicy: manual, name: allow-tag-for-test, status: Denied, reason: no}",
	} {
		t.Run(kind, func(t *testing.T) { compareSpec(t, headOf("kyverno.io/v1", kind), kind, spec, spec) })
	}
}
