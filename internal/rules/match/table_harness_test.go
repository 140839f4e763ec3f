package match_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// tableWant is what a case wants of Match.
type tableWant string

const (
	hit    tableWant = "a match"
	miss   tableWant = "no match"
	noUser tableWant = "ErrNoUser"
	unread tableWant = "the error of what could not be read"
	failed tableWant = "an error that is not ErrNoUser"
	either tableWant = "an error of any kind"
)

// tableCase is one block held against one target.
type tableCase struct {
	name   string
	block  string
	target *match.Target
	want   tableWant
}

var (
	errTableUnread   = errors.New("the API server does not answer")
	errTableUnneeded = errors.New("read without need")
)

// tableMatch decodes a block as the loader does: strictly.
func tableMatch(t *testing.T, block string) *v1alpha1.Match {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(block))
	if err != nil {
		t.Fatalf("the block is not YAML: %v\n%s", err, block)
	}
	var m v1alpha1.Match
	if err := apijson.UnmarshalStrict(data, &m); err != nil {
		t.Fatalf("the block does not decode: %v\n%s", err, block)
	}
	return &m
}

// runTable holds each case's block against its target, as it is written and,
// where it is one filter in the short form, as the one filter of any and of all,
// which have to mean the same.
func runTable(t *testing.T, cases []tableCase) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c.name] {
			t.Errorf("two cases are called %q", c.name)
		}
		seen[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			m := tableMatch(t, c.block)
			holdTable(t, "as written", m, c)
			if m.Any == nil && m.All == nil {
				filters := []v1alpha1.ResourceFilter{m.ResourceFilter}
				holdTable(t, "in any", &v1alpha1.Match{Any: filters}, c)
				holdTable(t, "in all", &v1alpha1.Match{All: filters}, c)
			}
		})
	}
}

func holdTable(t *testing.T, form string, m *v1alpha1.Match, c tableCase) {
	t.Helper()
	compiled, errs := match.Compile(m, field.NewPath("match"))
	if len(errs) > 0 {
		t.Fatalf("%s: Compile refuses the block: %v\n%s", form, errs.ToAggregate(), c.block)
	}
	for range 2 {
		got, err := compiled.Match(c.target)
		if !c.want.holds(got, err) {
			t.Fatalf("%s: got %v, %v; want %s\n%s", form, got, err, c.want, c.block)
		}
	}
	if c.want != miss {
		holdIndex(t, form, compiled, c)
	}
}

func (w tableWant) holds(got bool, err error) bool {
	switch w {
	case hit, miss:
		return err == nil && got == (w == hit)
	case noUser:
		return !got && errors.Is(err, match.ErrNoUser)
	case unread:
		return !got && errors.Is(err, errTableUnread) && !errors.Is(err, match.ErrNoUser)
	case failed:
		return !got && err != nil && !errors.Is(err, match.ErrNoUser)
	}
	return !got && err != nil
}

// holdIndex checks that whoever looks a block up by its keys or its kinds finds
// it for a target that it is, or may be, about.
func holdIndex(t *testing.T, form string, m *match.Match, c tableCase) {
	t.Helper()
	keys := m.Keys()
	found := slices.ContainsFunc(keys, func(k match.Key) bool {
		name := c.target.Name
		if name == "" {
			name = c.target.GenerateName
		}
		ownNamespace := c.target.Kind == kindNamespace && k.Namespace == c.target.Name
		return (k.Kind == "" || k.Kind == c.target.Kind.Kind) &&
			(k.Name == "" || k.Name == name || k.Prefix && strings.HasPrefix(name, k.Name)) &&
			(k.Label == match.Label{} || hasLabel(c.target.Labels, k.Label)) &&
			(k.Namespace == "" || k.Namespace == c.target.Namespace || ownNamespace)
	})
	if !found {
		t.Errorf("%s: no key of %v leads to the target\n%s", form, keys, c.block)
	}
	if kinds, exact := m.ExactKinds(); exact {
		if _, ok := kinds[c.target.Kind.Kind]; !ok {
			t.Errorf("%s: the exact kinds %v lack %s\n%s", form, slices.Sorted(maps.Keys(kinds)), c.target.Kind.Kind, c.block)
		}
	}
}

