package holders

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/files/load"
)

func fromFiles(t *testing.T, path string) *cluster.RBAC {
	t.Helper()
	loaded := load.Policies([]string{path}, nil)
	if len(loaded.Problems) > 0 {
		t.Fatal(loaded.Problems)
	}
	files, err := cluster.NewFiles(loaded.Objects)
	if err != nil {
		t.Fatal(err)
	}
	return files.RBAC()
}

// carrying carries claims by no source that is known.
func carrying(claims ...Claim) []Carried {
	carried := make([]Carried, len(claims))
	for i, c := range claims {
		carried[i].Claim = c
	}
	return carried
}

// TestIdentities is the pod of document "Validated Pod Annotations", and RBAC
// around it.
func TestIdentities(t *testing.T) {
	kerberos := Claim{Key: "kerberos", Value: "legacy-frontend-app"}
	gcs := Claim{Key: "cloud.google.com/serviceaccount", Value: "gcs@mycompany.gserviceaccount.com"}
	identities := New(fromFiles(t, "testdata/identities.yaml"), Options{}).Identities([]Runtime{
		{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "app", ServiceAccount: "default", Node: "node-1", Claims: carrying(gcs, kerberos)},
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "bank", Name: "app", Claims: carrying(kerberos)},
		{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "plain"},
	})
	var got []string
	for _, id := range identities {
		got = append(got, fmt.Sprintf("%s %s/%s", id.Runtime.Kind, id.Runtime.Namespace, id.Runtime.Name))
		for _, c := range id.Claims {
			var holders []string
			for _, h := range c.Holders {
				holders = append(holders, h.Subject.String())
			}
			got = append(got, "  "+c.String()+": "+strings.Join(holders, ", "))
		}
		for _, o := range id.Others {
			got = append(got, "  "+o.String())
		}
		for i := range id.Missing {
			got = append(got, "  "+id.Missing[i].String())
		}
	}
	const exec = ` may exec into it (create of pods/exec): RoleBinding shop/debuggers -> Role shop/debugger, rule 1 {verbs: [create], apiGroups: [""], resources: [pods/exec]}`
	const both = "; does not hold cloud.google.com/serviceaccount=gcs@mycompany.gserviceaccount.com, kerberos=legacy-frontend-app"
	kubelet := func(lacks string) string {
		return `  User monitor may reach it through the kubelet of its node (get, create, update, patch, delete of nodes/proxy): ClusterRoleBinding kubelets -> ClusterRole system:kubelet-api-admin, built-in rule {verbs: ["*"], apiGroups: [""], resources: [nodes/proxy]}` + lacks
	}
	want := []string{
		"Pod shop/app",
		"  cloud.google.com/serviceaccount=gcs@mycompany.gserviceaccount.com: Group system:masters, Group admins, Group frontend, User employee-10, User system:serviceaccount:ci:deployer",
		"  kerberos=legacy-frontend-app: Group system:masters, Group admins, Group frontend, Group system:serviceaccounts:ci, User employee-10, User employee-11",
		kubelet(both),
		"  ServiceAccount ci/tester" + exec + "; does not hold cloud.google.com/serviceaccount=gcs@mycompany.gserviceaccount.com",
		"  User employee-11" + exec + "; does not hold cloud.google.com/serviceaccount=gcs@mycompany.gserviceaccount.com",
		"  User employee-12" + exec + both,
		"  there is no Role shop/gone, which RoleBinding shop/lost refers to: what User somebody may do through it is not known; add a file that holds it",
		"Deployment bank/app",
		"  kerberos=legacy-frontend-app: Group system:masters, Group admins, Group frontend, Group system:serviceaccounts:ci, User employee-10, User employee-11",
	}
	bank := got[len(want):]
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rest := strings.Join(bank, "\n")
	for _, says := range []string{"User banker may exec into it", "make another pod like it (create of pods)", "act as somebody else who reaches it (impersonate of serviceaccounts)", "ClusterRole edit, built-in rule of ClusterRole system:aggregate-to-edit", kubelet("; does not hold kerberos=legacy-frontend-app"), "\nPod shop/plain"} {
		if !strings.Contains("\n"+rest, says) {
			t.Errorf("does not say %q:\n%s", says, rest)
		}
	}
	if plain := identities[2]; len(plain.Others) > 0 || len(plain.Missing) > 0 {
		t.Errorf("a pod without claims: %v", plain)
	}
}

