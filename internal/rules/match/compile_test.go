package match_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// parse reads a block in the short style of YAML.
func parse(t *testing.T, document string) *v1alpha1.Match {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	var block v1alpha1.Match
	if err := json.Unmarshal(data, &block); err != nil {
		t.Fatal(err)
	}
	return &block
}

func compile(t *testing.T, document string) *match.Match {
	t.Helper()
	m, errs := match.Compile(parse(t, document), field.NewPath("match"))
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return m
}

// filterOf is a block about one entry of a list of kinds.
func filterOf(kind string) string { return `resources: {kinds: ["` + kind + `"]}` }

func TestCompileRefuses(t *testing.T) {
	for _, c := range []struct{ name, block, path, problem string }{
		{"nothing", `{}`, "match", "is empty"},
		{"an empty any", `any: []`, "match.any", "an empty list"},
		{"an empty all", `all: []`, "match.all", "an empty list"},
		{"any with all", `{any: [{kind: Pod}], all: [{kind: Pod}]}`, "match.all", "beside any"},
		{"any with the short form", `{any: [{kind: Pod}], name: a}`, "match.any", "short form"},
		{"all with the short form", `{all: [{kind: Pod}], subjects: [{kind: User, name: a}]}`, "match.all", "short form"},
		{"an empty filter", `any: [{kind: Pod}, {}]`, "match.any[1]", "is empty"},
		{"empty resources", `any: [{resources: {}}]`, "match.any[0].resources", "is empty"},
		{"empty resources beside subjects", `{resources: {}, subjects: [{kind: User, name: a}]}`, "match.resources", "is empty"},
		{"empty kinds", `resources: {kinds: []}`, "match.resources.kinds", "an empty list"},
		{"an empty kind list in the short form", `kind: []`, "match.kind", "an empty list"},
		{"an empty kind in the short form", `kind: ""`, "match.kind", "is not a kind"},
		{"kind twice", `{kind: Pod, resources: {kinds: [Pod]}}`, "match.kind", "same as resources.kinds"},
		{"name twice", `resources: {name: a, names: [b]}`, "match.resources.names", "same as resources.name"},
		{"name in both forms", `{name: a, resources: {name: a}}`, "match.name", "same as resources.name"},
		{"namespace twice", `{namespace: [a, b], resources: {namespaces: [a]}}`, "match.namespace", "same as resources.namespaces"},
		{"a bad kind in a list of the short form", `kind: [Pod, pods]`, "match.kind[1]", "upper case"},
		{"an empty name", `resources: {names: [a, ""]}`, "match.resources.names[1]", "an empty name"},
		{"a name with a namespace", `name: default/web`, "match.name", "belongs in namespaces"},
		{"a name with a class", `name: "web-[0-9]"`, "match.name", "only * and ?"},
		{"empty names", `resources: {names: []}`, "match.resources.names", "an empty list"},
		{"empty namespaces", `resources: {namespaces: []}`, "match.resources.namespaces", "an empty list"},
		{"a namespace in capitals", `namespace: Default`, "match.namespace", "matches no namespace"},
		{"empty annotations", `resources: {annotations: {}}`, "match.resources.annotations", "an empty map"},
		{"a bad annotation key", `resources: {annotations: {"a b": "*"}}`, "match.resources.annotations[a b]", "name part"},
		{"a bad annotation key pattern", `resources: {annotations: {"a/b/*": "*"}}`, "match.resources.annotations[a/b/*]", "matches no key"},
		{"an empty selector", `{kind: Pod, resources: {selector: {}}}`, "match.resources.selector", "selects everything"},
		{"an empty namespace selector", `resources: {namespaceSelector: {matchLabels: {}}}`, "match.resources.namespaceSelector", "selects everything"},
		{"a label value that cannot be", `resources: {selector: {matchLabels: {a: "b c"}}}`, "match.resources.selector.matchLabels[a]", "valid label"},
		{"a label value pattern that cannot match", `resources: {selector: {matchLabels: {a: "b/*"}}}`, "match.resources.selector.matchLabels[a]", "matches no value"},
		{"wildcards in an expression", `resources: {selector: {matchExpressions: [{key: a, operator: In, values: [x, "b*"]}]}}`, "match.resources.selector.matchExpressions[0]", "only in matchLabels"},
		{"an unknown operator", `resources: {selector: {matchExpressions: [{key: a, operator: in, values: [x]}]}}`, "match.resources.selector.matchExpressions[0]", "operators are In"},
		{"in nothing", `resources: {selector: {matchExpressions: [{key: a, operator: In}]}}`, "match.resources.selector.matchExpressions[0]", "operators are In"},
		{"there and not there", `resources: {selector: {matchExpressions: [{key: a, operator: Exists}, {key: a, operator: DoesNotExist}]}}`, "match.resources.selector", `label "a"`},
		{"a value and not there", `resources: {selector: {matchLabels: {a: "*"}, matchExpressions: [{key: a, operator: DoesNotExist}]}}`, "match.resources.selector", `label "a"`},
		{"two values at once", `resources: {selector: {matchLabels: {a: x}, matchExpressions: [{key: a, operator: In, values: [b, c]}]}}`, "match.resources.selector", `label "a"`},
		{"no value left", `resources: {selector: {matchExpressions: [{key: a, operator: NotIn, values: [b, c]}, {key: a, operator: In, values: [b, c]}]}}`, "match.resources.selector", `label "a"`},
		{"an operation in lower case", `resources: {operations: [create]}`, "match.resources.operations[0]", "write CREATE"},
		{"an unknown operation", `resources: {operations: [CREATE, PATCH]}`, "match.resources.operations[1]", "the operations are"},
		{"any operation", `resources: {operations: ["*"]}`, "match.resources.operations[0]", "the operations are"},
		{"empty operations", `{kind: Pod, resources: {operations: []}}`, "match.resources.operations", "an empty list"},
		{"empty subjects", `subjects: []`, "match.subjects", "an empty list"},
		{"empty roles", `roles: []`, "match.roles", "an empty list"},
		{"empty cluster roles", `clusterRoles: []`, "match.clusterRoles", "an empty list"},
		{"an unknown kind of subject", `subjects: [{kind: user, name: a}]`, "match.subjects[0].kind", `"User"`},
		{"a subject without a kind", `subjects: [{name: a}]`, "match.subjects[0].kind", `"User"`},
		{"a subject without a name", `subjects: [{kind: Group}]`, "match.subjects[0].name", "matches nobody"},
		{"a user in a namespace", `subjects: [{kind: User, name: a, namespace: b}]`, "match.subjects[0].namespace", "in no namespace"},
		{"a service account without a namespace", `subjects: [{kind: ServiceAccount, name: a}]`, "match.subjects[0].namespace", "name it"},
		{"a service account without a name", `subjects: [{kind: ServiceAccount, namespace: a}]`, "match.subjects[0].name", "matches nobody"},
		{"a service account with a wildcard", `subjects: [{kind: ServiceAccount, namespace: "*", name: a}]`, "match.subjects[0].namespace", "no wildcards"},
		{"a service account whose name leads elsewhere", `subjects: [{kind: ServiceAccount, namespace: a, name: "b:c"}]`, "match.subjects[0].name", "RFC 1123"},
		{"a foreign group of a subject", `subjects: [{kind: User, name: a, apiGroup: foo.io}]`, "match.subjects[0].apiGroup", "rbac.authorization.k8s.io"},
		{"a role without a namespace", `roles: [edit]`, "match.roles[0]", "namespace:name"},
		{"a role without a name", `roles: ["a:"]`, "match.roles[0]", "namespace:name"},
		{"a role in no possible namespace", `roles: ["A:b"]`, "match.roles[0]", "matches no namespace"},
		{"an empty cluster role", `clusterRoles: [""]`, "match.clusterRoles[0]", "not empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, errs := match.Compile(parse(t, c.block), field.NewPath("match"))
			if len(errs) != 1 || m != nil {
				t.Fatalf("Compile = %v, %v; want one error", m, errs)
			}
			if errs[0].Field != c.path || !strings.Contains(errs[0].Error(), c.problem) {
				t.Errorf("the error is %v; want it at %s, with %q in it", errs[0], c.path, c.problem)
			}
		})
	}
}

