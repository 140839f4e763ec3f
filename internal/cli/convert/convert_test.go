package convert_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/files/filestest"
)

const (
	kyvernoHead   = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: NAME}\nspec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, "
	kyvernoGood   = kyvernoHead + "validate: {pattern: {spec: {hostname: '?*'}}}}]}\n"
	kyvernoMutate = kyvernoHead + "mutate: {patchStrategicMerge: {a: b}}}]}\n"
)

// TestConvert holds what convert writes, says and ends with.
func TestConvert(t *testing.T) {
	named := func(policy, name string) string { return strings.Replace(policy, "NAME", name, 1) }
	files := map[string]string{
		"good.yaml": named(kyvernoGood, "good"), "mutate.yaml": named(kyvernoMutate, "mutate"),
		"both.yaml":       named(kyvernoMutate, "mutate") + "---\n" + named(kyvernoGood, "good"),
		"twice.yaml":      named(kyvernoGood, "same") + "---\n" + named(kyvernoGood, "same"),
		"dropped.yaml":    strings.Replace(named(kyvernoGood, "good"), "spec: {", "spec: {webhookTimeoutSeconds: 1, ", 1),
		"unanchored.yaml": strings.Replace(named(kyvernoGood, "good"), "hostname", "(hostname", 1),
		"null.yaml":       strings.Replace(named(kyvernoGood, "good"), "{hostname: '?*'}", "{nodeName: null, =(securityContext): {}, hostname: '?*'}", 1),
		"ournull.yaml":    strings.NewReplacer("kyverno.io/v1", "sallyport.io/v1alpha1", "{hostname: '?*'}", "{X(nodeName): null}").Replace(named(kyvernoGood, "good")),
		"narrow.yaml":     strings.Replace(named(kyvernoGood, "good"), "kinds: [Pod]", "kinds: [Pod], names: [a]", 1),
		"policy.yaml":     "apiVersion: kyverno.io/v1\nkind: Policy\nmetadata: {name: p}\nspec: {rules: []}\n",
		"exception.yaml":  "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: kyverno}\nspec: {exceptions: [{policyName: good, ruleNames: [r]}], match: {any: [{resources: {kinds: [Pod], namespaces: [default]}}]}}\n",
		"response.yaml":   "apiVersion: kyverno.io/v1\nkind: PolicyExceptionResponse\nmetadata: {name: a}\nspec: {approvalPolicy: manual, name: q, status: Denied, reason: not now}\n",
		"list.json":       `{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicyList","items":[{"metadata":{"name":"listed"},"spec":{"rules":[{"name":"r","match":{"resources":{"kinds":["Pod"]}},"validate":{"pattern":{"metadata":{"name":"b"}}}}]}}]}`,
		"ours.yaml":       filestest.GuardPolicy, "pod.yaml": filestest.GoodPod, "empty.yaml": "# nothing\n", "broken.yaml": "kind: [",
		"breakglass.yaml": strings.Replace(filestest.GuardPolicy, "sallyport.io/", "breakglass.t-caas.telekom.com/", 1),
	}
	tests := []struct {
		name, args, stdin string
		status            int
		stdout            string
		says              string
	}{
		{"a policy", "good.yaml", "", 0, "name: good", ""},
		{"standard input", "-", files["good.yaml"], 0, "name: good", ""},
		{"a typed list", "list.json", "", 0, "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata:\n  name: listed", ""},
		{"what is ours", "ours.yaml", "", 0, "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy", ""},
		{"another system's DenyPolicy", "breakglass.yaml", "", 0, "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy", ""},
		{"several files, in order", "good.yaml ours.yaml", "", 0, "validationFailureAction: Audit\n---\napiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy", ""},
		{"a null that is written so that it stays", "null.yaml", "", 0, `X(nodeName): "null"`, `null.yaml, document 1: ClusterPolicy good: spec.rules[0].validate.pattern.spec.nodeName: null, which kubectl apply loses, is written as X(nodeName): "null"`},
		{"what asks nothing", "-v null.yaml", "", 0, `X(nodeName): "null"`, `spec["=(securityContext)"]: was left out: {} asks nothing`},
		{"a null in what is ours", "ournull.yaml", "", 2, "", `write X(nodeName): "null", in quotes`},
		{"objects that are not policies", "good.yaml pod.yaml", "", 0, "name: good", "pod.yaml, document 1: Pod good is not a policy, and is not written"},

		{"something that is lacking", "both.yaml", "", 2, "", "both.yaml, document 1: ClusterPolicy mutate: spec.rules[0].mutate: is not read"},
		{"nothing is written then", "both.yaml", "", 2, "", "Nothing was written; --keep-going writes what can be converted"},
		{"keep going", "--keep-going both.yaml", "", 2, "name: good", "both.yaml, document 1: ClusterPolicy mutate: spec.rules[0].mutate: is not read"},
		{"keep going with nothing to write", "--keep-going mutate.yaml", "", 2, "", "spec.rules[0].mutate: is not read"},
		{"keep going where nothing is wrong", "--keep-going good.yaml", "", 0, "name: good", ""},
		{"a broken file", "good.yaml broken.yaml", "", 2, "", "broken.yaml, document 1: not YAML"},
		{"a name that is there twice", "twice.yaml", "", 2, "", "metadata.name: is there twice"},
		{"one that could not do what it says", "unanchored.yaml", "", 2, "", "spec.rules[0].validate.pattern.spec"},
		{"keep going without one that could not do what it says", "--keep-going unanchored.yaml ours.yaml", "", 2, "name: guard", "unanchored.yaml, document 1: ClusterPolicy good"},
		{"a policy without a namespace", "policy.yaml", "", 2, "", "policy.yaml, document 1: Policy p: metadata.namespace: is missing"},
		{"no policy", "pod.yaml", "", 2, "", "no policy was found in pod.yaml; there is nothing to convert"},
		{"no document", "empty.yaml", "", 2, "", "no policy was found in empty.yaml"},
		{"no path", "", "", 2, "", "PATH is missing"},
		{"a file that cannot be written", "good.yaml -o nowhere/out.yaml", "", 2, "", "nowhere/out.yaml cannot be written"},

		{"what was left out", "dropped.yaml -v", "", 0, "name: good", "dropped.yaml, document 1: ClusterPolicy good: spec.webhookTimeoutSeconds: was left out: is how long"},
		{"a policy that does less than it looks", "narrow.yaml", "", 0, "name: good", "warning: narrow.yaml, document 1: ClusterPolicy good: spec.rules[0].match: goes by names"},
		{"an exception for another namespace", "good.yaml exception.yaml", "", 0, "kind: PolicyException", "name its namespace in --trusted-exception-namespaces of check and serve"},
		{"an exception to what is not there", "exception.yaml", "", 0, "kind: PolicyException", `names the policy "good", which is not there`},
		{"a response whose request is elsewhere", "response.yaml", "", 0, "kind: PolicyExceptionResponse", "warning: response.yaml, document 1: PolicyExceptionResponse a: spec.name: there is no PolicyExceptionRequest q"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			filestest.InDir(t, files)
			status, stdout, stderr := clitest.Run(t, test.stdin, append([]string{"convert"}, strings.Fields(test.args)...)...)
			if status != test.status {
				t.Errorf("exit status %d, want %d", status, test.status)
			}
			if test.stdout == "" && stdout != "" || !strings.Contains(stdout, test.stdout) {
				t.Errorf("does not write %q", test.stdout)
			}
			if test.says == "" && stderr != "" || !strings.Contains(stderr, test.says) {
				t.Errorf("does not say %q", test.says)
			}
			if t.Failed() {
				t.Logf("standard output:\n%s\nstandard error:\n%s", stdout, stderr)
			}
		})
	}
}

