package match_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// refusedCase is a block that Compile refuses. At lists paths, apart by |, of
// which an error has to name one, or a field below it.
type refusedCase struct {
	name, block, at string
	// says is what the error has to say, besides.
	says string
}

func runRefused(t *testing.T, cases []refusedCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := tableMatch(t, c.block)
			compiled, errs := match.Compile(m, field.NewPath("spec", "match"))
			if len(errs) == 0 {
				t.Fatalf("Compile takes the block\n%s", c.block)
			}
			if compiled != nil {
				t.Errorf("Compile gives a block together with errors")
			}
			if !refusedAt(errs, c.at) {
				t.Errorf("no error is at %s:\n%v\n%s", c.at, errs.ToAggregate(), c.block)
			}
			if !strings.Contains(errs.ToAggregate().Error(), c.says) {
				t.Errorf("the error does not say %q:\n%v", c.says, errs.ToAggregate())
			}
		})
	}
}

func refusedAt(errs field.ErrorList, paths string) bool {
	for path := range strings.SplitSeq(paths, "|") {
		for _, err := range errs {
			rest, ok := strings.CutPrefix(err.Field, path)
			if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return true
			}
		}
	}
	return false
}

// TestTableRefusedBlocks refuses blocks and filters that are empty, or say a
// thing twice.
func TestTableRefusedBlocks(t *testing.T) {
	runRefused(t, []refusedCase{
		{name: "an empty block", block: `{}`, at: "spec.match"},
		{name: "any without filters", block: `any: []`, at: "spec.match.any"},
		{name: "all without filters", block: `all: []`, at: "spec.match.all"},
		{name: "an empty filter in any", block: `any: [{}]`, at: "spec.match.any[0]"},
		{name: "an empty filter in all", block: `all: [{}]`, at: "spec.match.all[0]"},
		{name: "an empty filter beside another", block: `any: [{resources: {kinds: [Pod]}}, {}]`, at: "spec.match.any[1]"},
		{name: "a filter that is null", block: `any: [null]`, at: "spec.match.any[0]"},
		{name: "resources without fields", block: `resources: {}`, at: "spec.match.resources"},
		{name: "resources that are null", block: `resources: null`, at: "spec.match"},
		{name: "resources without fields in a filter", block: `all: [{resources: {}}]`, at: "spec.match.all[0].resources"},
		{name: "resources without fields beside a subject", block: `any: [{resources: {}, subjects: [{kind: User, name: a}]}]`, at: "spec.match.any[0].resources"},
		{name: "any with all", block: `{any: [{kind: Pod}], all: [{kind: Pod}]}`, at: "spec.match"},
		{name: "any with the short form", block: `{any: [{kind: Pod}], resources: {kinds: [Pod]}}`, at: "spec.match"},
		{name: "all with the short form", block: `{all: [{kind: Pod}], kind: Pod}`, at: "spec.match"},
		{name: "any with a subject beside it", block: `{any: [{kind: Pod}], subjects: [{kind: User, name: a}]}`, at: "spec.match"},
		{name: "all with a cluster role beside it", block: `{all: [{kind: Pod}], clusterRoles: [view]}`, at: "spec.match"},
		{name: "any with roles beside it", block: `{any: [{kind: Pod}], roles: [dev:view]}`, at: "spec.match"},
		{name: "kinds in both forms", block: `{kind: Pod, resources: {kinds: [Pod]}}`, at: "spec.match.kind|spec.match.resources.kinds"},
		{name: "names in both forms", block: `any: [{name: web, resources: {names: [web]}}]`, at: "spec.match.any[0].name|spec.match.any[0].resources.names"},
		{name: "the single name in both forms", block: `{name: web, resources: {name: web}}`, at: "spec.match.name|spec.match.resources.name"},
		{name: "namespaces in both forms", block: `{namespace: dev, resources: {namespaces: [dev]}}`, at: "spec.match.namespace|spec.match.resources.namespaces"},
		{name: "name and names", block: `resources: {name: web, names: [web]}`, at: "spec.match.resources.name|spec.match.resources.names"},
		{name: "two faults, the second is named as well", block: `any: [{}, {resources: {kinds: [pod]}}]`, at: "spec.match.any[1].resources.kinds[0]"},

		{name: "kinds without entries", block: `resources: {kinds: []}`, at: "spec.match.resources.kinds"},
		{name: "kinds without entries beside a name", block: `resources: {kinds: [], names: [web]}`, at: "spec.match.resources.kinds"},
		{name: "names without entries", block: `resources: {kinds: [Pod], names: []}`, at: "spec.match.resources.names"},
		{name: "namespaces without entries", block: `resources: {kinds: [Pod], namespaces: []}`, at: "spec.match.resources.namespaces"},
		{name: "operations without entries", block: `resources: {kinds: [Pod], operations: []}`, at: "spec.match.resources.operations"},
		{name: "subjects without entries", block: `{kind: Pod, subjects: []}`, at: "spec.match.subjects"},
		{name: "roles without entries", block: `{kind: Pod, roles: []}`, at: "spec.match.roles"},
		{name: "clusterRoles without entries", block: `{kind: Pod, clusterRoles: []}`, at: "spec.match.clusterRoles"},
		{name: "kind without entries", block: `{kind: [], name: web}`, at: "spec.match.kind"},
		{name: "name without entries", block: `{kind: Pod, name: []}`, at: "spec.match.name"},
		{name: "namespace without entries", block: `{kind: Pod, namespace: []}`, at: "spec.match.namespace"},
		{name: "any without entries beside the short form", block: `{any: [], kind: Pod}`, at: "spec.match"},
		{name: "annotations without entries", block: `resources: {annotations: {}}`, at: "spec.match.resources"},
	})
}

