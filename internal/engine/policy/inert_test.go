package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// inertOf is what is inert in a set.
func inertOf(set *Set, namespaces []*corev1.Namespace) map[stored.Ref]stored.Problems {
	inert, _ := set.Inert(&Surroundings{Now: judgedAt, Namespaces: namespaces})
	return inert
}

func namespacesOf(labels map[string]map[string]string) []*corev1.Namespace {
	namespaces := []*corev1.Namespace{}
	for name, set := range labels {
		set[corev1.LabelMetadataName] = name
		namespaces = append(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: set}})
	}
	return namespaces
}

// said is what is said of the policies, in order.
func said(inert map[stored.Ref]stored.Problems) []string {
	var all []string
	for ref, problems := range inert {
		for _, p := range problems {
			all = append(all, fmt.Sprintf("%s: %s: %s: %s", ref, p.Reason, p.Path, p.Detail))
		}
	}
	slices.Sort(all)
	return all
}

// TestInertByNamespaces says of policies that they are about no namespace that there
// is, and nothing of the nearest that are about one.
func TestInertByNamespaces(t *testing.T) {
	there := namespacesOf(map[string]map[string]string{"shop": {"env": "prod"}, "web": {"env": "prod"}})
	on := func(match, exclude string) string {
		text := rulePolicy("", "match: {any: [{resources: {"+match+"}}]}"+never)
		if exclude != "" {
			text = strings.Replace(text, "\n    validate", "\n    exclude: {any: [{resources: {"+exclude+"}}]}\n    validate", 1)
		}
		return text
	}
	inNamespace := func(namespace, text string) string {
		return strings.Replace(strings.Replace(text, "kind: ClusterPolicy", "kind: Policy", 1), "{name: p", "{name: p, namespace: "+namespace, 1)
	}
	secrets := func(namespaces string) string {
		return denying(`{rules: [{verbs: [get], apiGroups: [""], resources: [secrets], namespaces: ` + namespaces + `}]}`)
	}
	exempt := func(namespaces string) string {
		return denying(`{podSecurityRules: {blockFactors: [hostPID], exemptions: {namespaces: ` + namespaces + `}}}`)
	}
	for _, c := range []struct {
		name, inert, not, says string
	}{
		{"a name", on("kinds: [Pod], namespaces: [shopp]", ""), on("kinds: [Pod], namespaces: [shop]", ""), "ClusterPolicy/p: NothingThere: : rule r is about no namespace that there is: match, without exclude, selects none of 2"},
		{"a pattern", on("kinds: [Deployment], namespaces: ['sho?p*']", ""), on("kinds: [Deployment], namespaces: ['sho*']", ""), "rule r is about no namespace"},
		{"a selector", on("kinds: [Pod], namespaceSelector: {matchLabels: {env: production}}", ""), on("kinds: [Pod], namespaceSelector: {matchLabels: {env: prod}}", ""), "rule r is about no namespace"},
		{"a selector of what is not there", on("kinds: [Pod], namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [prod]}]}", ""), on("kinds: [Pod], namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [test]}]}", ""), "rule r is about no namespace"},
		{"what is in no namespace", on("kinds: [Pod], namespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}", ""), on("kinds: [ClusterRole]", "namespaceSelector: {matchLabels: {env: prod}}"), "rule r is about no namespace"},
		{"what is in no namespace and is named with one", on("kinds: [ClusterRole], namespaceSelector: {matchExpressions: [{key: a, operator: Exists}]}", ""), on("kinds: [example.com/v1/Thing]", "namespaceSelector: {matchLabels: {env: prod}}"), "rule r is about no namespace"},
		{"every namespace is excluded", on("kinds: [Pod]", "kinds: [Pod], namespaces: [shop, web]"), on("kinds: [Pod]", "kinds: [Pod], namespaces: [shop]"), "rule r is about no namespace"},
		{"all are excluded by labels", on("kinds: [Pod]", "namespaceSelector: {matchLabels: {env: prod}}"), on("kinds: [Pod]", "namespaceSelector: {matchLabels: {env: test}}"), "rule r is about no namespace"},
		{"others only are excluded", on("kinds: [Pod]", "kinds: [Pod], namespaces: [shop, web]"), on("kinds: [Pod, Secret]", "kinds: [Pod], namespaces: [shop, web]"), "rule r is about no namespace"},
		{"a Policy whose own is excluded", inNamespace("shop", on("kinds: [Pod]", "kinds: [Pod], namespaces: [shop]")), inNamespace("shop", on("kinds: [Pod]", "kinds: [Pod], namespaces: [web]")), "Policy/shop/p: NothingThere"},
		{"a Policy of a namespace that is not there", inNamespace("gone", on("kinds: [Pod]", "namespaceSelector: {matchLabels: {a: b}}")), inNamespace("web", on("kinds: [Pod]", "namespaceSelector: {matchLabels: {a: b}}")), "Policy/gone/p: NothingThere"},
		{"a rule of a DenyPolicy", secrets("[shopp]"), secrets("[shop]"), "DenyPolicy/d: NothingThere: spec.rules[0].namespaces: selects none of the 2 namespaces"},
		{"a rule of a DenyPolicy, by labels", secrets("{selectorTerms: [{matchLabels: {env: test}}]}"), secrets("{selectorTerms: [{matchLabels: {env: prod}}]}"), "spec.rules[0].namespaces"},
		{"every namespace is exempt", exempt("[shop, web]"), exempt("[shop]"), "spec.podSecurityRules.exemptions.namespaces: exempts each of the 2"},
		{"exempt by a pattern, of which another warns", exempt("['*h*', 'w*']"), exempt("['*']"), "spec.podSecurityRules.exemptions.namespaces"},
		{"a module", cap0("m", "namespaceSelector: {matchLabels: {env: test}}"), cap0("m", "namespaceSelector: {matchLabels: {env: prod}}"), "ClusterAdmissionPolicy/m: NothingThere: spec.namespaceSelector: selects none of the 2"},
		{"a module about namespaced resources", cap0("m", "namespaceSelector: {matchLabels: {env: test}}", `rules: [{apiGroups: ["*"], apiVersions: [v1], resources: ["*"], operations: [CREATE], scope: Namespaced}]`),
			cap0("m", "namespaceSelector: {matchLabels: {env: test}}", `rules: [{apiGroups: ["*"], apiVersions: [v1], resources: ["*"], operations: [CREATE]}]`), "spec.namespaceSelector"},
		{"a module about what is in namespaces", cap0("m", "namespaceSelector: {matchLabels: {env: test}}", `rules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments, deployments/scale], operations: [CREATE]}]`),
			cap0("m", "namespaceSelector: {matchLabels: {env: test}}", `rules: [{apiGroups: [""], apiVersions: [v1], resources: [namespaces], operations: [CREATE]}]`), "spec.namespaceSelector"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := said(inertOf(setOf(t, c.inert), there))
			if len(got) != 1 || !strings.Contains(got[0], c.says) {
				t.Errorf("said %q, want %s", got, c.says)
			}
			if got := said(inertOf(setOf(t, c.inert), nil)); got != nil {
				t.Errorf("where no namespaces are known: %q", got)
			}
			if got := said(inertOf(setOf(t, c.not), there)); got != nil {
				t.Errorf("of the other: %q", got)
			}
		})
	}
}

