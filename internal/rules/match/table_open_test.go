package match_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// TestTableOpen holds CompileOpen: an empty block is about every resource, and
// nothing else is different.
func TestTableOpen(t *testing.T) {
	cases := []tableCase{
		{"an empty block and a pod", `{}`, tableTarget(kindPod), hit},
		{"an empty block and a custom kind", `{}`, tableTarget(kindRollout), hit},
		{"an empty block and a cluster-scoped resource", `{}`, tableTarget(kindNode, withoutNamespace), hit},
		{"an empty block and a Namespace", `{}`, tableTarget(kindNamespace, withoutNamespace), hit},
		{"an empty block and a deletion", `{}`, tableTarget(kindPod, withOperation(request.Delete)), hit},
		{"an empty block where no user is known", `{}`, tableTarget(kindPod, withoutUser), hit},
		{"an empty block where nothing can be read", `{}`, tableTarget(kindPod, withUnreadNamespace, withUnreadRoles), hit},
		{"an empty block and ephemeral containers", `{}`, tableTarget(kindPod, withSubresource("ephemeralcontainers")), hit},
		{"a block that says something still does", `resources: {kinds: [Pod]}`, tableTarget(kindPod), hit},
		{"a block that says something does not widen", `resources: {kinds: [Pod]}`, tableTarget(kindJob), miss},
		{"a block with any still holds", `any: [{kind: Job}, {kind: Pod}]`, tableTarget(kindPod), hit},
		{"a block on the user still needs one", `subjects: [{kind: User, name: alice}]`, tableTarget(kindPod, withoutUser), noUser},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			compiled, errs := match.CompileOpen(tableMatch(t, c.block), field.NewPath("match"))
			if len(errs) > 0 {
				t.Fatalf("CompileOpen refuses the block: %v", errs.ToAggregate())
			}
			if got, err := compiled.Match(c.target); !c.want.holds(got, err) {
				t.Errorf("got %v, %v; want %s", got, err, c.want)
			}
			if c.want != miss {
				holdIndex(t, "open", compiled, c)
			}
		})
	}
	t.Run("a block that is not there", func(t *testing.T) {
		compiled, errs := match.CompileOpen(nil, field.NewPath("match"))
		if len(errs) > 0 {
			t.Fatalf("CompileOpen refuses it: %v", errs.ToAggregate())
		}
		if got, err := compiled.Match(tableTarget(kindPod)); !hit.holds(got, err) {
			t.Errorf("got %v, %v", got, err)
		}
	})
	refused := []refusedCase{
		{name: "open, an empty filter", block: `any: [{}]`, at: "match.any[0]"},
		{name: "open, resources without fields", block: `resources: {}`, at: "match.resources"},
		{name: "open, any without filters", block: `any: []`, at: "match.any"},
		{name: "open, kinds without entries", block: `resources: {kinds: []}`, at: "match.resources.kinds"},
		{name: "open, any with all", block: `{any: [{kind: Pod}], all: [{kind: Pod}]}`, at: "match"},
		{name: "open, an empty selector", block: `resources: {selector: {}}`, at: "match.resources.selector"},
	}
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			if _, errs := match.CompileOpen(tableMatch(t, c.block), field.NewPath("match")); !refusedAt(errs, c.at) {
				t.Errorf("no error is at %s: %v", c.at, errs.ToAggregate())
			}
		})
	}
}

