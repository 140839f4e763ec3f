package policy

import (
	"strings"
	"testing"
)

// TestModuleBadInput has a line for each way in which a policy can be wrong, with
// the field that is said to be.
func TestModuleBadInput(t *testing.T) {
	rule := func(fields string) string {
		whole := map[string]string{"apiGroups": `[""]`, "apiVersions": "[v1]", "resources": "[pods]", "operations": "[CREATE]"}
		for _, field := range strings.Split(fields, "; ") {
			name, value, _ := strings.Cut(field, ": ")
			whole[name] = value
		}
		text := "rules: [{"
		for name, value := range whole {
			text += name + ": " + value + ", "
		}
		return text + "}]"
	}
	grant := func(text string) string { return "contextAware: [" + text + "]" }
	for _, tt := range []struct{ name, line, path, want string }{
		{"no rules", "rules: []", "spec.rules", "about no request"},
		{"no groups", rule("apiGroups: []"), "spec.rules[0].apiGroups", "matches nothing"},
		{"a star beside others", rule(`apiGroups: ["*", apps]`), "spec.rules[0].apiGroups", "stands for everything"},
		{"a pattern of groups", rule(`apiGroups: ["*.k8s.io"]`), "spec.rules[0].apiGroups[0]", "not a pattern"},
		{"no versions", rule("apiVersions: []"), "spec.rules[0].apiVersions", "matches nothing"},
		{"an empty version", rule(`apiVersions: [""]`), "spec.rules[0].apiVersions[0]", "empty name"},
		{"no resources", rule("resources: []"), "spec.rules[0].resources", "matches nothing"},
		{"a kind", rule("resources: [Pod]"), "spec.rules[0].resources[0]", "pods"},
		{"a singular", rule("resources: [pod]"), "spec.rules[0].resources[0]", "pods"},
		{"upper case letters", rule("resources: [PODS]"), "spec.rules[0].resources[0]", "lower case"},
		{"another group's", rule("resources: [deployments]"), "spec.rules[0].resources[0]", `"apps"`},
		{"a misspelt one", rule("resources: [podz]"), "spec.rules[0].resources[0]", "pods"},
		{"no subresource", rule("resources: [pods/]"), "spec.rules[0].resources[0]", "resource/subresource"},
		{"a subresource of nothing", rule("resources: [/exec]"), "spec.rules[0].resources[0]", "resource/subresource"},
		{"an unknown subresource", rule("resources: [pods/exce]"), "spec.rules[0].resources[0]", "not a subresource"},
		{"two subresources", rule("resources: [pods/a/b]"), "spec.rules[0].resources[0]", "resource/subresource"},
		{"a pattern of resources", rule(`resources: ["po*"]`), "spec.rules[0].resources[0]", "not a pattern"},
		{"a space", rule(`resources: ["pods "]`), "spec.rules[0].resources[0]", "space"},
		{"no operations", rule("operations: []"), "spec.rules[0].operations", "matches nothing"},
		{"operations in lower case", rule("operations: [create]"), "spec.rules[0].operations[0]", "CREATE"},
		{"a star beside operations", rule(`operations: ["*", CREATE]`), "spec.rules[0].operations", "stands for everything"},
		{"an unknown scope", rule("scope: namespaced"), "spec.rules[0].scope", "Namespaced"},
		{"an unknown field of a rule", rule("resourceNames: [a]"), "spec.rules[0].resourceNames", "unknown field"},

		{"a mode", "mode: audit", "spec.mode", "protect"},
		{"a mode in upper case", "mode: Protect", "spec.mode", "protect"},
		{"a fail policy", "failurePolicy: ignore", "spec.failurePolicy", "Ignore"},
		{"no time", "timeoutSeconds: 0", "spec.timeoutSeconds", "between 1 and 30"},
		{"too much time", "timeoutSeconds: 31", "spec.timeoutSeconds", "between 1 and 30"},
		{"a time with a unit", "timeoutSeconds: 5s", "spec.timeoutSeconds", "number"},
		{"settings that are a list", "settings: [a]", "spec.settings", "is not a map"},
		{"settings that are text", "settings: a", "spec.settings", "is not a map"},
		{"an object selector", "objectSelector: {matchExpressions: [{key: a, operator: Like, values: [b]}]}", "spec.objectSelector", "Like"},
		{"an object selector without values", "objectSelector: {matchExpressions: [{key: a, operator: In}]}", "spec.objectSelector", ""},
		{"an object selector that is misspelt", "objectSelector: {matchLabel: {a: b}}", "spec.objectSelector.matchLabel", "unknown field"},
		{"a namespace selector", "namespaceSelector: {matchLabels: {'a b': c}}", "spec.namespaceSelector", ""},
		{"a namespace selector that is not one", "namespaceSelector: 3", "spec.namespaceSelector", "found a number"},
		{"a condition without a name", `matchConditions: [{expression: "true"}]`, "spec.matchConditions[0].name", "name"},
		{"a condition twice", `matchConditions: [{name: a, expression: "true"}, {name: a, expression: "true"}]`, "spec.matchConditions[1].name", "Duplicate"},
		{"a condition that is none", `matchConditions: [{name: a, expression: "1"}]`, "spec.matchConditions[0].expression", "bool"},
		{"a condition that does not parse", `matchConditions: [{name: a, expression: "object."}]`, "spec.matchConditions[0].expression", ""},
		{"a server's name", "policyServer: Web Server", "spec.policyServer", "name of a Service"},
		{"a server's name that is too long", "policyServer: " + strings.Repeat("a", 50), "spec.policyServer", "at most 40"},

		{"a grant of nothing", grant("{version: v1}"), "spec.contextAware[0].resource", "give group, version and resource"},
		{"a grant of all", grant(`{version: v1, resource: "*"}`), "spec.contextAware[0].resource", "names no single one"},
		{"a grant of a subresource", grant("{version: v1, resource: pods/log}"), "spec.contextAware[0].resource", "names no single one"},
		{"a grant without a version", grant("{resource: pods}"), "spec.contextAware[0].version", "missing"},
		{"a grant twice named", grant("{version: v1, resource: pods, kind: Pod}"), "spec.contextAware[0].kind", "stands beside resource"},
		{"a grant of two versions", grant("{apiVersion: v1, version: v1, kind: Pod}"), "spec.contextAware[0].apiVersion", "apiVersion says both"},
		{"a grant of an odd version", grant("{apiVersion: a/b/c, kind: Pod}"), "spec.contextAware[0].apiVersion", ""},
		{"a grant in no namespace", grant("{version: v1, resource: pods, namespaces: []}"), "spec.contextAware[0].namespaces", "grants nothing"},
		{"a grant by pattern", grant("{version: v1, resource: pods, namespaces: ['team-*']}"), "spec.contextAware[0].namespaces[0]", "is a pattern"},
		{"a grant of no name", grant("{version: v1, resource: pods, names: ['']}"), "spec.contextAware[0].names", "empty"},
		{"a grant of no fields", grant("{version: v1, resource: pods, fields: []}"), "spec.contextAware[0].fields", "grants nothing"},
		{"a grant by an odd selector", grant("{version: v1, resource: pods, labelSelector: {matchExpressions: [{key: a, operator: Like}]}}"), "spec.contextAware[0].labelSelector", ""},
		{"a grant in Kubewarden's words", "contextAwareResources: [{apiVersion: v1, kind: Pod}]", "spec.contextAwareResources", "unknown field"},
		{"a capability", "capabilities: [everything]", "spec.capabilities[0]", "can_i"},
		{"a capability twice", "capabilities: [oci, net, oci]", "spec.capabilities[2]", "Duplicate"},
		{"an unknown field", "modules: a", "spec.modules", "unknown field"},
		{"selects options", rule("resources: [pods/exec]; operations: [CONNECT]") + "\n  objectSelector: {matchLabels: {a: b}}", "spec.objectSelector", "selects nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			expectProblem(t, cap0("p", tt.line), tt.path, tt.want)
		})
	}
	// What a selector selects is not known where the rules are wrong.
	if _, problems := Compile(sourcesOf(t, cap0("p", rule("resources: [pods/exce]; operations: [CONNECT]")+"\n  objectSelector: {matchLabels: {a: b}}")), pods0, passes0); len(problems) != 1 {
		t.Errorf("one rule is wrong: %v", problems)
	}
	for address, want := range map[string]string{"''": "not an address", "policy.wasm": "names no repository", "http://example.com/p.wasm": "over http", "file://a": "slash"} {
		expectProblem(t, strings.Replace(cap0("p"), "file:///p.wasm", address, 1), "spec.module", want)
	}
	expectProblem(t, strings.Replace(ap0("shop", "p"), "https://example.com/p.wasm", "file:///p.wasm", 1), "spec.module", "file of the server")
	expectProblem(t, ap0("shop", "p", `rules: [{apiGroups: ["*"], apiVersions: [v1], resources: ["*"], operations: ["*"], scope: Cluster}]`), "spec.rules[0].scope", "use a ClusterAdmissionPolicy")
	expectProblem(t, ap0("shop", "p", `rules: [{apiGroups: [""], apiVersions: [v1], resources: [namespaces], operations: ["*"]}]`), "spec.rules[0].resources[0]", "use a ClusterAdmissionPolicy")
	expectProblem(t, ap0("shop", "p", rule("resources: [Pod]")), "spec.rules[0].resources[0]", "pods")
	expectProblem(t, ap0("shop", "p", "contextAware: [{version: v1, resource: pods}]"), "spec.contextAware", "a ClusterAdmissionPolicy may have it")
	expectProblem(t, ap0("shop", "p", "contextAware: []"), "spec.contextAware", "reads nothing beside the request")
	expectProblem(t, ap0("shop", "p", "capabilities: [can_i]"), "spec.capabilities", "a ClusterAdmissionPolicy may have it")
	expectProblem(t, ap0("shop", "p", "namespaceSelector: {}"), "spec.namespaceSelector", "only about its own namespace")
	expectProblem(t, strings.Replace(ap0("shop", "p"), "namespace: shop, ", "", 1), "metadata.namespace", "is missing")
}