// TestInertWhereNobodyAsks says of policies that they are only about namespaces which
// webhooks leave out, and nothing of those that are about another.
func TestInertWhereNobodyAsks(t *testing.T) {
	there := namespacesOf(map[string]map[string]string{"own": {"env": "own"}, "shop": {}})
	on := func(match string) string { return rulePolicy("", "match: {any: [{resources: {"+match+"}}]}"+never) }
	for _, c := range []struct{ name, inert, not, says string }{
		{"a name", on("kinds: [Pod], namespaces: [own]"), on("kinds: [Pod], namespaces: [own, shop]"), "ClusterPolicy/p: NotGuarded: : rule r is only about namespaces that webhooks leave out by their names (own)"},
		{"every namespace", on("kinds: [Pod], namespaces: [ow*]"), on("kinds: [Pod]"), "NotGuarded"},
		{"a module", cap0("m", "namespaceSelector: {matchLabels: {env: own}}"), cap0("m", "namespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}"), "ClusterAdmissionPolicy/m: NotGuarded: spec.namespaceSelector: is only about namespaces"},
		{"what is in none", on("kinds: [Pod], namespaces: [own]"), rulePolicy("", "match: {any: [{resources: {kinds: [Pod], namespaces: [own]}}, {resources: {kinds: [Node]}}]}"+never), "NotGuarded"},
	} {
		for document, want := range map[string]int{c.inert: 1, c.not: 0} {
			inert, _ := setOf(t, document).Inert(&Surroundings{Now: judgedAt, Namespaces: there, Unguarded: []string{"own"}})
			if got := said(inert); len(got) != want || want == 1 && !strings.Contains(got[0], c.says) {
				t.Errorf("%s: said %q of %s", c.name, got, document)
			}
		}
		if got := said(inertOf(setOf(t, c.inert), there)); got != nil {
			t.Errorf("%s: where all are asked about: %q", c.name, got)
		}
	}
}