func tableKind(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

var (
	kindPod            = tableKind("", "v1", "Pod")
	kindService        = tableKind("", "v1", "Service")
	kindNode           = tableKind("", "v1", "Node")
	kindNamespace      = tableKind("", "v1", "Namespace")
	kindDeployment     = tableKind("apps", "v1", "Deployment")
	kindOldDeployment  = tableKind("extensions", "v1beta1", "Deployment")
	kindJob            = tableKind("batch", "v1", "Job")
	kindIngress        = tableKind("networking.k8s.io", "v1", "Ingress")
	kindClusterRole    = tableKind("rbac.authorization.k8s.io", "v1", "ClusterRole")
	kindBudget         = tableKind("policy", "v1", "PodDisruptionBudget")
	kindRollout        = tableKind("argoproj.io", "v1alpha1", "Rollout")
	kindOtherJob       = tableKind("batch.volcano.sh", "v1alpha1", "Job")
	kindOtherService   = tableKind("serving.knative.dev", "v1", "Service")
	kindOtherPod       = tableKind("example.com", "v1", "Pod")
	kindOtherNamespace = tableKind("example.com", "v1", "Namespace")
)

// tableTarget is a resource web in namespace dev that alice creates. Reading
// labels of the namespace or roles fails until a case says what they are, so
// that a block that reads them without need is found out.
func tableTarget(kind schema.GroupVersionKind, with ...func(*match.Target)) *match.Target {
	t := &match.Target{
		Kind:      kind,
		Namespace: "dev",
		Name:      "web",
		Operation: request.Create,
		User:      &request.User{Name: "alice", Groups: []string{"developers", "system:authenticated"}},
		NamespaceLabels: func() (map[string]string, error) {
			return nil, errTableUnneeded
		},
		Roles: func() ([]string, []string, error) { return nil, nil, errTableUnneeded },
	}
	for _, w := range with {
		w(t)
	}
	return t
}

func withSubresource(s string) func(*match.Target) {
	return func(t *match.Target) { t.Subresource = s }
}

func withName(s string) func(*match.Target) { return func(t *match.Target) { t.Name = s } }

func withGenerateName(s string) func(*match.Target) {
	return func(t *match.Target) { t.Name, t.GenerateName = "", s }
}

func withNamespace(s string) func(*match.Target) { return func(t *match.Target) { t.Namespace = s } }

// withoutNamespace makes the target cluster-scoped.
func withoutNamespace(t *match.Target) { t.Namespace = "" }

func withOperation(o request.Operation) func(*match.Target) {
	return func(t *match.Target) { t.Operation = o }
}

func withLabels(pairs ...string) func(*match.Target) {
	return func(t *match.Target) { t.Labels = tablePairs(pairs) }
}

func withAnnotations(pairs ...string) func(*match.Target) {
	return func(t *match.Target) { t.Annotations = tablePairs(pairs) }
}

func withNamespaceLabels(pairs ...string) func(*match.Target) {
	return func(t *match.Target) {
		t.NamespaceLabels = func() (map[string]string, error) { return tablePairs(pairs), nil }
	}
}

func withUnshown(t *match.Target) { t.Unshown = errTableUnread }

func withUnreadNamespace(t *match.Target) {
	t.NamespaceLabels = func() (map[string]string, error) { return nil, errTableUnread }
}

func withUser(name string, groups ...string) func(*match.Target) {
	return func(t *match.Target) { t.User = &request.User{Name: name, Groups: groups} }
}

func withoutUser(t *match.Target) { t.User, t.Operation = nil, "" }

func withRoles(roles, clusterRoles []string) func(*match.Target) {
	return func(t *match.Target) {
		t.Roles = func() ([]string, []string, error) { return roles, clusterRoles, nil }
	}
}

func withUnreadRoles(t *match.Target) {
	t.Roles = func() ([]string, []string, error) { return nil, nil, errTableUnread }
}

// tablePairs makes a map of keys and values in turn; nil of none.
func tablePairs(pairs []string) map[string]string {
	var m map[string]string
	for i := 0; i+1 < len(pairs); i += 2 {
		if m == nil {
			m = map[string]string{}
		}
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

func hasLabel(labels map[string]string, want match.Label) bool {
	value, ok := labels[want.Key]
	return ok && value == want.Value
}
