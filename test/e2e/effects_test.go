package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// effectPolicy is a ClusterPolicy about the pods of a namespace that only this test
// has, which requires what is given as a flow of YAML.
func effectPolicy(name, validate string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: " + name + "}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod], namespaces: [effects]}}]}\n    validate: " + validate + "\n"
}

// written has kubectl write a manifest by a command.
func written(t *testing.T, manifest string, command ...string) lab.Result {
	t.Helper()
	return shared.Run(t.Context(), lab.Kubectl{User: root, Args: append(command, "-f", "-"), Stdin: strings.NewReader(manifest)})
}

// TestWhatIsAcceptedHasAnEffect writes what would have none by each way that kubectl
// has, and sees it refused, or warned about and said by the condition Effective.
func TestWhatIsAcceptedHasAnEffect(t *testing.T) {
	if err := shared.CreateNamespace(t.Context(), "effects", nil); err != nil {
		t.Fatal(err)
	}
	atFrontDoor(t, "effects")
	followRules(t)
	deleteAfter(t, "clusterpolicy", "fx-sound", "fx-first", "fx-absent", "fx-text", "fx-tag", "fx-variable", "fx-control", "fx-drop", "fx-privileged", "fx-excluded", "fx-there", "fx-overrides", "fx-unused", "fx-converted")
	deleteAfter(t, "denypolicy/fx-verbs")
	deleteAfter(t, "clusterpolicyexception/fx-exception")

	const lost = "{pattern: {spec: {hostPID: false, containers: [{X(lifecycle): null}]}}}"
	t.Run("null by every command", func(t *testing.T) {
		for _, command := range [][]string{{"apply"}, {"create"}, {"apply", "--server-side"}} {
			want(t, written(t, effectPolicy("fx-null", lost), command...), false, "spec.containers[0].X(lifecycle)", `write X(lifecycle): "null", in quotes`)
		}
		want(t, written(t, effectPolicy("fx-first", "{pattern: {spec: {=(hostPID): false}}}"), "apply"), true)
		for _, command := range [][]string{{"apply"}, {"replace"}} {
			want(t, written(t, effectPolicy("fx-first", lost), command...), false, `write X(lifecycle): "null"`)
		}
		want(t, shared.Kubectl(t.Context(), root, "patch", "clusterpolicy", "fx-first", "--type=json", "-p",
			`[{"op":"add","path":"/spec/rules/0/validate/pattern/spec/X(hostIPC)","value":null}]`), false, `write X(hostIPC): "null"`)
		// A merge patch takes a null for what is to be removed. Of what it leaves,
		// nothing can be seen but that it asks nothing.
		want(t, shared.Kubectl(t.Context(), root, "patch", "clusterpolicy", "fx-first", "--type=merge", "-p",
			`{"spec":{"rules":[{"name":"r","match":{"any":[{"resources":{"kinds":["Pod"]}}]},"validate":{"pattern":{"spec":{"containers":[{"X(lifecycle)":null}]}}}}]}}`), false, "is {}, which asks nothing")
	})
	t.Run("the cases that went wrong", func(t *testing.T) {
		cases := "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: fx-null}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate:\n      pattern:\n        spec:\n          "
		want(t, written(t, cases+"containers:\n          - X(lifecycle): null\n", "apply"), false, `X(lifecycle): "null"`)
		want(t, written(t, cases+"nodeName: null\n", "apply"), false, `X(nodeName): "null"`)
	})
	t.Run("refused", func(t *testing.T) {
		for name, c := range map[string]struct{ manifest, says string }{
			"an empty item": {effectPolicy("fx-refused", "{pattern: {spec: {containers: [{}]}}}"), "is {}, which asks nothing"},
			"everything":    {"apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: fx-refused}\nspec: {rules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*/*', '*']}]}\n", "lock everybody out"},
		} {
			t.Run(name, func(t *testing.T) { want(t, written(t, c.manifest, "apply"), false, c.says) })
		}
	})
	t.Run("warned about", func(t *testing.T) {
		const kind = "clusterpolicy/"
		for _, c := range []struct{ object, manifest, reason, says string }{
			{kind + "fx-absent", effectPolicy("fx-absent", "{pattern: {spec: {X(schedulerName): mine}}}"), "ValueOfAbsent", `X(schedulerName): "null"`},
			{kind + "fx-text", effectPolicy("fx-text", "\n      pattern:\n        spec:\n          priority: >5\n"), "EmptyText", "put quotes around what is meant"},
			{kind + "fx-tag", effectPolicy("fx-tag", "\n      pattern:\n        spec:\n          containers:\n          - (image): !registry/*\n            imagePullPolicy: Always\n"), "EmptyText", "the rule is not applied"},
			{kind + "fx-variable", effectPolicy("fx-variable", "{pattern: {metadata: {=(labels): {=(ns): '{{request.namespace}}'}}}}"), "Variable", "there are no variables here"},
			{kind + "fx-control", effectPolicy("fx-control", "{podSecurity: {level: baseline, version: v1.33, exclude: [{controlName: Host Probes, images: ['*']}]}}"), "ExclusionIdle", "from v1.34 on"},
			{kind + "fx-drop", effectPolicy("fx-drop", "{podSecurity: {level: baseline, exclude: [{controlName: Capabilities, images: ['*'], restrictedField: 'spec.containers[*].securityContext.capabilities.drop', values: ['']}]}}"), "ExclusionIdle", "belongs to restricted"},
			{kind + "fx-privileged", effectPolicy("fx-privileged", "{podSecurity: {level: privileged}}"), "DemandsNothing", "lets every pod in"},
			{kind + "fx-excluded", strings.Replace(effectPolicy("fx-excluded", "{pattern: {spec: {=(hostPID): false}}}"), "    validate:", "    exclude: {any: [{resources: {kinds: [Pod]}}]}\n    validate:", 1), "ExcludesAll", "about nothing"},
			{kind + "fx-there", effectPolicy("fx-there", "{pattern: {spec: {securityContext: {}}}}"), "OnlyThere", `securityContext: "*"`},
			{kind + "fx-overrides", strings.Replace(effectPolicy("fx-overrides", "{failureAction: Enforce, pattern: {spec: {=(hostPID): false}}}"), "spec:\n", "spec:\n  validationFailureActionOverrides: [{action: Audit, namespaces: [effects]}]\n", 1), "OverridesIdle", "write them into the rules"},
			{kind + "fx-unused", effectPolicy("fx-unused", "{cel: {variables: [{name: a, expression: '1'}], expressions: [{expression: '!has(object.spec.hostPID)'}]}}"), "VariableIdle", "variables.a"},
			{"denypolicy/fx-verbs", "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: fx-verbs}\nspec: {rules: [{verbs: [create], apiGroups: [''], resources: [pods/exec], namespaces: [effects]}]}\n", "HalfOpen", "write [get, create]"},
		} {
			t.Run(c.object, func(t *testing.T) {
				want(t, written(t, c.manifest, "apply"), true, "Warning:", c.says)
				conditionSays(t, c.object, "Effective", "False", c.reason, c.says)
				conditionSays(t, c.object, "Ready", "True", "InForce", "")
			})
		}
	})
	t.Run("shown, as things are in the cluster", func(t *testing.T) {
		deleteAfter(t, "clusterpolicy", "fx-nowhere", "fx-excused")
		deleteAfter(t, "clusterpolicyexception/fx-excusing")
		deleteAfter(t, "namespace/effects-later")
		nowhere := written(t, strings.Replace(effectPolicy("fx-nowhere", "{pattern: {spec: {=(hostPID): false}}}"), "[effects]", "[effects-later]", 1), "apply")
		want(t, nowhere, true)
		if strings.Contains(nowhere.Stderr, "Warning") {
			t.Errorf("of a namespace that may come: %s", nowhere)
		}
		conditionSays(t, "clusterpolicy/fx-nowhere", "Effective", "False", "NothingThere", "rule r is about no namespace that there is")
		conditionSays(t, "clusterpolicy/fx-nowhere", "Ready", "True", "InForce", "")
		conditionSays(t, "clusterpolicy/fx-nowhere", "Enforced", "True", "Asked", "")
		want(t, shared.Kubectl(t.Context(), root, "create", "namespace", "effects-later"), true)
		conditionSays(t, "clusterpolicy/fx-nowhere", "Effective", "True", "AsWritten", "")

		deleteAfter(t, "clusterpolicy/fx-own")
		want(t, written(t, strings.Replace(effectPolicy("fx-own", "{pattern: {spec: {=(hostPID): false}}}"), "[effects]", "["+system+"]", 1), "apply"), true)
		awaitResult(t, func() lab.Result {
			// Another test may be taking it away.
			shared.Kubectl(t.Context(), root, "create", "namespace", system)
			return shared.Kubectl(t.Context(), root, "get", "clusterpolicy", "fx-own", "-o", `jsonpath={.status.conditions[?(@.type=="Effective")]}`)
		}, true, "NotGuarded", "is only about namespaces that webhooks leave out by their names")

		want(t, written(t, effectPolicy("fx-excused", "{pattern: {spec: {=(hostPID): false}}}"), "apply"), true)
		conditionSays(t, "clusterpolicy/fx-excused", "Effective", "True", "AsWritten", "")
		want(t, written(t, "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicyException\nmetadata: {name: fx-excusing}\nspec: {exceptions: [{policyName: fx-excused}], match: {any: [{resources: {kinds: ['*']}}]}, reason: a test}\n", "apply"), true)
		conditionSays(t, "clusterpolicy/fx-excused", "Effective", "False", "Excused", "all that it is about is excused by ClusterPolicyException fx-excusing")
		conditionSays(t, "clusterpolicy/fx-excused", "Enforced", "True", "Asked", "")
		want(t, shared.Kubectl(t.Context(), root, "delete", "clusterpolicyexception", "fx-excusing"), true)
		conditionSays(t, "clusterpolicy/fx-excused", "Effective", "True", "AsWritten", "")
	})
	t.Run("an exception from what the rule does not demand", func(t *testing.T) {
		exception := "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicyException\nmetadata: {name: fx-exception}\nspec:\n  exceptions: [{policyName: fx-control, ruleNames: [r]}]\n  match: {any: [{resources: {kinds: [Pod], names: [a]}}]}\n  reason: a test\n  podSecurity: [{controlName: CONTROL}]\n"
		want(t, written(t, strings.Replace(exception, "CONTROL", "Running as Non-root", 1), "apply"), true, "Warning:", "belongs to restricted")
		conditionSays(t, "clusterpolicyexception/fx-exception", "Effective", "False", "ExceptionIdle", "belongs to restricted")
		want(t, written(t, strings.Replace(exception, "CONTROL", "Host Namespaces", 1), "apply"), true)
		conditionSays(t, "clusterpolicyexception/fx-exception", "Effective", "True", "AsWritten", "")
	})
	t.Run("what is right", func(t *testing.T) {
		r := written(t, effectPolicy("fx-sound", "{pattern: {spec: {containers: [{X(lifecycle): 'null'}]}}}"), "apply")
		want(t, r, true)
		if strings.Contains(r.String(), "Warning:") {
			t.Errorf("warned: %s", r)
		}
		conditionSays(t, "clusterpolicy/fx-sound", "Effective", "True", "AsWritten", "")
		want(t, shared.Kubectl(t.Context(), root, "get", "clusterpolicies", "-o", "wide"), true, "EFFECTIVE")
		const hook = "apiVersion: v1\nkind: Pod\nmetadata: {name: hook, namespace: effects}\nspec: {containers: [{name: c, image: 'nginx:1.27', lifecycle: {preStop: {exec: {command: [sh]}}}}]}\n"
		awaitResult(t, func() lab.Result { return written(t, hook, "create", "--dry-run=server") }, false, "spec.containers[0].lifecycle")
	})
	t.Run("what is converted", func(t *testing.T) {
		foreign := filepath.Join(t.TempDir(), "policy.yaml")
		text := "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: fx-converted}\nspec:\n  validationFailureAction: Enforce\n  rules:\n  - name: host-path\n    match: {any: [{resources: {kinds: [Pod], namespaces: [effects]}}]}\n    validate:\n      message: hostPath is not allowed\n      pattern:\n        spec:\n          =(volumes):\n          - X(hostPath):\n"
		if err := os.WriteFile(foreign, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), binary, "convert", foreign).Output()
		if err != nil {
			t.Fatal(err)
		}
		want(t, written(t, string(out), "apply"), true)
		const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: hp, namespace: effects}\nspec: {containers: [{name: c, image: 'nginx:1.27'}], volumes: [{name: root, hostPath: {path: /}}]}\n"
		awaitResult(t, func() lab.Result { return written(t, pod, "create", "--dry-run=server") }, false, "hostPath is not allowed")
	})
}

// conditionSays waits until a condition of an object has a status and a reason, and
// says something.
func conditionSays(t *testing.T, object, kind, status, reason, says string) {
	t.Helper()
	at := `{.status.conditions[?(@.type=="` + kind + `")].`
	awaitResult(t, func() lab.Result {
		return shared.Kubectl(t.Context(), root, "get", object, "-o", "jsonpath="+at+"status} "+at+"reason} "+at+"message}")
	}, true, status+" "+reason, says)
}