// TestInertByExceptions says of policies which exception excuses all of them, and
// nothing of those of which something is left.
func TestInertByExceptions(t *testing.T) {
	pods := rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}"+never)
	secrets := rulePolicy("", "match: {any: [{resources: {kinds: [Secret]}}]}"+never)
	two := secrets + "\n  - name: second" + strings.SplitN(secrets, "- name: r", 2)[1]
	namespaced := strings.Replace(strings.Replace(secrets, "kind: ClusterPolicy", "kind: Policy", 1), "{name: p", "{name: p, namespace: shop", 1)
	standards := rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {podSecurity: {level: restricted}}")
	wide := func(spec string) string {
		return "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicyException\nmetadata: {name: e}\nspec: {" + spec + "}"
	}
	narrow := func(spec string) string {
		return "apiVersion: sallyport.io/v1alpha1\nkind: PolicyException\nmetadata: {name: e, namespace: shop}\nspec: {" + spec + "}"
	}
	const all, secretsOnly, everyKind = "exceptions: [{policyName: p}]", ", match: {any: [{resources: {kinds: [Secret]}}]}", ", match: {any: [{resources: {kinds: ['*']}}]}"
	for _, c := range []struct {
		name, policy, exception string
		rules                   int
	}{
		{"of the kind", secrets, wide(all + secretsOnly), 1},
		{"of every kind", secrets, wide(all + everyKind), 1},
		{"in the words of the rule", strings.Replace(secrets, "[Secret]", "[Secret], namespaces: [shop], operations: [CREATE]", 1), wide(all + ", match: {any: [{resources: {kinds: [Secret], namespaces: [shop], operations: [CREATE]}}]}"), 1},
		{"in other words than the rule", strings.Replace(secrets, "[Secret]", "[Secret], namespaces: [shop]", 1), wide(all + ", match: {any: [{resources: {kinds: [Secret], namespaces: [web]}}]}"), 0},
		{"of labels that the rule names", strings.Replace(secrets, "[Secret]", "[Secret], selector: {matchLabels: {a: b}}", 1), wide(all + ", match: {any: [{resources: {kinds: [Secret], selector: {matchLabels: {a: b}}}}]}"), 1},
		{"of other labels", strings.Replace(secrets, "[Secret]", "[Secret], selector: {matchLabels: {a: b}}", 1), wide(all + ", match: {any: [{resources: {kinds: [Secret], selector: {matchLabels: {a: c}}}}]}"), 0},
		{"of labels, of a rule that has none", secrets, wide(all + ", match: {any: [{resources: {kinds: [Secret], namespaceSelector: {matchLabels: {a: c}}}}]}"), 0},
		{"of the kind and another", secrets, wide(all + ", match: {any: [{resources: {kinds: [ConfigMap, Secret]}}]}"), 1},
		{"of another kind", secrets, wide(all + ", match: {any: [{resources: {kinds: [ConfigMap]}}]}"), 0},
		{"of a name", secrets, wide(all + ", match: {any: [{resources: {kinds: [Secret], names: [a]}}]}"), 0},
		{"of a namespace", secrets, wide(all + ", match: {any: [{resources: {kinds: [Secret], namespaces: [a]}}]}"), 0},
		{"of a user", secrets, wide(all + ", match: {any: [{subjects: [{kind: User, name: a}], resources: {kinds: [Secret]}}]}"), 0},
		{"of each name", secrets, wide(all + ", match: {any: [{resources: {kinds: [Secret], names: ['*']}}]}"), 1},
		{"of each name that there can be", secrets, wide(all + ", match: {any: [{resources: {kinds: [Secret], names: ['?*']}}]}"), 1},
		{"of longer names", secrets, wide(all + ", match: {any: [{resources: {kinds: [Secret], names: ['??*']}}]}"), 0},
		{"of each namespace", secrets, wide(all + ", match: {any: [{resources: {kinds: [Secret], namespaces: ['**']}}]}"), 1},
		{"of each namespace, of what is in none", strings.Replace(secrets, "[Secret]", "[ClusterRole]", 1), wide(all + ", match: {any: [{resources: {kinds: [ClusterRole], namespaces: ['a*']}}]}"), 0},
		{"of the namespaces of the rule, and more", strings.Replace(secrets, "[Secret]", "[Secret], namespaces: [shop]", 1), wide(all + ", match: {any: [{resources: {kinds: [Secret], namespaces: ['s*']}}]}"), 1},
		{"of everybody", secrets, wide(all + ", match: {any: [{subjects: [{kind: Group, name: '*'}], resources: {kinds: [Secret]}}]}"), 1},
		{"of all who are signed in, and others", secrets, wide(all + ", match: {any: [{subjects: [{kind: Group, name: 'system:authenticated'}, {kind: Group, name: 'system:unauthenticated'}]}]}"), 1},
		{"of everybody with a role", secrets, wide(all + ", match: {any: [{subjects: [{kind: Group, name: '*'}], clusterRoles: [edit], resources: {kinds: [Secret]}}]}"), 0},
		{"of a group", secrets, wide(all + ", match: {any: [{subjects: [{kind: Group, name: dev}], resources: {kinds: [Secret]}}]}"), 0},
		{"of each operation of rules", secrets, wide(all + ", match: {any: [{resources: {kinds: [Secret], operations: [CREATE, UPDATE]}}]}"), 1},
		{"of one operation", secrets, wide(all + ", match: {any: [{resources: {kinds: [Secret], operations: [CREATE]}}]}"), 0},
		{"of pods and what makes them, by each name", pods, wide(all + ", match: {any: [{resources: {kinds: ['*'], names: ['?*']}}]}"), 1},
		{"of a module, by each name", cap0("m"), wide("exceptions: [{policyName: m}], match: {any: [{resources: {kinds: ['*'], names: ['*']}}]}"), 1},
		{"of a namespaced module, by each namespace", cap0("m", `rules: [{apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: [CREATE]}]`), wide("exceptions: [{policyName: m}], match: {any: [{resources: {kinds: ['*'], namespaces: ['*']}}]}"), 1},
		{"of a DenyPolicy about what is in no namespace, by each namespace", denying(`{rules: [{verbs: [get], apiGroups: [""], resources: [nodes]}]}`), wide("exceptions: [{policyName: d}], match: {any: [{resources: {kinds: ['*'], namespaces: ['*']}}]}"), 0},
		{"under a condition", secrets, wide(all + everyKind + ", conditions: [{name: c, expression: \"request.operation == 'CREATE'\"}]"), 0},
		{"under a condition that asks nothing", secrets, wide(all + everyKind + ", conditions: [{name: c, expression: 'true'}]"), 1},
		{"under one that never holds", secrets, wide(all + everyKind + ", conditions: [{name: b, expression: 'true'}, {name: c, expression: 'false'}]"), 0},
		{"of pods, and not of what makes them", pods, wide(all + ", match: {any: [{resources: {kinds: [Pod]}}]}"), 0},
		{"of pods and what makes them", pods, wide(all + everyKind), 1},
		{"of one of two rules", two, wide("exceptions: [{policyName: p, ruleNames: [r]}]" + everyKind), 1},
		{"of both", two, wide("exceptions: [{policyName: p, ruleNames: [r, second]}]" + everyKind), 2},
		{"of another policy", secrets, wide("exceptions: [{policyName: q}]" + everyKind), 0},
		{"of controls", standards, wide(all + everyKind + ", podSecurity: [{controlName: Host Namespaces}]"), 0},
		{"that is over", secrets, wide(all + everyKind + ", expiresAt: '2020-01-01T00:00:00Z'"), 0},
		{"that begins later", secrets, wide(all + everyKind + ", notBefore: '2099-01-01T00:00:00Z'"), 0},
		{"of a namespace, for all", secrets, narrow(all + everyKind), 0},
		{"of the namespace of a Policy", namespaced, narrow(all + everyKind), 1},
		{"of the cluster, for a Policy", namespaced, wide("exceptions: [{policyName: shop/p}]" + everyKind), 1},
		{"of a DenyPolicy", denying(`{podSecurityRules: {blockFactors: [hostPID]}, rules: [{verbs: [get], apiGroups: [""], resources: [secrets]}]}`), wide("exceptions: [{policyName: d}]" + everyKind), 2},
		{"of a DenyPolicy about subresources", denying(`{rules: [{verbs: [get, create], apiGroups: [""], resources: [pods/exec]}, {verbs: [update], apiGroups: [apps], resources: [deployments/scale]}, {verbs: [update], apiGroups: [apps], resources: [deployments], subresources: [scale]}]}`), wide("exceptions: [{policyName: d}]" + everyKind), 1},
		{"of a module about subresources", cap0("m", `rules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments/scale], operations: [UPDATE]}]`), wide("exceptions: [{policyName: m}]" + everyKind), 0},
		{"of a way into pods", denying(`{podSecurityRules: {blockFactors: [hostPID]}}`), wide("exceptions: [{policyName: d}], match: {any: [{resources: {kinds: [Pod/exec]}}]}"), 0},
		{"of a module", cap0("m"), wide("exceptions: [{policyName: m}]" + everyKind), 1},
		{"of an IdentitySource", yamlOf("IdentitySource", "i", "spec: {key: id, podAnnotation: {}}"), wide("exceptions: [{policyName: i, policyKind: IdentitySource}]" + everyKind), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := setOf(t, c.policy, c.exception)
			got := said(inertOf(set, nil))
			if len(got) != c.rules {
				t.Fatalf("said %q, want %d", got, c.rules)
			}
			for _, one := range got {
				if !strings.Contains(one, ": "+effect.Excused.Reason+": ") || !strings.Contains(one, "holds no one to anything: all that it is about is excused by ") || !strings.Contains(one, "PolicyException ") {
					t.Errorf("said %q", one)
				}
			}
			if got := inertOf(setOf(t, c.policy), nil); len(got) > 0 {
				t.Errorf("without the exception: %v", got)
			}
		})
	}
}