func TestCompileListsEveryProblem(t *testing.T) {
	_, errs := match.Compile(parse(t, `all: [{kind: pod, name: ""}, {roles: [a], clusterRoles: []}]`), field.NewPath("spec", "match"))
	var got []string
	for _, err := range errs {
		got = append(got, err.Field)
	}
	want := []string{"spec.match.all[0].kind", "spec.match.all[0].name", "spec.match.all[1].clusterRoles", "spec.match.all[1].roles[0]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the paths of the errors (-want +got):\n%s", diff)
	}
}

func TestCompileOpen(t *testing.T) {
	at := field.NewPath("spec", "match")
	for name, block := range map[string]*v1alpha1.Match{"none": nil, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			m, errs := match.CompileOpen(block, at)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if got, err := m.Match(&match.Target{Kind: gvk("", "v1", "Pod"), Subresource: "exec"}); !got || err != nil {
				t.Errorf("Match = %v, %v; want every resource", got, err)
			}
			if _, exact := m.ExactKinds(); exact || m.NeedsUser() || m.Pods() != (match.PodScope{}) {
				t.Error("an open block names kinds, Pods or a user")
			}
			if diff := cmp.Diff([]match.Key{{}}, m.Keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
	if _, errs := match.CompileOpen(&v1alpha1.Match{Any: []v1alpha1.ResourceFilter{}}, at); len(errs) != 1 {
		t.Errorf("an empty any is not an empty block: %v", errs)
	}
	if _, errs := match.Compile(nil, at); len(errs) != 1 {
		t.Errorf("no block is an empty one: %v", errs)
	}
}
