package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/files/filestest"
)

// What holds pods in kinds of other projects, and of one's own.
const (
	farm      = "apiVersion: x.io/v1\nkind: Farm\nmetadata: {name: f}\nspec: {agent: {containers: [{name: a, image: a, securityContext: {privileged: true}}]}}\n"
	build     = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: build}\nspec: {entrypoint: main, templates: [{name: main, container: {image: a, securityContext: {privileged: true}}}]}\n"
	podSet    = "apiVersion: core.strimzi.io/v1\nkind: StrimziPodSet\nmetadata: {name: s}\nspec: {pods: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: x, securityContext: {privileged: true}}]}}]}\n"
	otherFarm = "apiVersion: x.io/v1\nkind: Farm\nmetadata: {name: g}\nspec: {agent: {containers: [{name: a, image: a}]}}\n"
)

// TestExitStatus holds every command to the contract: 0 allowed, 1 denied, 2
// wrong, and a sentence for what is wrong.
func TestExitStatus(t *testing.T) {
	filestest.InDir(t, map[string]string{
		"p/policy.yaml": filestest.BaselinePolicy, "guard.yaml": filestest.GuardPolicy, "labels.yaml": filestest.LabelsPolicy,
		"good.yaml": filestest.GoodPod, "bad.yaml": filestest.BadPod, "empty.yaml": "# nothing\n", "empty/readme.txt": "nothing",
		"broken.yaml": "kind: [", "kindless.yaml": "apiVersion: v1\n", "wrong.yaml": strings.Replace(filestest.GoodPod, "{name: a,", "{name: [],", 1),
		"farmkind.yaml": filestest.FarmKind, "farm.yaml": farm + "---\n" + otherFarm, "oldfarm.yaml": strings.Replace(farm, "image: a", "image: b", 1) + "---\n" + otherFarm, "workflow.yaml": build, "podset.yaml": podSet,
		"farmkinds.yaml": filestest.FarmKind + "---\n" + strings.Replace(filestest.FarmKind, "name: farms", "name: more", 1), "badkind.yaml": strings.Replace(filestest.FarmKind, "x.io", "apps", 1),
		"service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
		"in-ns.yaml":   "apiVersion: v1\nkind: Namespace\nmetadata: {name: new, labels: {pod-security.kubernetes.io/enforce: baseline}}\n---\n" + strings.Replace(filestest.BadPod, "name: bad", "name: bad, namespace: new", 1),
		"changed.yaml": strings.Replace(filestest.BadPod, "image: a", "image: b", 1), "debug.yaml": strings.Replace(filestest.GuardPolicy, "blockFactors", "appliesTo: {subresources: [ephemeralcontainers]}, blockFactors", 1),
		"renamed.yaml": strings.Replace(filestest.GoodPod, "name: good", "name: other", 1),
		"unknown.yaml": strings.Replace(filestest.GuardPolicy, "blockFactors", "blockFactor", 1),
		"scheme.yaml":  strings.Replace(filestest.GuardPolicy, "sallyport.io", "kyverno.io", 1),
		"audit.yaml":   strings.Replace(filestest.BaselinePolicy, "spec: {", "spec: {validationFailureAction: Audit, ", 1),
		"warn.yaml":    strings.Replace(filestest.BaselinePolicy, "spec: {", "spec: {validationFailureAction: Warn, ", 1),
	})
	tests := []struct {
		name, args, stdin string
		status            int
		says              string
	}{
		{"help", "", "", 0, "Usage:"},
		{"unknown command", "chek", "", 2, `there is no command "chek"; did you mean check?` + "\nSee 'sallyport --help'."},
		{"unknown flag", "check --polices x", "", 2, "unknown flag: --polices\nSee 'sallyport check --help'."},
		{"version", "version", "", 0, "sallyport "},
		{"version as a flag", "--version", "", 0, "sallyport "},
		{"version as a flag of a command", "check --version", "", 2, "unknown flag: --version"},
		{"version of an unknown format", "version -o xml", "", 2, `there is no output format "xml"`},
		{"an argument too many", "version now", "", 2, `"now" is one argument too many`},
		{"completion", "completion bash", "", 0, "bash completion"},
		{"completion of an unknown shell", "completion tcsh", "", 2, `no completion for "tcsh"`},

		{"check allows", "check -p p good.yaml", "", 0, "Allowed. 1 object judged: 1 pass"},
		{"check denies", "check -p p bad.yaml", "", 1, "spec.hostPID = true"},
		{"check of all", "check -p p good.yaml bad.yaml", "", 1, "2 objects judged: 1 pass, 1 fail"},
		{"check of a shipped kind", "check -p p workflow.yaml", "", 1, "spec.templates[0].container.securityContext.privileged"},
		{"check of a shipped kind that holds pods", "check -p p podset.yaml", "", 1, "spec.pods[0].spec.containers[0].securityContext.privileged"},
		{"check of a registered kind", "check -p p -p farmkind.yaml farm.yaml", "", 1, "spec.agent.containers[0].securityContext.privileged"},
		{"check of a kind that looks as if it made pods", "check -p p farm.yaml", "", 0, "warning: farm.yaml, document 1: Farm f: spec.agent.containers[0] looks like a container of a pod, but nothing says that Farm.x.io makes pods, so that no rule about Pods holds for it. If it does, give with -p: {apiVersion: sallyport.io/v1alpha1, kind: PodKind, metadata: {name: farm.x.io}, spec: {group: x.io, kinds: [Farm], pods: [{path: \"spec.agent\", form: PodSpec}]}}\n"},
		{"check by two PodKinds of one kind", "check -p p -p farmkinds.yaml farm.yaml", "", 2, "is registered by PodKind farms already"},
		{"check by a PodKind of a kind of Kubernetes", "check -p p -p badkind.yaml farm.yaml", "", 2, "is a group of Kubernetes itself"},
		{"check by only a PodKind", "check -p farmkind.yaml farm.yaml", "", 2, "no policy was found"},
		{"check of a PodKind that contradicts one in force", "check -p p -p farmkind.yaml badkind.yaml", "", 1, "is a group of Kubernetes itself"},
		{"update of a registered kind", "check -p p -p farmkind.yaml --operation UPDATE --old oldfarm.yaml farm.yaml", "", 1, "spec.agent.containers[0].securityContext.privileged"},
		{"check of what no rule is about", "check -p p service.yaml", "", 0, "1 with no rule about them"},
		{"check of standard input", "check -p p -", filestest.BadPod, 1, "Pod default/bad  standard input"},
		{"policies from standard input", "check -p - bad.yaml", filestest.BaselinePolicy, 1, "spec.hostPID"},
		{"standard input for both", "check -p - -", filestest.BaselinePolicy, 2, "standard input is named both"},
		{"no policies", "check good.yaml", "", 2, "no policies are given; name them with -p"},
		{"policies that are not there", "check -p nowhere good.yaml", "", 2, "nowhere: cannot be read: no such file or directory"},
		{"a file without policies", "check -p empty.yaml good.yaml", "", 2, "no policy was found in empty.yaml"},
		{"a directory without policies", "check -p empty good.yaml", "", 2, "no policy was found in empty"},
		{"no path", "check -p p", "", 2, "PATH is missing"},
		{"nothing to check", "check -p p empty.yaml", "", 2, "there is nothing to check in empty.yaml"},
		{"a path that is not there", "check -p p nowhere.yaml", "", 2, "nowhere.yaml: cannot be read"},
		{"a broken file", "check -p p broken.yaml good.yaml", "", 2, "broken.yaml, document 1: not YAML"},
		{"a broken file beside a denied one", "check -p p broken.yaml bad.yaml", "", 2, "spec.hostPID"},
		{"an object without kind", "check -p p kindless.yaml", "", 2, "kind: is missing"},
		{"an object of the wrong shape", "check -p p wrong.yaml", "", 2, "spec.containers[0].name: found a list, a string belongs here"},
		{"a policy with an unknown field", "check -p unknown.yaml good.yaml", "", 2, `DenyPolicy guard: spec.podSecurityRules.blockFactor: unknown field, did you mean "blockFactors"?`},
		{"a policy of another system", "check -p scheme.yaml -p p good.yaml", "", 2, "is a policy of another system (kyverno.io/v1alpha1)"},
		{"a checked policy that cannot work", "check -p p unknown.yaml", "", 1, "blockFactor"},
		{"audit lets in", "check -p audit.yaml bad.yaml", "", 0, "recorded, not enforced"},
		{"warn lets in", "check -p warn.yaml bad.yaml", "", 0, "Allowed with warnings"},
		{"warn with warnings as errors", "check --warnings-as-errors -p warn.yaml bad.yaml", "", 1, "Allowed with warnings"},
		{"an unknown format", "check -p p -o yaml good.yaml", "", 2, `there is no output format "yaml"; there are text, json, junit, sarif, report`},
		{"an unknown colour", "check -p p --color red good.yaml", "", 2, `--color is "red"`},
		{"colours", "check -p p --color always bad.yaml", "", 1, "\x1b["},
		{"a group without a user", "check -p p --as-group g good.yaml", "", 2, "name the user with --as"},
		{"an extra that is none", "check -p p --as u --as-extra g good.yaml", "", 2, `--as-extra is "g"; key=value is expected`},
		{"a namespace among the manifests", "check -p labels.yaml in-ns.yaml", "", 1, `violates PodSecurity "baseline:latest"`},
		{"a namespace that is not known", "check -p labels.yaml bad.yaml", "", 2, "Could not be judged"},

		{"update without old", "check -p p --operation UPDATE good.yaml", "", 2, "--operation UPDATE needs --old"},
		{"old without update", "check -p p --old good.yaml good.yaml", "", 2, "--old belongs to --operation UPDATE"},
		{"an unknown operation", "check -p p --operation PATCH good.yaml", "", 2, `--operation is "PATCH"`},
		{"update of nothing relevant", "check -p p --operation UPDATE --old bad.yaml bad.yaml", "", 0, "Allowed. 1 object judged: 0 pass, 0 fail, 0 warn, 0 skip, 0 error; 1 not judged again, as nothing relevant changed"},
		{"update of what holds no pod", "check -p p --operation UPDATE --old service.yaml service.yaml", "", 0, "1 with no rule about them"},
		{"update that is judged", "check -p p --operation UPDATE --old changed.yaml bad.yaml", "", 1, "spec.hostPID"},
		{"update of what was not there", "check -p p --operation UPDATE --old good.yaml renamed.yaml", "", 2, "does not stand in good.yaml"},
		{"update of what was good", "check -p p --operation UPDATE --old broken.yaml bad.yaml", "", 2, "broken.yaml, document 1"},
		{"delete", "check -p p --operation DELETE bad.yaml", "", 0, "Allowed"},

		{"access allows", "access exec default/good -p guard.yaml -p good.yaml", "", 0, "Allowed: exec into pod default/good"},
		{"access denies", "access exec default/bad -p guard.yaml -p bad.yaml", "", 1, "Denied: exec into pod default/bad"},
		{"access to what is not there", "access exec default/gone -p guard.yaml -p bad.yaml", "", 1, "default/gone is not there"},
		{"access by get", "access exec default/bad --verb get -p guard.yaml -p bad.yaml", "", 1, "spec.hostPID"},
		{"access through admission", "access attach default/bad --door admission -p guard.yaml -p bad.yaml", "", 1, "spec.hostPID"},
		{"access by another verb", "access exec default/bad --verb watch -p guard.yaml -p bad.yaml", "", 2, `--verb is "watch"; for exec it is create or get`},
		{"access through admission by a verb", "access exec default/bad --verb get --door admission -p guard.yaml", "", 2, "--verb belongs to the access door"},
		{"access through another door", "access exec default/bad --door back -p guard.yaml", "", 2, `--door is "back"`},
		{"access to a log through admission", "access log default/bad --door admission -p guard.yaml", "", 2, "does not pass admission"},
		{"an unknown way in", "access ssh default/bad -p guard.yaml", "", 2, `"ssh" is not a way into a pod; exec, attach`},
		{"no namespace", "access exec bad -p guard.yaml", "", 2, `"bad" names no pod; NAMESPACE/POD is expected`},
		{"no pod", "access exec -p guard.yaml", "", 2, "NAMESPACE/POD is missing"},
		{"a node that is a pod", "access nodes/proxy a/b -p guard.yaml", "", 2, `"a/b" is not the name of a node`},
		{"an ephemeral container in what is not there", "access ephemeralcontainers default/gone --door admission -p guard.yaml", "", 2, "pod default/gone is not there: at the admission door an ephemeral container is an update of its pod"},
		{"an ephemeral container in what is not there, at the side door", "access ephemeralcontainers default/gone -p debug.yaml", "", 1, "default/gone is not there; failMode closed"},
		{"an ephemeral container", "access ephemeralcontainers default/good --door admission -p debug.yaml -p good.yaml", "", 0, "1 pass"},
		{"an ephemeral container in what is denied", "access ephemeralcontainers default/bad --door admission -p debug.yaml -p bad.yaml", "", 1, "spec.hostPID"},
		{"an ephemeral container by name", "access ephemeralcontainers default/good -c shell --door admission -p debug.yaml -p good.yaml", "", 0, "1 pass"},
		{"an ephemeral container by a name that is taken", "access ephemeralcontainers default/good -c a --door admission -p debug.yaml -p good.yaml", "", 2, `has a container "a" already`},
		{"a way in by kubectl's name", "access debug default/good -p guard.yaml", "", 2, "did you mean ephemeralcontainers?"},
		{"a way in with its resource", "access pods/exec default/good -p guard.yaml", "", 2, "did you mean exec?"},
		{"a misspelt way in", "access port-forwrad default/good -p guard.yaml", "", 2, `"port-forwrad" is not a way into a pod`},
		{"a way in with a letter wrong", "access exce default/good -p guard.yaml", "", 2, "did you mean exec?"},
		{"a kubeconfig that is not there", "access exec default/bad --kubeconfig nowhere -p guard.yaml", "", 2, "the kubeconfig cannot be used"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			status, stdout, stderr := clitest.Run(t, test.stdin, strings.Fields(test.args)...)
			if status != test.status {
				t.Errorf("exit status %d, want %d", status, test.status)
			}
			if !strings.Contains(stdout+stderr, test.says) {
				t.Errorf("does not say %q", test.says)
			}
			if t.Failed() {
				t.Logf("standard output:\n%s\nstandard error:\n%s", stdout, stderr)
			}
		})
	}
}

