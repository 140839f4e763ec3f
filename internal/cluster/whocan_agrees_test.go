package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestWhoCanAgrees holds the list of holders to the authorizer: for RBAC
// objects, somebody and something that are made of a seed, they are listed
// exactly if they are allowed.
func TestWhoCanAgrees(t *testing.T) {
	for seed := range uint64(2000) {
		agreeAll(t, seed)
	}
}

func FuzzWhoCan(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(agreeAll)
}

func agreeAll(t *testing.T, seed uint64) {
	m := &maker{rand.New(rand.NewPCG(seed, 1))}
	objects := m.objects()
	files, err := NewFiles(objects)
	if err != nil {
		t.Fatal(err)
	}
	live := rbacOf(objects)
	asLive := newAuthorizer(live, newRoleBook(live, false))
	ofFiles, ofCluster := files.RBAC(), NewRBAC(objects)
	for range 20 {
		who, what := m.user(), m.attributes()
		agree(t, "files", ofFiles, who, what, func() (bool, error) { return files.Allowed(context.Background(), who, what) })
		agree(t, "cluster", ofCluster, who, what, func() (bool, error) { return asLive.allowed(who, what) })
	}
}

func agree(t *testing.T, where string, rbac *RBAC, who request.User, what request.Attributes, ask func() (bool, error)) {
	t.Helper()
	allowed, err := ask()
	answer := rbac.WhoCan(Question{Attributes: what})
	isListed := lists(answer, who)
	switch {
	case isListed != allowed:
		t.Fatalf("%s: %+v, %+v: allowed %v (%v), listed %v: %v", where, who, what, allowed, err, isListed, answer.Holders)
	case err != nil && len(answer.Missing) == 0:
		t.Fatalf("%s: %+v, %+v: %v, and nothing is said to be missing", where, who, what, err)
	case !allowed:
		return
	}
	// Whoever may do it may do it with some subresource, and to some name.
	for _, q := range []Question{{Attributes: what, AnyName: true}, {Attributes: what, AnySubresource: what.Subresource != ""}} {
		if !lists(rbac.WhoCan(q), who) {
			t.Fatalf("%s: %+v may %+v and is not listed for %+v", where, who, what, q)
		}
	}
}

// lists reports whether a user, or a group that the user is in, is listed.
func lists(a Answer, who request.User) bool {
	are := subjectsOf(who)
	return slices.ContainsFunc(a.Holders, func(h Holder) bool {
		return slices.Contains(are, subjectKey{h.Subject.Kind, h.Subject.Namespace, h.Subject.Name})
	})
}

func rbacOf(objects []runtime.Object) (sorted rbacObjects) {
	for _, object := range objects {
		switch object := object.(type) {
		case *rbacv1.Role:
			sorted.roles = append(sorted.roles, object)
		case *rbacv1.ClusterRole:
			sorted.clusterRoles = append(sorted.clusterRoles, object)
		case *rbacv1.RoleBinding:
			sorted.roleBindings = append(sorted.roleBindings, object)
		case *rbacv1.ClusterRoleBinding:
			sorted.clusterRoleBindings = append(sorted.clusterRoleBindings, object)
		}
	}
	return sorted
}

// maker makes things of few words, so that they often meet.
type maker struct{ *rand.Rand }

func (m *maker) one(words ...string) string { return words[m.IntN(len(words))] }

// some gives none to three words.
func (m *maker) some(words ...string) []string {
	var chosen []string
	for range m.IntN(4) {
		chosen = append(chosen, m.one(words...))
	}
	return chosen
}

func (m *maker) rules() []rbacv1.PolicyRule {
	rules := make([]rbacv1.PolicyRule, m.IntN(3))
	for i := range rules {
		rules[i] = rbacv1.PolicyRule{
			Verbs: m.some("use", "get", "create", "*"), APIGroups: m.some("", "authorization.k8s.io", "*"),
			Resources: m.some("pods", "pods/exec", "*/exec", "pods/*", "*", "*/*", "validatedannotations/a", "validatedannotations/*", "*/a/b", "/exec"),
		}
		if m.IntN(3) == 0 {
			rules[i].ResourceNames = m.some("web", "kerberos", "", "*")
		}
	}
	return rules
}