// TestTableAsked holds what a block says of itself.
func TestTableAsked(t *testing.T) {
	cases := []struct {
		name, block string
		kinds       []string // nil: open
		user        bool
		only, named bool
		narrow      bool
	}{
		{name: "Pod", block: `kind: Pod`, kinds: []string{"Pod"}, only: true, named: true},
		{name: "Pod with its group", block: `resources: {kinds: [core/v1/Pod]}`, kinds: []string{"Pod"}, only: true, named: true},
		{name: "Pod with others", block: `kind: [Pod, Deployment]`, kinds: []string{"Deployment", "Pod"}, named: true},
		{name: "Pod in one of two filters", block: `any: [{kind: Pod}, {kind: Job}]`, kinds: []string{"Job", "Pod"}, named: true},
		{name: "Pod in both filters", block: `any: [{kind: Pod, namespace: dev}, {kind: v1/Pod, namespace: prod}]`, kinds: []string{"Pod"}, only: true, named: true},
		{name: "Deployment", block: `kind: Deployment`, kinds: []string{"Deployment"}},
		{name: "a wildcard kind", block: `kind: "Deploy*"`},
		{name: "every kind", block: `kind: "*"`},
		{name: "a wildcard in one of two filters", block: `any: [{kind: Job}, {kind: "Deploy*"}]`},
		{name: "no kinds", block: `resources: {namespaces: [dev]}`},
		{name: "Pod by name", block: `{kind: Pod, name: web}`, kinds: []string{"Pod"}, only: true, named: true, narrow: true},
		{name: "Pod by label", block: `resources: {kinds: [Pod], selector: {matchLabels: {a: b}}}`, kinds: []string{"Pod"}, only: true, named: true, narrow: true},
		{name: "Pod by annotation", block: `resources: {kinds: [Pod], annotations: {a: b}}`, kinds: []string{"Pod"}, only: true, named: true, narrow: true},
		{name: "Pod by namespace", block: `resources: {kinds: [Pod], namespaceSelector: {matchLabels: {a: b}}}`, kinds: []string{"Pod"}, only: true, named: true},
		{name: "Pod for a subject", block: `{kind: Pod, subjects: [{kind: User, name: a}]}`, kinds: []string{"Pod"}, user: true, only: true, named: true},
		{name: "only a role", block: `roles: [dev:admin]`, user: true},
		{name: "a cluster role in one of two filters", block: `any: [{kind: Job}, {kind: Job, clusterRoles: [view]}]`, kinds: []string{"Job"}, user: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, errs := match.Compile(tableMatch(t, c.block), field.NewPath("match"))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			var kinds []string
			if exact, ok := m.ExactKinds(); ok {
				kinds = slices.Sorted(maps.Keys(exact))
			}
			if diff := cmp.Diff(c.kinds, kinds); diff != "" {
				t.Errorf("ExactKinds (-want +got):\n%s", diff)
			}
			if got := m.NeedsUser(); got != c.user {
				t.Errorf("NeedsUser: %v", got)
			}
			if p := m.Pods(); p.Only != c.only || p.Named != c.named || p.Narrow != c.narrow {
				t.Errorf("Pods: %+v; want Only %v, Named %v, Narrow %v", p, c.only, c.named, c.narrow)
			}
		})
	}
}

// TestTableNamespacesVisited lists the patterns of namespaces where they stand.
func TestTableNamespacesVisited(t *testing.T) {
	cases := []struct {
		name, block string
		want        map[string]string
	}{
		{"none", `kind: Pod`, map[string]string{}},
		{"right at the block", `resources: {namespaces: [dev, "prod-*"]}`, map[string]string{"m.resources.namespaces[0]": "dev", "m.resources.namespaces[1]": "prod-*"}},
		{"in filters", `any: [{kind: Pod}, {resources: {namespaces: [dev]}}]`, map[string]string{"m.any[1].resources.namespaces[0]": "dev"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, errs := match.Compile(tableMatch(t, c.block), field.NewPath("m"))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			got := map[string]string{}
			m.Namespaces(field.NewPath("m"), func(pattern string, at *field.Path) { got[at.String()] = pattern })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTableKeys holds how a block is found in an index.
func TestTableKeys(t *testing.T) {
	cases := []struct {
		name, block string
		want        []match.Key
	}{
		{"one of everything", `{kind: Deployment, name: test, namespace: dev}`, []match.Key{{Kind: "Deployment", Namespace: "dev", Name: "test"}}},
		{"a bare kind", `kind: Deployment`, []match.Key{{Kind: "Deployment"}}},
		{"a wildcard leaves a field open", `{kind: Deployment, name: "t*", namespace: dev}`, []match.Key{{Kind: "Deployment", Namespace: "dev"}}},
		{"more than can be listed", `resources: {kinds: [Job, Service, Node, Rollout, Secret], names: [a, b, c, d, e], namespaces: [a, b, c]}`, []match.Key{{}}},
		{"only a subject", `subjects: [{kind: User, name: a}]`, []match.Key{{}}},
		{"two filters", `any: [{kind: Job, name: a}, {kind: Rollout, namespace: b}]`, []match.Key{{Kind: "Job", Name: "a"}, {Kind: "Rollout", Namespace: "b"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, errs := match.Compile(tableMatch(t, c.block), field.NewPath("match"))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if diff := cmp.Diff(c.want, m.Keys()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTableHostileTargets holds blocks against targets that say nothing, which
// must not panic.
func TestTableHostileTargets(t *testing.T) {
	for _, block := range []string{
		`kind: Pod`, `name: a`, `namespace: "*"`, `resources: {annotations: {a: b}}`, `roles: ["*:*"]`,
		`resources: {namespaceSelector: {matchLabels: {a: b}}}`, `subjects: [{kind: Group, name: "*"}]`,
	} {
		m, errs := match.Compile(tableMatch(t, block), field.NewPath("match"))
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		for _, target := range []*match.Target{{}, {Kind: kindPod}, {Kind: kindNamespace}, {User: &request.User{}}} {
			// A Namespace is in every namespace, even before it has a name.
			want := block == `kind: Pod` && target.Kind == kindPod || block == `namespace: "*"` && target.Kind == kindNamespace
			if got, _ := m.Match(target); got != want {
				t.Errorf("%s, held against %+v, gives %v", block, target, got)
			}
		}
	}
}