// TestTableRefusedKinds refuses kinds that are misspelt, or can exist nowhere.
func TestTableRefusedKinds(t *testing.T) {
	first := "spec.match.resources.kinds[0]"
	runRefused(t, []refusedCase{
		{name: "a kind in lower case", block: `resources: {kinds: [pod]}`, at: first},
		{name: "a resource for a kind", block: `resources: {kinds: [deployments]}`, at: first},
		{name: "an empty kind", block: `resources: {kinds: [""]}`, at: first},
		{name: "a blank kind", block: `resources: {kinds: [" "]}`, at: first},
		{name: "a kind with a blank around it", block: `resources: {kinds: ["Pod "]}`, at: first},
		{name: "a group without its version", block: `resources: {kinds: [apps/Deployment]}`, at: first, says: "apps/*/Deployment"},
		{name: "a custom group without its version", block: `resources: {kinds: [argoproj.io/Rollout]}`, at: first, says: "argoproj.io/*/Rollout"},
		{name: "only a version", block: `resources: {kinds: [v1]}`, at: first},
		{name: "only a group and version", block: `resources: {kinds: [apps/v1]}`, at: first},
		{name: "a subresource in upper case", block: `resources: {kinds: [Pod/Exec]}`, at: first},
		{name: "a versioned kind in lower case", block: `resources: {kinds: [v1/pods]}`, at: first},
		{name: "a resource with its subresource", block: `resources: {kinds: [pods/exec]}`, at: first},
		{name: "nothing before the slash", block: `resources: {kinds: [/Pod]}`, at: first},
		{name: "nothing after the slash", block: `resources: {kinds: [Pod/]}`, at: first},
		{name: "nothing between slashes", block: `resources: {kinds: [v1//exec]}`, at: first},
		{name: "an empty group", block: `resources: {kinds: [/v1/Pod]}`, at: first},
		{name: "a subresource of a subresource", block: `resources: {kinds: [Pod/exec/status]}`, at: first},
		{name: "five parts", block: `resources: {kinds: [apps/v1/Deployment/scale/x]}`, at: first},
		{name: "a version of Pod that is not served", block: `resources: {kinds: [v2/Pod]}`, at: first},
		{name: "a beta version of Pod", block: `resources: {kinds: [v1beta1/Pod]}`, at: first},
		{name: "Pod in apps", block: `resources: {kinds: [apps/v1/Pod]}`, at: first},
		{name: "Deployment in core", block: `resources: {kinds: [core/v1/Deployment]}`, at: first},
		{name: "Job in apps", block: `resources: {kinds: [apps/v1/Job]}`, at: first},
		{name: "Service in batch", block: `resources: {kinds: [batch/v1/Service]}`, at: first},
		{name: "a version of Deployment that apps does not have", block: `resources: {kinds: [apps/v7/Deployment]}`, at: first},
		{name: "exec of a Pod in apps", block: `resources: {kinds: [apps/v1/Pod/exec]}`, at: first},
		{name: "exec of a version of Pod that is not served", block: `resources: {kinds: [v2/Pod/exec]}`, at: first},
		{name: "the second kind is at fault", block: `resources: {kinds: [Pod, pod]}`, at: "spec.match.resources.kinds[1]"},
		{name: "the short form in lower case", block: `kind: pod`, at: "spec.match.kind"},
		{name: "the short form, an empty kind", block: `kind: ""`, at: "spec.match.kind"},
		{name: "a filter of any in lower case", block: `any: [{resources: {kinds: [Pod]}}, {kind: [Pod, pods]}]`, at: "spec.match.any[1].kind"},
	})
}