// TestEscapes makes sure that a manifest cannot write to the terminal.
func TestEscapes(t *testing.T) {
	filestest.InDir(t, map[string]string{"p.yaml": filestest.BaselinePolicy, "bad.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: \"a\\e[2J\"}\nspec: {hostPID: true, containers: [{name: \"a\\e[1A\\nAllowed\", image: a, securityContext: {privileged: true}}]}\n"})
	_, stdout, stderr := clitest.Run(t, "", "check", "-p", "p.yaml", "bad.yaml")
	if strings.Contains(stdout+stderr, "\x1b") || strings.Contains(stdout, "\nAllowed") {
		t.Errorf("an escape sequence came through: %q", stdout)
	}
}

// TestInputProblemsInJSON makes sure that scripts see what could not be read.
func TestInputProblemsInJSON(t *testing.T) {
	filestest.InDir(t, map[string]string{"p.yaml": filestest.BaselinePolicy, "a.yaml": filestest.BadPod + "---\nkind: Pod\nmetadata: {name: b}\n"})
	status, stdout, _ := clitest.Run(t, "", "check", "-p", "p.yaml", "a.yaml", "-o", "json")
	var got struct {
		Decision string
		Summary  map[string]int
		Results  []struct{ Policy, Rule, Kind, Status, Message, Source string }
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if status != 2 || got.Decision != "error" || got.Summary["error"] != 1 || got.Summary["fail"] != 1 || len(got.Results) != 2 {
		t.Errorf("exit status %d, %+v", status, got)
	}
	last := got.Results[1]
	if last.Kind != "Input" || last.Status != "error" || !strings.Contains(last.Message, "apiVersion: is missing") || last.Source != "a.yaml, document 2" {
		t.Errorf("%+v", last)
	}
}