// expectProblem wants a document to have a problem at a path.
func expectProblem(t *testing.T, document, path, want string) {
	t.Helper()
	var sources Sources
	problems := addYAML(t, &sources, document)
	if len(problems) == 0 {
		_, problems = Compile(sources, pods0, passes0)
	}
	for _, p := range problems {
		if p.Path == path && strings.Contains(p.Detail, want) {
			return
		}
	}
	t.Errorf("got %v, want one at %s about %q\n%s", problems, path, want, document)
}

func TestPolicyServerInput(t *testing.T) {
	server := func(name, spec string) string {
		return "{apiVersion: sallyport.io/v1alpha1, kind: PolicyServer, metadata: {name: " + name + "}, spec: {" + spec + "}}"
	}
	setOf(t, server("good", `image: "registry.example.com/sallyport:v1@sha256:aa", replicas: 0, serviceAccountName: reader.a, env: [{name: A, value: b}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: C, valueFrom: {configMapKeyRef: {name: a, key: b}}}, {name: D, valueFrom: {resourceFieldRef: {resource: limits.memory}}}]`))
	for _, tt := range []struct{ name, spec, path, want string }{
		{"a", "image: ''", "spec.image", "give the image"},
		{"a", "image: 'a b'", "spec.image", "is not an image"},
		{"a", "image: 'https://a/b'", "spec.image", "is not an image"},
		{"a", "image: '--privileged'", "spec.image", "is not an image"},
		{"a", "image: 'bücher/b'", "spec.image", "is not an image"},
		{"a", `image: "a\ab"`, "spec.image", "is not an image"},
		{"a", "image: a, env: [{name: A, valueFrom: {configMapKeyRef: {name: b}}}]", "spec.env[0].valueFrom.configMapKeyRef", "a name and a key"},
		{"a", "image: a, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}, fileKeyRef: {volumeName: a, path: b, key: c}}}]", "spec.env[0].valueFrom", "has to name one"},
		{"a", "image: a, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}, resourceFieldRef: {resource: limits.cpu}}}]", "spec.env[0].valueFrom", "has to name one"},
		{"Server", "image: a", "metadata.name", "name of a Service"},
		{"a", "image: a, replicas: -1", "spec.replicas", "0 to 100"},
		{"a", "image: a, replicas: 101", "spec.replicas", "0 to 100"},
		{"a", "image: a, serviceAccountName: A_b", "spec.serviceAccountName", "not the name of a service account"},
		{"a", "image: a, env: [{name: ''}]", "spec.env[0].name", "give the variable a name"},
		{"a", "image: a, env: [{name: 'a=b'}]", "spec.env[0].name", ""},
		{"a", "image: a, env: [{name: A}, {name: A}]", "spec.env[1].name", "Duplicate"},
		{"a", "image: a, env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]", "spec.env[0].valueFrom", "give one of both"},
		{"a", "image: a, env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: b}}}]", "spec.env[0].valueFrom.secretKeyRef", "no Secrets"},
		{"a", "image: a, env: [{name: A, valueFrom: {configMapKeyRef: {key: b}}}]", "spec.env[0].valueFrom.configMapKeyRef", "a name and a key"},
		{"a", "image: a, env: [{name: A, valueFrom: {}}]", "spec.env[0].valueFrom", "has to name one"},
		{"a", "image: a, env: [{name: A, valueFrom: {fieldRef: {}}}]", "spec.env[0].valueFrom.fieldRef.fieldPath", "give the field"},
		{"a", "image: a, env: [{name: A, valueFrom: {resourceFieldRef: {resource: gold}}}]", "spec.env[0].valueFrom.resourceFieldRef.resource", "none of a container's"},
		{"a.b", "image: a", "metadata.name", "name of a Service"},
		{strings.Repeat("a", 50), "image: a", "metadata.name", "at most 40"},
		{"a", "image: a, command: [sh]", "spec.command", "unknown field"},
	} {
		expectProblem(t, server(tt.name, tt.spec), tt.path, tt.want)
	}
	sources := sourcesOf(t, server("a", "image: a"), server("a", "image: b"))
	if _, problems := Compile(sources, pods0, passes0); len(problems) != 1 || !strings.Contains(problems[0].Detail, "there twice") {
		t.Errorf("two of one name: %v", problems)
	}
	set := setOf(t, server("a", "image: a"), cap0("p", "policyServer: a"), cap0("q", "policyServer: b"))
	if warnings := set.Warnings(); len(warnings) != 1 || warnings[0].Name != "q" || warnings[0].Path != "spec.policyServer" {
		t.Errorf("policies of servers: %v", warnings)
	}
	broken, _ := started(t, yamlOf("ClusterAdmissionPolicy", "x", strings.Replace(brokenModules, "spec: {", "spec: {policyServer: b, ", 1)))
	if warnings := broken.Set().Warnings(); len(warnings) > 0 {
		t.Errorf("of a policy that cannot work: %v", warnings)
	}
}