// TestIdentityJSON holds the JSON form still.
func TestIdentityJSON(t *testing.T) {
	rbac := given("shop", core("create", "pods/exec"))
	id := New(rbac, Options{}).Identities([]Runtime{{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "web-0", Claims: carrying(Claim{Key: "kerberos", Value: "web", Form: Resource})}})
	got, err := json.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"runtime":{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"web-0"},` +
		`"claims":[{"key":"kerberos","value":"web","form":"resource","holders":[{"subject":{"kind":"Group","name":"system:masters"}}]}],` +
		`"others":[{"subject":{"kind":"User","name":"alice"},"ways":[{"way":"exec","says":"exec into it","verbs":["create"],"resources":["pods/exec"],"guarded":true}],"guarded":true,` +
		`"through":{"binding":{"kind":"RoleBinding","namespace":"shop","name":"b"},"role":{"kind":"ClusterRole","name":"r"},` +
		`"rule":{"index":0,"text":"{verbs: [create], apiGroups: [\"\"], resources: [pods/exec]}"}},` +
		`"lacks":[{"key":"kerberos","value":"web","form":"resource"}]}]}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSelves(t *testing.T) {
	holder := func(kind, name string) []cluster.Holder {
		return []cluster.Holder{{Subject: cluster.Subject{Kind: kind, Name: name}}}
	}
	tests := []struct {
		name    string
		subject cluster.Subject
		holders []cluster.Holder
		want    bool
	}{
		{"itself", cluster.Subject{Kind: "User", Name: "alice"}, holder("User", "alice"), true},
		{"a group of its name", cluster.Subject{Kind: "User", Name: "alice"}, holder("Group", "alice"), false},
		{"a user is authenticated", cluster.Subject{Kind: "User", Name: "alice"}, holder("Group", "system:authenticated"), true},
		{"anonymous is not", cluster.Subject{Kind: "User", Name: "system:anonymous"}, holder("Group", "system:authenticated"), false},
		{"anonymous is unauthenticated", cluster.Subject{Kind: "User", Name: "system:anonymous"}, holder("Group", "system:unauthenticated"), true},
		{"members of a group are authenticated", cluster.Subject{Kind: "Group", Name: "devs"}, holder("Group", "system:authenticated"), true},
		{"the unauthenticated are not", cluster.Subject{Kind: "Group", Name: "system:unauthenticated"}, holder("Group", "system:authenticated"), false},
		{"the authenticated are not all in a group", cluster.Subject{Kind: "Group", Name: "system:authenticated"}, holder("Group", "devs"), false},
		{"an account by its user name", cluster.Subject{Kind: "ServiceAccount", Namespace: "ci", Name: "x"}, holder("User", "system:serviceaccount:ci:x"), true},
		{"a user name of an account", cluster.Subject{Kind: "User", Name: "system:serviceaccount:ci:x"}, []cluster.Holder{{Subject: cluster.Subject{Kind: "ServiceAccount", Namespace: "ci", Name: "x"}}}, true},
		{"an account by its namespace", cluster.Subject{Kind: "ServiceAccount", Namespace: "ci", Name: "x"}, holder("Group", "system:serviceaccounts:ci"), true},
		{"an account by another namespace", cluster.Subject{Kind: "ServiceAccount", Namespace: "ci", Name: "x"}, holder("Group", "system:serviceaccounts:cd"), false},
		{"the accounts of a namespace are accounts", cluster.Subject{Kind: "Group", Name: "system:serviceaccounts:ci"}, holder("Group", "system:serviceaccounts"), true},
		{"accounts are not all of a namespace", cluster.Subject{Kind: "Group", Name: "system:serviceaccounts"}, holder("Group", "system:serviceaccounts:ci"), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := &held{by: map[cluster.Subject]bool{}}
			for _, holder := range test.holders {
				h.by[holder.Subject] = true
			}
			if got := h.holds(selves(test.subject)); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestClaims(t *testing.T) {
	tests := []struct {
		name  string
		claim Claim
		says  string
	}{
		{"of the document", Claim{Key: "cloud.google.com/serviceaccount", Value: "gcs@mycompany.gserviceaccount.com"}, ""},
		{"any value", Claim{Key: "kerberos"}, ""},
		{"the other form", Claim{Key: "kerberos", Value: "a", Form: Resource}, ""},
		{"no key", Claim{Value: "a"}, "needs a key"},
		{"a slash", Claim{Key: "kerberos", Value: "a/b"}, `contains "/"`},
		{"a slash in the other form", Claim{Key: "eks-role-arn", Value: "arn:aws:iam::1:role/s3", Form: Resource}, ""},
		{"a key of the group's own", Claim{Key: "subjectaccessreviews", Value: "a", Form: Resource}, "is a resource that authorization.k8s.io has"},
		{"a space at the end is another value", Claim{Key: "kerberos", Value: "a "}, ""},
		{"everything", Claim{Key: "kerberos", Value: "*"}, `contains "*"`},
		{"a control character in the key", Claim{Key: "kerberos\x00", Value: "a"}, "is not a key"},
		{"a control character", Claim{Key: "kerberos", Value: "a\x00"}, "control character"},
		{"longest", Claim{Key: "kerberos", Value: strings.Repeat("a", 253)}, ""},
		{"too long", Claim{Key: "kerberos", Value: strings.Repeat("a", 254)}, "254 bytes"},
		{"another form", Claim{Key: "kerberos", Form: "x"}, `there is no form "x"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := test.claim.Validate(); (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestMisread(t *testing.T) {
	use := func(resources string, names ...string) *cluster.RBAC {
		return given("", rule("authorization.k8s.io", "use", resources, names...))
	}
	tests := []struct {
		name string
		rbac *cluster.RBAC
		form Form
		want int
	}{
		{"the star as a subresource", use("validatedannotations/*", "kerberos"), Name, 1},
		{"of every key", use("validatedannotations/*"), "", 1},
		{"of another key", use("validatedannotations/*", "spiffe"), Name, 0},
		{"beside a real star", use("validatedannotations/* *", "kerberos"), Name, 0},
		{"in the other form", use("validatedannotations/*", "kerberos"), Resource, 0},
		{"a value", use("validatedannotations/a", "kerberos"), Name, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := (Claim{Key: "kerberos", Form: test.form}).Misread(test.rbac); len(got) != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// BenchmarkIdentities is a cluster of 1000 pods and 1000 bindings.
func BenchmarkIdentities(b *testing.B) {
	var objects []runtime.Object
	var runtimes []Runtime
	for i := range 500 {
		namespace, name := fmt.Sprintf("ns%d", i%50), fmt.Sprintf("x%d", i)
		subjects := []rbacv1.Subject{{Kind: "User", Name: name}}
		objects = append(objects,
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{core("get create", "pods/exec pods/attach", name), core("get", "pods"), rule("apps", "*", "deployments")}},
			&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: name}, Subjects: subjects},
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"}, Subjects: subjects})
		for j := range 2 {
			runtimes = append(runtimes, Runtime{Kind: "Pod", Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, j), Claims: carrying(Claim{Key: "kerberos", Value: name})})
		}
	}
	rbac := cluster.NewRBAC(objects)
	b.ReportAllocs()
	for b.Loop() {
		New(rbac, Options{}).Identities(runtimes)
	}
}
