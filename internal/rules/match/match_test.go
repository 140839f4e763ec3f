package match_test

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

var errDown = errors.New("the API server does not answer")

// TestMatchUnknown asks for what cannot be found out, and for what is known in
// spite of that.
func TestMatchUnknown(t *testing.T) {
	const (
		byNamespace = `resources: {kinds: [Pod], namespaceSelector: {matchLabels: {env: prod}}}`
		byUser      = `subjects: [{kind: User, name: jane}]`
		byRole      = `clusterRoles: [edit]`
	)
	jane, joe := &request.User{Name: "jane"}, &request.User{Name: "joe"}
	for _, c := range []struct {
		name, block string
		user        *request.User
		want        bool
		noUser      bool
		unread      bool
	}{
		{name: "the namespace's labels", block: byNamespace, user: jane, unread: true},
		{name: "the user", block: byUser, noUser: true},
		{name: "the user's roles without a user", block: byRole, noUser: true},
		{name: "the user's roles", block: byRole, user: jane, unread: true},
		{name: "a user who is not asked for, with roles", block: `{` + byUser + `, ` + byRole + `}`, user: joe},
		{name: "another kind", block: `{kind: Service, ` + byUser + `}`},
		{name: "another user beside the labels", block: `{` + byNamespace + `, ` + byUser + `}`, user: joe},
		{name: "labels and user", block: `{` + byNamespace + `, ` + byUser + `}`, noUser: true, unread: true},
		{name: "any, and another filter holds", block: `any: [{` + byNamespace + `}, {` + byUser + `}, {kind: Pod}]`, want: true},
		{name: "any, and none holds", block: `any: [{` + byNamespace + `}, {kind: Service}]`, user: jane, unread: true},
		{name: "any, where what cannot be read could hold", block: `any: [{` + byUser + `}, {` + byNamespace + `}]`, unread: true},
		{name: "any, the other way round", block: `any: [{` + byNamespace + `}, {` + byUser + `}]`, unread: true},
		{name: "any, without a user", block: `any: [{` + byUser + `}, {` + byRole + `}]`, noUser: true},
		{name: "all, and another filter does not hold", block: `all: [{` + byNamespace + `}, {` + byUser + `}, {kind: Service}]`},
		{name: "all, and the others hold", block: `all: [{kind: Pod}, {` + byNamespace + `}]`, user: jane, unread: true},
		{name: "all, without a user", block: `all: [{` + byNamespace + `}, {` + byUser + `}]`, noUser: true, unread: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := &match.Target{
				Kind: gvk("", "v1", "Pod"), Namespace: "shop", Name: "web", User: c.user,
				NamespaceLabels: func() (map[string]string, error) { return nil, errDown },
				Roles:           func() ([]string, []string, error) { return nil, nil, errDown },
			}
			m := compile(t, c.block)
			got, err := m.Match(target)
			if got != c.want || errors.Is(err, match.ErrNoUser) != c.noUser || errors.Is(err, errDown) != c.unread {
				t.Errorf("Match = %v, %v; want %v, no user %v, unread %v", got, err, c.want, c.noUser, c.unread)
			}
			// Where nothing can read them at all, the answer is not another one.
			target.NamespaceLabels, target.Roles = nil, nil
			got, again := m.Match(target)
			if got != c.want || errors.Is(again, match.ErrNoUser) != c.noUser || (again == nil) != (err == nil) {
				t.Errorf("with nothing to read from, Match = %v, %v; want as before, %v", got, again, err)
			}
		})
	}
}

func TestMatchReadsOnce(t *testing.T) {
	var labels, roles int
	target := &match.Target{
		Kind: gvk("", "v1", "Pod"), Namespace: "shop", User: &request.User{Name: "jane"},
		NamespaceLabels: func() (map[string]string, error) { labels++; return map[string]string{"env": "test"}, nil },
		Roles:           func() ([]string, []string, error) { roles++; return []string{"shop:view"}, []string{"view"}, nil },
	}
	m := compile(t, `any:
- {kind: Service, resources: {namespaceSelector: {matchLabels: {env: test}}}, roles: ["*:*"]}
- resources: {namespaceSelector: {matchLabels: {env: prod}}}
  roles: ["*:*"]
- resources: {namespaceSelector: {matchLabels: {env: dev}}}
- roles: ["shop:edit"]
- {roles: ["shop:view"], clusterRoles: [edit]}
`)
	if got, err := m.Match(target); got || err != nil {
		t.Fatalf("Match = %v, %v; want false", got, err)
	}
	if labels != 1 || roles != 1 {
		t.Errorf("the labels were read %d times and the roles %d times; want once each", labels, roles)
	}
}

func TestMatchRolesWithColons(t *testing.T) {
	for _, c := range []struct {
		pattern, bound string
		want           bool
	}{
		{"shop:system:leader", "shop:system:leader", true},
		{"*:leader", "shop:leader", true},
		{"*:leader", "shop:system:leader", false},
		{"*:system:*", "shop:system:leader", true},
		{"sh*:leader", "shop:leader", true},
		{"shop:*", "shop:system:leader", true},
	} {
		t.Run(c.pattern+" "+c.bound, func(t *testing.T) {
			target := &match.Target{User: &request.User{Name: "jane"}, Roles: func() ([]string, []string, error) { return []string{c.bound}, nil, nil }}
			if got, err := compile(t, `roles: ["`+c.pattern+`"]`).Match(target); got != c.want || err != nil {
				t.Errorf("Match = %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestMatchNamespaceObjects(t *testing.T) {
	namespace := gvk("", "v1", "Namespace")
	for _, c := range []struct {
		name, block string
		kind        schema.GroupVersionKind
		namespace   string
		want        bool
	}{
		{"by its own name", `namespace: "team-*"`, namespace, "", true},
		{"not by another that came with it", `namespace: other`, namespace, "other", false},
		{"by its own labels", `resources: {namespaceSelector: {matchLabels: {env: prod}}}`, namespace, "", true},
		{"a kind of that name of another project", `namespace: "team-*"`, gvk("foo.io", "v1", "Namespace"), "", false},
		{"a node is in no namespace", `namespace: "*"`, gvk("", "v1", "Node"), "", false},
		{"a node is in no namespace with labels", `resources: {namespaceSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}}`, gvk("", "v1", "Node"), "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := &match.Target{Kind: c.kind, Namespace: c.namespace, Name: "team-a", Labels: map[string]string{"env": "prod"}}
			if got, err := compile(t, c.block).Match(target); got != c.want || err != nil {
				t.Errorf("Match = %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestNoMatchIsAboutNothing(t *testing.T) {
	var m *match.Match
	got, err := m.Match(&match.Target{})
	kinds, exact := m.ExactKinds()
	if got || err != nil || len(kinds) > 0 || !exact || m.Keys() != nil || m.NeedsUser() || m.Pods() != (match.PodScope{}) {
		t.Error("a block that is not there is about something")
	}
	m.Kinds(nil, nil)
	m.Namespaces(nil, nil)
}