// TestConvertIntoAFile makes sure that a file is replaced by all or left alone.
func TestConvertIntoAFile(t *testing.T) {
	filestest.InDir(t, map[string]string{
		"good.yaml": strings.Replace(kyvernoGood, "NAME", "good", 1), "mutate.yaml": strings.Replace(kyvernoMutate, "NAME", "mutate", 1), "out.yaml": "old\n",
	})
	content := func() string {
		text, err := os.ReadFile("out.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if status, _, _ := clitest.Run(t, "", "convert", "mutate.yaml", "good.yaml", "-o", "out.yaml"); status != 2 || content() != "old\n" {
		t.Errorf("exit status %d, and the file holds %q", status, content())
	}
	_, want, _ := clitest.Run(t, "", "convert", "good.yaml")
	if status, stdout, _ := clitest.Run(t, "", "convert", "good.yaml", "--output", "out.yaml"); status != 0 || stdout != "" || content() != want {
		t.Errorf("exit status %d, %q on standard output, and the file holds %q", status, stdout, content())
	}
	if status, _, stderr := clitest.Run(t, "", "convert", "--keep-going", "mutate.yaml", "-o", "out.yaml"); status != 2 || content() != want {
		t.Errorf("with nothing to write, exit status %d (%s), and the file holds %q", status, stderr, content())
	}
}
