package contract

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoaderRefusesFiles covers what is wrong about a file or an object before
// its fields are looked at.
func TestLoaderRefusesFiles(t *testing.T) {
	t.Parallel()
	const good = "{blockFactors: [hostPID]}"
	policy := risky(good)
	swap := func(from, to string) string { return strings.Replace(policy, from, to, 1) }
	refuseAll(t, []badPolicy{
		{"kind typo", swap("kind: DenyPolicy", "kind: DenyPolcy"), []string{"DenyPolcy"}},
		{"kind in lower case", swap("kind: DenyPolicy", "kind: denypolicy"), []string{"denypolicy"}},
		{"no kind", swap("kind: DenyPolicy\n", ""), []string{"kind"}},
		{"empty kind", swap("kind: DenyPolicy", `kind: ""`), []string{"kind"}},
		{"no apiVersion", swap("apiVersion: sallyport.io/v1alpha1\n", ""), []string{"apiVersion"}},
		{"another version", swap("sallyport.io/v1alpha1", "sallyport.io/v1"), []string{"sallyport.io/v1"}},
		{"no version", swap("sallyport.io/v1alpha1", "sallyport.io"), []string{"sallyport.io"}},
		{"another version of the document's group", swap("sallyport.io/v1alpha1", "breakglass.t-caas.telekom.com/v1"), []string{"breakglass.t-caas.telekom.com/v1"}},
		{"no name", swap("  name: wrong\n", "  labels: {a: b}\n"), []string{"metadata.name"}},
		{"empty name", swap("name: wrong", `name: ""`), []string{"metadata.name"}},
		{"no spec", "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: wrong}\n", []string{"wrong", "spec"}},
		{"unknown field beside spec", policy + "specs: {}\n", []string{"specs"}},
		{"spec in another case", swap("spec:", "Spec:"), []string{"Spec"}},

		{"duplicate field", policy + "  podSecurityRules: {blockFactors: [hostIPC]}\n", []string{"podSecurityRules"}},
		{"duplicate factor", risky("{riskFactors: {hostPID: 10, hostPID: 90}, thresholds: [{maxScore: 50, action: allow}]}"), []string{"hostPID"}},
		{"duplicate spec", policy + strings.SplitAfter(policy, "name: wrong\n")[1], []string{"spec"}},
		{"duplicate key in JSON", `{"apiVersion": "sallyport.io/v1alpha1", "kind": "DenyPolicy", "metadata": {"name": "wrong"}, "spec": {"podSecurityRules": {"blockFactors": ["hostPID"], "blockFactors": ["hostIPC"]}}}`, []string{"blockFactors"}},

		{"the same name twice", documents(t, policy, policy), []string{"wrong"}},
		{"the same name in both apiVersions", documents(t, policy, swap("sallyport.io/v1alpha1", "breakglass.t-caas.telekom.com/v1alpha1")), []string{"wrong"}},
		{"the same name as another file", denyPolicy("good", good) + "---\n" + podSecurityPolicy("good", "Audit", "{level: baseline}"), []string{"good", "a-good.yaml"}},
		{"bad in the second document", documents(t, denyPolicy("fine", good), risky("{blockFactors: [hostPidd]}")), []string{"wrong", "hostPidd"}},
		{"bad in a List", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: wrong}, spec: {podSecurityRules: {blockFactors: [hostPidd]}}}\n", []string{"wrong", "hostPidd"}},
		{"a List whose item is not an object", "apiVersion: v1\nkind: List\nitems: [5]\n", nil},

		{"tab as indentation", "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata:\n\tname: wrong\n", nil},
		{"unclosed list", "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nspec: [a", nil},
		{"two values in one document", `{"kind": "DenyPolicy"} {"kind": "DenyPolicy"}`, nil},
		{"truncated JSON", `{"apiVersion": "sallyport.io/v1alpha1", "kind": "DenyPolicy", "metadata": {"name": "wr`, nil},
		{"alias bomb", aliasBomb(), nil},
		{"alias of itself", "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: wrong}\nspec: &s {podSecurityRules: *s}\n", nil},
		{"unknown alias", swap("[hostPID]", "*none"), nil},
		{"deeply nested", swap(good, strings.Repeat("[", 20000)+strings.Repeat("]", 20000)), nil},
		{"binary", "\x7fELF\x02\x01\x01\x00\x00\x00\xff\xfe\x00", nil},
		{"invalid UTF-8", swap("wrong", "wr\xff\xfeong"), nil},
		{"a word", "hello\n", nil},
		{"a list", "- apiVersion: sallyport.io/v1alpha1\n", nil},
		{"a number", "42\n", nil},
		{"neither kind nor apiVersion", "name: wrong\nrules: []\n", nil},
	})
}

// TestLoaderRefusesMissingPolicies says that no policies are not taken for
// policies that allow everything.
func TestLoaderRefusesMissingPolicies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		text string
		path string
	}{
		{"no such file", "x", "other.yaml"},
		{"no such directory", "x", "other"},
		{"empty file", "", "policy.yaml"},
		{"only blanks", " \n\n", "policy.yaml"},
		{"only a comment", "# to be written\n", "policy.yaml"},
		{"only document marks", "---\n---\n", "policy.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{"policy.yaml": tt.text, "pod.yaml": documents(t, newPod("shop", "web"))})
			out := run(t, "check", "-p", filepath.Join(dir, tt.path), filepath.Join(dir, "pod.yaml"))
			if out.code != 2 {
				t.Errorf("exit status %d, want 2\n%s", out.code, out.all())
			}
			wantContains(t, out.all(), tt.path)
		})
	}
}

// aliasBomb returns a small text that would unfold to 10^9 values.
func aliasBomb() string {
	var text strings.Builder
	text.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&text, "a%d: &a%d [", i, i)
		text.WriteString(strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
		text.WriteString("]\n")
	}
	return text.String()
}