// TestInertButForSome says what is left where an exception excuses all but what hardly
// anybody asks for.
func TestInertButForSome(t *testing.T) {
	const (
		signedIn   = "subjects: [{kind: Group, name: 'system:authenticated'}]"
		namespaces = "resources: {kinds: ['*'], namespaces: ['*']}"
	)
	pods := rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}"+never)
	exec := denying(`{rules: [{verbs: [get, create], apiGroups: [""], resources: [pods/exec]}]}`)
	for _, c := range []struct{ name, policy, match, says string }{
		{"p", pods, signedIn, ", except for anonymous requests: all"},
		{"p", pods, namespaces, ", except for what is in no namespace: all"},
		{"p", pods, namespaces + ", " + signedIn, ", except for anonymous requests and what is in no namespace: all"},
		{"d", exec, signedIn, ", except for anonymous requests: all"},
		{"d", exec, namespaces, ", except for what is in no namespace: all"},
		{"i", yamlOf("IdentitySource", "i", "spec: {key: id, podAnnotation: {}}"), namespaces, ", except for what is in no namespace: all"},
	} {
		exception := yamlOf("ClusterPolicyException", "e", "spec: {exceptions: [{policyName: "+c.name+"}], match: {any: [{"+c.match+"}]}}")
		got := said(inertOf(setOf(t, c.policy, exception), nil))
		if len(got) == 0 || !strings.Contains(got[0], "holds no one to anything"+c.says) {
			t.Errorf("%s by %s: %q, want %s", c.name, c.match, got, c.says)
		}
	}
	whole := yamlOf("ClusterPolicyException", "f", "spec: {exceptions: [{policyName: p}], match: {any: [{resources: {kinds: ['*']}}]}}")
	part := yamlOf("ClusterPolicyException", "e", "spec: {exceptions: [{policyName: p}], match: {any: [{"+signedIn+"}]}}")
	if got := said(inertOf(setOf(t, pods, part, whole), nil)); len(got) != 1 || !strings.Contains(got[0], "anything: all that it is about is excused by ClusterPolicyException f") {
		t.Errorf("the one that leaves nothing is not named: %q", got)
	}
}