// TestTableRefusedFields refuses what the other fields cannot mean.
func TestTableRefusedFields(t *testing.T) {
	runRefused(t, []refusedCase{
		{name: "an empty name", block: `resources: {names: [""]}`, at: "spec.match.resources.names[0]"},
		{name: "a bracket is not a class of characters", block: `resources: {names: ["w[e]b*"]}`, at: "spec.match.resources.names[0]"},
		{name: "an empty namespace", block: `resources: {namespaces: [dev, ""]}`, at: "spec.match.resources.namespaces[1]"},
		{name: "a namespace that cannot exist", block: `resources: {namespaces: [Dev]}`, at: "spec.match.resources.namespaces[0]"},
		{name: "an empty selector", block: `resources: {kinds: [Pod], selector: {}}`, at: "spec.match.resources.selector"},
		{name: "an empty namespaceSelector", block: `resources: {kinds: [Pod], namespaceSelector: {}}`, at: "spec.match.resources.namespaceSelector"},
		{name: "a selector with empty fields", block: `resources: {selector: {matchLabels: {}, matchExpressions: []}}`, at: "spec.match.resources.selector"},
		{name: "an operator that there is not", block: `resources: {selector: {matchExpressions: [{key: a, operator: Has}]}}`, at: "spec.match.resources.selector.matchExpressions[0]"},
		{name: "an operator in lower case", block: `resources: {selector: {matchExpressions: [{key: a, operator: in, values: [b]}]}}`, at: "spec.match.resources.selector.matchExpressions[0]"},
		{name: "only an operator of nodes", block: `resources: {selector: {matchExpressions: [{key: a, operator: Gt, values: ["1"]}]}}`, at: "spec.match.resources.selector.matchExpressions[0]"},
		{name: "In without values", block: `resources: {selector: {matchExpressions: [{key: a, operator: In, values: []}]}}`, at: "spec.match.resources.selector.matchExpressions[0]"},
		{name: "NotIn without values", block: `resources: {namespaceSelector: {matchExpressions: [{key: a, operator: NotIn}]}}`, at: "spec.match.resources.namespaceSelector.matchExpressions[0]"},
		{name: "Exists with values", block: `resources: {selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}`, at: "spec.match.resources.selector.matchExpressions[0]"},
		{name: "DoesNotExist with values", block: `resources: {selector: {matchExpressions: [{key: a, operator: DoesNotExist, values: [b]}]}}`, at: "spec.match.resources.selector.matchExpressions[0]"},
		{name: "an expression without a key", block: `resources: {selector: {matchExpressions: [{operator: Exists}]}}`, at: "spec.match.resources.selector.matchExpressions[0]"},
		{name: "an expression with a wildcard in its key", block: `resources: {selector: {matchExpressions: [{key: "a*", operator: Exists}]}}`, at: "spec.match.resources.selector.matchExpressions[0]"},
		{name: "an expression with a wildcard in its value", block: `resources: {selector: {matchExpressions: [{key: a, operator: In, values: ["b*"]}]}}`, at: "spec.match.resources.selector.matchExpressions[0]"},
		{name: "a label that cannot exist", block: `resources: {selector: {matchLabels: {"a b": c}}}`, at: "spec.match.resources.selector.matchLabels"},
		{name: "a value that no label can have", block: `resources: {namespaceSelector: {matchLabels: {a: "b c"}}}`, at: "spec.match.resources.namespaceSelector.matchLabels"},
		{name: "an operation that there is not", block: `resources: {operations: [PATCH]}`, at: "spec.match.resources.operations[0]"},
		{name: "an operation in lower case", block: `resources: {operations: [CREATE, update]}`, at: "spec.match.resources.operations[1]", says: "UPDATE"},
		{name: "an operation in mixed case", block: `resources: {operations: [Delete]}`, at: "spec.match.resources.operations[0]", says: "DELETE"},
		{name: "an operation with a wildcard", block: `resources: {operations: ["*"]}`, at: "spec.match.resources.operations[0]"},
		{name: "an empty operation", block: `resources: {operations: [""]}`, at: "spec.match.resources.operations[0]"},

		{name: "a subject of a kind that there is not", block: `subjects: [{kind: Robot, name: a}]`, at: "spec.match.subjects[0].kind"},
		{name: "a subject of a kind in lower case", block: `subjects: [{kind: user, name: a}]`, at: "spec.match.subjects[0].kind"},
		{name: "a subject without a kind", block: `subjects: [{kind: "", name: a}]`, at: "spec.match.subjects[0].kind"},
		{name: "a user without a name", block: `subjects: [{kind: User, name: ""}]`, at: "spec.match.subjects[0].name"},
		{name: "a group without a name", block: `subjects: [{kind: User, name: a}, {kind: Group, name: ""}]`, at: "spec.match.subjects[1].name"},
		{name: "a service account without a namespace", block: `subjects: [{kind: ServiceAccount, name: builder}]`, at: "spec.match.subjects[0].namespace"},
		{name: "a service account without a name", block: `subjects: [{kind: ServiceAccount, namespace: ci, name: ""}]`, at: "spec.match.subjects[0].name"},
		{name: "a service account with a wildcard in its name", block: `subjects: [{kind: ServiceAccount, namespace: ci, name: "build-*"}]`, at: "spec.match.subjects[0].name"},
		{name: "a service account with a wildcard in its namespace", block: `subjects: [{kind: ServiceAccount, namespace: "*", name: builder}]`, at: "spec.match.subjects[0].namespace"},
		{name: "a subject in a filter of all", block: `all: [{kind: Pod}, {subjects: [{kind: Robot, name: a}]}]`, at: "spec.match.all[1].subjects[0].kind"},
		{name: "a role without a namespace", block: `roles: [admin]`, at: "spec.match.roles[0]"},
		{name: "only a role that is a wildcard", block: `roles: ["*"]`, at: "spec.match.roles[0]"},
		{name: "a role with an empty namespace", block: `roles: [":admin"]`, at: "spec.match.roles[0]"},
		{name: "a role with an empty name", block: `roles: ["dev:"]`, at: "spec.match.roles[0]"},
		{name: "an empty role", block: `roles: [dev:admin, ""]`, at: "spec.match.roles[1]"},
		{name: "a role apart by a slash", block: `roles: [dev/admin]`, at: "spec.match.roles[0]"},
		{name: "an empty cluster role", block: `clusterRoles: [""]`, at: "spec.match.clusterRoles[0]"},
	})
}

// TestTableRefusedAbsent refuses a block that is not there.
func TestTableRefusedAbsent(t *testing.T) {
	if _, errs := match.Compile(nil, field.NewPath("match")); len(errs) == 0 {
		t.Error("Compile takes a block that is not there")
	}
	if _, errs := match.Compile(&v1alpha1.Match{Any: []v1alpha1.ResourceFilter{}}, field.NewPath("exclude")); !refusedAt(errs, "exclude.any") {
		t.Errorf("no error is at exclude.any: %v", errs)
	}
}