func (m *maker) subjects() []rbacv1.Subject {
	subjects := make([]rbacv1.Subject, m.IntN(3))
	for i := range subjects {
		subjects[i] = rbacv1.Subject{
			Kind: m.one("User", "Group", "ServiceAccount", "ServiceAccount", "user"), Namespace: m.one("", "shop", "bank"),
			Name: m.one("alice", "devs", "web", "system:masters", "system:authenticated", "system:serviceaccount:shop:web", "system:serviceaccounts:shop"),
		}
	}
	return subjects
}

func (m *maker) ref() rbacv1.RoleRef {
	return rbacv1.RoleRef{Kind: m.one("Role", "ClusterRole", "ClusterRole", "Other"), Name: m.one("r0", "r1", "r2", "r3", "edit", "cluster-admin", "gone")}
}

func (m *maker) objects() []runtime.Object {
	var objects []runtime.Object
	for i := range 4 {
		name := fmt.Sprintf("r%d", i)
		objects = append(objects, role(m.one("shop", "bank"), name, m.rules()...))
		if m.IntN(4) == 0 {
			continue
		}
		made := clusterRole(name, m.rules()...)
		made.Labels = map[string]string{"for": m.one("r0", "r1", "nobody")}
		switch m.IntN(4) {
		case 0:
			made.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"for": m.one("r0", "r1", "not valid!")}}}}
			made.Rules = nil
		case 1:
			made.Labels["rbac.authorization.k8s.io/aggregate-to-edit"] = "true"
		}
		objects = append(objects, made)
	}
	for i := range 3 {
		name := fmt.Sprintf("b%d", i)
		objects = append(objects,
			&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: m.one("shop", "bank"), Name: name}, RoleRef: m.ref(), Subjects: m.subjects()},
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: m.ref(), Subjects: m.subjects()})
	}
	return objects
}

func (m *maker) user() request.User {
	who := request.User{
		Name:   m.one("alice", "devs", "web", "system:serviceaccount:shop:web", "system:serviceaccount::web", "system:serviceaccount:bank:alice", "system:serviceaccount:shop"),
		Groups: m.some("devs", "system:authenticated", "system:serviceaccounts:shop", "alice"),
	}
	if m.IntN(20) == 0 {
		who.Groups = append(who.Groups, superusers)
	}
	return who
}

func (m *maker) attributes() request.Attributes {
	return request.Attributes{
		Verb: m.one("use", "get", "create", "*", ""), Group: m.one("", "authorization.k8s.io", "*"), Namespace: m.one("", "shop", "bank", "other"),
		Resource: m.one("pods", "validatedannotations", "*", ""), Subresource: m.one("", "exec", "a", "*", "a/b"), Name: m.one("", "web", "kerberos", "*"),
	}
}

// TestCoversAsRBAC holds covers to the meaning of rules, written out again.
func TestCoversAsRBAC(t *testing.T) {
	m := &maker{rand.New(rand.NewPCG(7, 7))}
	for range 20000 {
		attributes := m.attributes()
		for _, r := range m.rules() {
			verb := slices.ContainsFunc(r.Verbs, func(v string) bool { return v == "*" || v == attributes.Verb })
			apiGroup := slices.ContainsFunc(r.APIGroups, func(g string) bool { return g == "*" || g == attributes.Group })
			resource := slices.ContainsFunc(r.Resources, func(entry string) bool {
				switch {
				case entry == "*":
					return true
				case attributes.Subresource == "":
					return entry == attributes.Resource
				case entry == attributes.Resource+"/"+attributes.Subresource:
					return true
				}
				rest, ok := strings.CutPrefix(entry, "*/")
				return ok && rest == attributes.Subresource
			})
			name := len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, attributes.Name)
			if want := verb && apiGroup && resource && name; covers(&r, &attributes) != want {
				t.Fatalf("%+v, %+v: want %v", r, attributes, want)
			}
		}
	}
}