// TestNotInert says nothing of what does not go by namespaces, whichever there are.
func TestNotInert(t *testing.T) {
	for name, document := range map[string]string{
		"a rule":                 rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}"+never),
		"a rule of a DenyPolicy": denying(`{rules: [{verbs: [get], apiGroups: [""], resources: [secrets]}]}`),
		"scores":                 denying(`{podSecurityRules: {blockFactors: [hostPID], exemptions: {namespaces: [shop]}}}`),
		"a module":               cap0("m"),
	} {
		for _, there := range [][]*corev1.Namespace{{}, namespacesOf(map[string]map[string]string{"web": {}})} {
			if got := said(inertOf(setOf(t, document), there)); got != nil {
				t.Errorf("%s, with %d namespaces: %q", name, len(there), got)
			}
		}
	}
	custom := yamlOf("Policy", "gone/p", "spec: {rules: [{name: r, match: {any: [{resources: {kinds: [example.com/v1/Thing]}}]}, exclude: {any: [{resources: {namespaceSelector: {matchLabels: {a: b}}}}]}, validate: {pattern: {metadata: {name: x}}}}]}")
	if got := said(inertOf(setOf(t, custom), namespacesOf(map[string]map[string]string{"web": {}}))); len(got) != 1 {
		t.Errorf("of a Policy of a namespace that is gone: %q", got)
	}
}

// TestInertOfWhatCannotWork says nothing of it: that it cannot work is said already.
func TestInertOfWhatCannotWork(t *testing.T) {
	excusing := func(policy string) string {
		return yamlOf("ClusterPolicyException", "e-"+policy, "spec: {exceptions: [{policyName: "+policy+"}], match: {any: [{resources: {kinds: ['*']}}]}}")
	}
	store, _ := started(t,
		yamlOf("ClusterPolicy", "p", "spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod], namespaces: [none]}}]}, validate: {}}]}"), excusing("p"),
		yamlOf("DenyPolicy", "d", `spec: {rules: [{verbs: [get], apiGroups: [""], resources: [secrets], namespaces: [none]}, {verbs: []}]}`), excusing("d"),
		yamlOf("ClusterAdmissionPolicy", "m", `spec: {module: "", namespaceSelector: {matchLabels: {a: b}}, rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}`), excusing("m"))
	if broken := len(store.Set().broken); broken != 3 {
		t.Fatalf("%d are broken", broken)
	}
	if got := said(inertOf(store.Set(), namespacesOf(map[string]map[string]string{"shop": {}}))); len(got) > 0 {
		t.Errorf("said %q", got)
	}
}
