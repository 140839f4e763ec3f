package load

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	denyHead    = "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: p}\n"
	clusterHead = "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: p}\n"
)

// TestProblemsOfDocuments holds what makes a document unreadable, whatever it is
// for.
func TestProblemsOfDocuments(t *testing.T) {
	deep := strings.Repeat("[", 20_000)
	bomb := "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 200) + "]\n"
	laughs := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for _, pair := range []string{"ba", "cb", "dc", "ed", "fe", "gf", "hg", "ih"} {
		laughs += pair[:1] + ": &" + pair[:1] + " [" + strings.Repeat("*"+pair[1:]+", ", 10) + "]\n"
	}
	tests := []struct {
		name, file, content string
		want                []string
	}{
		{"no YAML", "a.yaml", "# head\na: b: c\n", []string{"a.yaml, document 1: not YAML: line 2: mapping values are not allowed in this context"}},
		{"no YAML in a later document", "a.yaml", "---\n---\napiVersion: v1\n\tkind: A\n", []string{"a.yaml, document 1: not YAML: line 4: found a tab character that violates indentation"}},
		{"no JSON", "a.json", "{\n\"a\": 1,\n}", []string{"a.json, document 1: not JSON: line 3: invalid character '}' at start of string (expecting '\"')"}},
		{"JSON that ends", "a.json", "{\n\"a\": [", []string{"a.json, document 1: not JSON: it ends on line 2, before it is complete"}},
		{"rubbish after JSON", "a.yaml", "{\"apiVersion\":\"v1\",\"kind\":\"A\"}\nrubbish", []string{"a.yaml, document 2: not JSON: line 2: invalid character 'r' at start of value"}},
		{"a scalar", "a.yaml", "hello\n", []string{"a.yaml, document 1: found a string, an object belongs here"}},
		{"a list without a kind", "a.yaml", "- apiVersion: v1\n  kind: A\n", []string{"a.yaml, document 1: found a list, an object belongs here"}},
		{"neither apiVersion nor kind", "a.yaml", "replicas: 2\n", []string{"a.yaml, document 1: has neither apiVersion nor kind; every object names both"}},
		{"no kind", "a.yaml", "apiVersion: v1\nmetadata: {name: a}\n", []string{"a.yaml, document 1: kind: is missing; every object names its apiVersion and kind"}},
		{"no apiVersion", "a.yaml", "kind: Pod\nmetadata: {name: a, namespace: b}\n", []string{"a.yaml, document 1: Pod b/a: apiVersion: is missing; every object names its apiVersion and kind"}},
		{"an apiVersion that is none", "a.yaml", "apiVersion: a/b/c\nkind: Pod\n", []string{`a.yaml, document 1: Pod: apiVersion: is "a/b/c"; a version such as v1, or group/version, belongs here`}},
		{"a number for a name", "a.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: 1}\n", []string{"a.yaml, document 1: Pod: metadata.name: found a number, a string belongs here: write it in quotes"}},
		{"a letter that is not a name", "a.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: n}\n", []string{"a.yaml, document 1: Pod: metadata.name: found true or false, a string belongs here: write it in quotes"}},
		{"one in each document", "a.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: n}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: 1.5}\n", []string{
			"a.yaml, document 1: Pod: metadata.name: found true or false, a string belongs here: write it in quotes",
			"a.yaml, document 2: Pod: metadata.name: found a number, a string belongs here: write it in quotes",
		}},
		{"names in another case", "a.yaml", "ApiVersion: v1\nKind: Pod\n", []string{"a.yaml, document 1: has neither apiVersion nor kind; every object names both"}},
		{
			"names that stand twice in YAML", "a.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  hostNetwork: false\n  containers:\n  - name: a\n    name: b\n  hostNetwork: true\n",
			[]string{
				"a.yaml, document 1: Pod a: spec.containers[0].name: stands more than once in the same object, on line 7 and on line 8; keep one",
				"a.yaml, document 1: Pod a: spec.hostNetwork: stands more than once in the same object, on line 5 and on line 9; keep one",
			},
		},
		{"a name that stands twice beside a merge key", "a.yaml", "apiVersion: v1\nkind: A\na: &a {x: 1}\nb:\n  <<: *a\n  x: 2\n  x: 3\n", []string{"a.yaml, document 1: A: b.x: stands more than once in the same object, on line 6 and on line 7; keep one"}},
		{"names that are the same only as strings", "a.yaml", "apiVersion: v1\nkind: A\n1: a\n'1': b\n", []string{"a.yaml, document 1: A: 1: stands more than once in the same object, as a string and as a number or boolean; keep one"}},
		{"a name that stands twice in JSON", "a.json", `{"apiVersion":"v1","kind":"A","spec":{"a":[{"b":1,"b":2}]}}`, []string{"a.json, document 1: A: spec.a[0].b: stands more than once in the same object"}},
		{"and in a JSON list", "a.json", `{"apiVersion":"v1","kind":"List","items":[{"b":1,"b":2}]}`, []string{"a.json, document 1: List: items[0].b: stands more than once in the same object"}},
		{"one bad document among good ones", "a.yaml", "apiVersion: v1\nkind: A\n---\nkind: B\n---\napiVersion: v1\nkind: C\n", []string{"a.yaml, document 2: B: apiVersion: is missing; every object names its apiVersion and kind"}},
		{"a map for a name", "a.yaml", "apiVersion: v1\nkind: A\n? {a: b}\n: c\n", []string{`a.yaml, document 1: not YAML: invalid map key: map[interface {}]interface {}{"a":"b"}`}},
		{"null for a name", "a.yaml", "apiVersion: v1\nkind: A\nspec:\n  ~: c\n", []string{"a.yaml, document 1: A: spec: a map has a key that is not a name (<nil>); put names in quotes"}},
		{"no number", "a.yaml", "apiVersion: v1\nkind: A\na: [.nan]\n", []string{"a.yaml, document 1: A: a[0]: holds the number NaN, which JSON does not have"}},
		{"UTF-16", "a.yaml", "\xff\xfea\x00:\x00", []string{"a.yaml, document 1: is UTF-16; write it as UTF-8"}},
		{"no UTF-8", "a.yaml", "a: \xff\n", []string{"a.yaml, document 1: is not UTF-8"}},
		{"a document behind a line break that is none", "a.yaml", "apiVersion: v1\nkind: A\u2028---\u2028kind: B\n", []string{"a.yaml, document 1: not YAML: a document marker stands after a line break that is none in a text file; end lines with a line feed"}},
		{"deep YAML", "a.yaml", "a: " + deep, []string{"a.yaml, document 1: not YAML: exceeded max depth of 10000"}},
		{"deep JSON", "a.json", deep, []string{"a.json, document 1: not JSON: line 1: exceeded max depth"}},
		{"a large value that is named often", "a.yaml", bomb, []string{"a.yaml, document 1: comes to more than 64 MiB once its aliases are written out; use fewer aliases"}},
		{"a billion laughs", "a.yaml", laughs, []string{"a.yaml, document 1: not YAML: document contains excessive aliasing"}},
		{"an alias of itself", "a.yaml", "a: &a [*a]\n", []string{"a.yaml, document 1: not YAML: anchor 'a' value contains itself"}},
		{"lists in lists", "a.json", strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, 12) + strings.Repeat("]}", 12), []string{"a.json, document 1, items[0].items[0].items[0].items[0].items[0].items[0].items[0].items[0]: List: stands 8 lists deep; write its objects one by one"}},
		{"a List of no list", "a.json", `{"apiVersion":"v1","kind":"List","items":{}}`, []string{"a.json, document 1: List: items: is not a list of objects"}},
		{"null in a list", "a.json", `{"apiVersion":"v1","kind":"List","items":[null]}`, []string{"a.json, document 1, items[0]: has neither apiVersion nor kind; every object names both"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, problems := range Parse(test.file, []byte(test.content)) {
				for _, p := range problems {
					got = append(got, p.Error())
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestProblemsOfPolicies holds what makes a policy unreadable.
func TestProblemsOfPolicies(t *testing.T) {
	tests := []struct {
		name, content string
		want          []string
	}{
		{
			"unknown fields, all of them", denyHead + "spec:\n  podSecurityRule: {}\n  podSecurityRules:\n    riskFactors: {hostnetwork: 1, capabilites: {}}\n    thresholds: [{maxscore: 1, action: deny}]\n",
			[]string{
				`DenyPolicy p: spec.podSecurityRule: unknown field, did you mean "podSecurityRules"?`,
				`DenyPolicy p: spec.podSecurityRules.riskFactors.capabilites: unknown field, did you mean "capabilities"?`,
				`DenyPolicy p: spec.podSecurityRules.riskFactors.hostnetwork: unknown field, did you mean "hostNetwork"?`,
				`DenyPolicy p: spec.podSecurityRules.thresholds[0].maxscore: unknown field, did you mean "maxScore"?`,
			},
		},
		{"a string for a number", denyHead + "spec: {precedence: '1'}\n", []string{"DenyPolicy p: spec.precedence: found a string, a whole number of 32 bits belongs here"}},
		{"a fraction", denyHead + "spec: {precedence: 1.5}\n", []string{"DenyPolicy p: spec.precedence: found 1.5, a whole number of 32 bits belongs here"}},
		{"a boolean that was meant to be a word", denyHead + "spec: {podSecurityRules: {failMode: off}}\n", []string{"DenyPolicy p: spec.podSecurityRules.failMode: found true or false, a string belongs here: write it in quotes"}},
		{"an object for a list", denyHead + "spec: {rules: {}}\n", []string{"DenyPolicy p: spec.rules: found an object, a list belongs here"}},
		{"an unknown kind", "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolice\nmetadata: {name: p}\n", []string{`DenyPolice p: kind: "DenyPolice" is not a kind of sallyport.io/v1alpha1 that is known here; known are DenyPolicy, ClusterPolicy, Policy, ClusterAdmissionPolicy, AdmissionPolicy, PolicyServer, PodKind, IdentitySource, BreakglassEscalation, BreakglassSession, PolicyException, ClusterPolicyException, PolicyExceptionRequest, PolicyExceptionResponse, ExceptionPolicy, ClusterConfig`}},
		{"an unknown version", "apiVersion: sallyport.io/v1\nkind: DenyPolicy\nmetadata: {name: p}\n", []string{`DenyPolicy p: apiVersion: "sallyport.io/v1" is not a version that is read here; write sallyport.io/v1alpha1`}},
		{"the group in another case", "apiVersion: Sallyport.io/v1\nkind: DenyPolicy\nmetadata: {name: p}\n", []string{`DenyPolicy p: apiVersion: is "Sallyport.io/v1"; groups are written in lower case: write "sallyport.io/v1alpha1"`}},
		{"and the right version", "apiVersion: Sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: p}\n", []string{`DenyPolicy p: apiVersion: is "Sallyport.io/v1alpha1"; groups are written in lower case: write "sallyport.io/v1alpha1"`}},
		{"a group that is nearly ours", "apiVersion: sallyprot.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: p}\n", []string{`DenyPolicy p: apiVersion: is "sallyprot.io/v1alpha1"; for a DenyPolicy to count here, write "sallyport.io/v1alpha1", or else take it out`}},
		{"no name", "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nspec: {}\n", []string{"DenyPolicy: metadata.name: is missing; a policy needs a name"}},
		{"a namespace where none belongs", "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: p, namespace: a}\nspec: {rules: []}\n", []string{`ClusterPolicy a/p: metadata.namespace: is "a", but a ClusterPolicy has no namespace; remove it`}},
		{"no namespace where one belongs", "apiVersion: sallyport.io/v1alpha1\nkind: Policy\nmetadata: {name: p}\nspec: {rules: []}\n", []string{"Policy p: metadata.namespace: is missing; a Policy holds only for its own namespace (use a ClusterPolicy for all)"}},
		{"a name that stands twice", denyHead + "spec: {precedence: 1, precedence: 2}\n", []string{"DenyPolicy p: spec.precedence: stands more than once in the same object, on line 4 and on line 4; keep one"}},
		{"the breakglass DenyPolicy, with a field that we lack", "apiVersion: breakglass.t-caas.telekom.com/v1alpha1\nkind: DenyPolicy\nmetadata: {name: p}\nspec: {tenants: [a]}\n", []string{"DenyPolicy p: spec.tenants: unknown field"}},
		{
			"the breakglass DenyPolicy, with names that nothing has", "apiVersion: breakglass.t-caas.telekom.com/v1alpha1\nkind: DenyPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - {verbs: [get], apiGroups: [\"\"], resources: [nodes, podz]}\n  - {verbs: [creat], apiGroups: [core], resources: [pods, ' secrets'], subresources: [exce]}\n",
			[]string{
				`DenyPolicy p: spec.rules[0].resources[1]: Invalid value: "podz": is not a resource of these groups; did you mean pods?`,
				`DenyPolicy p: spec.rules[1].apiGroups[0]: Invalid value: "core": is not a group; the core group is written ""`,
				`DenyPolicy p: spec.rules[1].resources[1]: Invalid value: " secrets": begins or ends with a space, and so matches nothing`,
			},
		},
		{"another kind of that group", "apiVersion: breakglass.t-caas.telekom.com/v1alpha1\nkind: MailProvider\nmetadata: {name: e}\n", []string{"MailProvider e: says who sends mail; take it out, and give serve --notify-config in its place"}},
		{"another version of that group", "apiVersion: breakglass.t-caas.telekom.com/v1\nkind: DenyPolicy\nmetadata: {name: e}\n", []string{"DenyPolicy e: is a policy of another system (breakglass.t-caas.telekom.com/v1), which this version does not read; take it out, or write it as a policy of sallyport.io/v1alpha1"}},
		{"a policy of Kyverno, of a version that is not read", "apiVersion: kyverno.io/v3\nkind: ClusterPolicy\nmetadata: {name: k}\n", []string{`ClusterPolicy k: apiVersion: is "kyverno.io/v3"; a ClusterPolicy is read as kyverno.io/v1 and kyverno.io/v2beta1`}},
		{"and another kind of its own", "apiVersion: kyverno.io/v2\nkind: UpdateRequest\nmetadata: {name: k}\n", []string{"UpdateRequest k: is a policy of another system (kyverno.io/v2), which this version does not read; take it out, or write it as a policy of sallyport.io/v1alpha1"}},
		{"a policy of Kubewarden", "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {name: k}\n", []string{"ClusterAdmissionPolicy k: is a policy of another system (policies.kubewarden.io/v1), which this version does not read; take it out, or write it as a policy of sallyport.io/v1alpha1"}},
		{"a pod without a name", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n", []string{"Pod: metadata.name: is missing; an object to judge against needs a name"}},
		{"a pod of the wrong shape", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {hostNetwork: 'yes'}\n", []string{"Pod default/a: spec.hostNetwork: found a string, true or false belongs here"}},
		{"policies in something that is not a List", "apiVersion: example.com/v1\nkind: Bundle\nmetadata: {name: a}\nitems: []\n", []string{"Bundle a: items: is a list, but a Bundle is not; write the items into a List of v1, or take them out"}},
		{"items in something that begins with a vowel", "apiVersion: example.com/v1\nkind: Atlas\nmetadata: {name: a}\nitems: []\n", []string{"Atlas a: items: is a list, but an Atlas is not; write the items into a List of v1, or take them out"}},
		{"wrong kinds, all of them", denyHead + "spec:\n  precedence: '1'\n  podSecurityRules:\n    failMode: off\n    exemptions: {podLabels: {trusted: yes, version: 1.34}, namespaces: [n]}\n",
			[]string{
				"DenyPolicy p: spec.podSecurityRules.exemptions.namespaces: a list of namespaces holds names: found true or false, a string belongs here: write it in quotes",
				"DenyPolicy p: spec.podSecurityRules.exemptions.podLabels.trusted: found true or false, a string belongs here: write it in quotes",
				"DenyPolicy p: spec.podSecurityRules.exemptions.podLabels.version: found a number, a string belongs here: write it in quotes",
				"DenyPolicy p: spec.podSecurityRules.failMode: found true or false, a string belongs here: write it in quotes",
				"DenyPolicy p: spec.precedence: found a string, a whole number of 32 bits belongs here",
			},
		},
		{"a version that is a number", clusterHead + "spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: baseline, version: 1.34}}}]}\n", []string{"ClusterPolicy p: spec.rules[0].validate.podSecurity.version: found a number, a string belongs here: write it in quotes"}},
		{"a role of a version that is gone", "apiVersion: rbac.authorization.k8s.io/v1beta1\nkind: ClusterRole\nmetadata: {name: a}\n", []string{`ClusterRole a: apiVersion: is "rbac.authorization.k8s.io/v1beta1"; a ClusterRole is read only as "rbac.authorization.k8s.io/v1"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			write(t, dir, "a.yaml", test.content)
			var got []string
			for _, p := range Policies([]string{"a.yaml"}, nil).Problems {
				got = append(got, p.Error())
			}
			for i := range test.want {
				test.want[i] = "a.yaml, document 1: " + test.want[i]
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
