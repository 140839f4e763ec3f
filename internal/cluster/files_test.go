package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func newTestFiles(t testing.TB, objects ...runtime.Object) *Files {
	t.Helper()
	f, err := NewFiles(objects)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFiles(t *testing.T) {
	bare := web()
	bare.Namespace = ""
	given := namespace("shop", map[string]string{"team": "a", corev1.LabelMetadataName: "forged"})
	f := newTestFiles(t, web(), bare, From("a.yaml", From("b.yaml", given)), namespace("plain", nil),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "empty"}}, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "web"}})

	for _, ns := range []string{"shop", "default"} {
		if pod, err := f.Pod(t.Context(), ns, "web"); err != nil || pod.Namespace != ns {
			t.Errorf("pod %s/web: %v, %v", ns, pod, err)
		}
	}
	if bare.Namespace != "" || given.Labels[corev1.LabelMetadataName] != "forged" {
		t.Error("an object that was given was changed")
	}
	for name, want := range map[string]map[string]string{
		"shop":  {"team": "a", corev1.LabelMetadataName: "shop"},
		"plain": {corev1.LabelMetadataName: "plain"},
	} {
		ns, err := f.Namespace(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, ns.Labels); diff != "" {
			t.Errorf("labels of %s:\n%s", name, diff)
		}
	}
	pods, err := f.PodsOnNode(t.Context(), "node-1")
	if err != nil || len(pods) != 2 || pods[0].Namespace != "default" || pods[1].Namespace != "shop" {
		t.Errorf("pods of the node: %v, %v", pods, err)
	}
	if pods, err := f.PodsOnNode(t.Context(), "empty"); err != nil || len(pods) != 0 {
		t.Errorf("pods of an empty node: %v, %v", pods, err)
	}
}

func TestFilesNotFound(t *testing.T) {
	for name, f := range map[string]*Files{"something": newTestFiles(t, web()), "nothing": newTestFiles(t)} {
		t.Run(name, func(t *testing.T) {
			_, podErr := f.Pod(t.Context(), "shop", "gone")
			_, emptyErr := f.Pod(t.Context(), "", "")
			_, nodeErr := f.PodsOnNode(t.Context(), "gone")
			_, namelessErr := f.PodsOnNode(t.Context(), "")
			_, namespaceErr := f.Namespace(t.Context(), "gone")
			for _, err := range []error{podErr, emptyErr, nodeErr, namelessErr, namespaceErr} {
				if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "stands in no file") {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

func TestFilesRefuses(t *testing.T) {
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	inDefault := web()
	inDefault.Namespace = "default"
	bare := web()
	bare.Namespace = ""
	tests := []struct {
		name    string
		objects []runtime.Object
		want    []string
	}{
		{"the same pod twice", []runtime.Object{From("a.yaml, document 1", web()), web(), From("b.yaml, document 2", web())}, []string{
			"Pod shop/web stands twice: in a.yaml, document 1 and in object 2; leave one of them",
			"Pod shop/web stands twice: in a.yaml, document 1 and in b.yaml, document 2; leave one of them",
		}},
		{"the same once the namespace is filled in", []runtime.Object{inDefault, bare}, []string{"Pod default/web stands twice: in object 1 and in object 2; leave one of them"}},
		{"the same cluster role", []runtime.Object{clusterRole("r"), clusterRole("r")}, []string{"ClusterRole r stands twice: in object 1 and in object 2; leave one of them"}},
		{"no name", []runtime.Object{From("a.yaml", &corev1.Pod{})}, []string{"a.yaml: Pod: metadata.name: missing"}},
		{"a name to be made up", []runtime.Object{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"}}}, []string{
			`object 1: Pod: metadata.name: missing; generateName "web-" does not say what the object is called in the cluster`,
		}},
		{"a namespace where there is none", []runtime.Object{&rbacv1.ClusterRole{ObjectMeta: meta("shop", "r")}}, []string{
			`object 1: ClusterRole r: metadata.namespace: "shop", but a ClusterRole has no namespace; leave it out`,
		}},
		{"another kind", []runtime.Object{From("a.yaml", &corev1.ConfigMap{})}, []string{
			"a.yaml: a cluster in files is made of Pods, Namespaces, Nodes, ServiceAccounts, Roles, ClusterRoles, RoleBindings and ClusterRoleBindings; this is a *v1.ConfigMap",
		}},
		{"nothing", []runtime.Object{nil, (*corev1.Pod)(nil), From("a.yaml", nil)}, []string{
			"object 1: a cluster in files is made of Pods, Namespaces, Nodes, ServiceAccounts, Roles, ClusterRoles, RoleBindings and ClusterRoleBindings; this is a <nil>",
			"object 2: a Pod that holds nothing",
			"a.yaml: a cluster in files is made of Pods, Namespaces, Nodes, ServiceAccounts, Roles, ClusterRoles, RoleBindings and ClusterRoleBindings; this is a <nil>",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, err := NewFiles(test.objects)
			if err == nil || f != nil {
				t.Fatal("was accepted")
			}
			if diff := cmp.Diff(test.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHolds(t *testing.T) {
	for _, object := range []runtime.Object{
		&corev1.Pod{}, &corev1.Namespace{}, &corev1.Node{}, &corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.ClusterRole{}, &rbacv1.RoleBinding{}, &rbacv1.ClusterRoleBinding{},
		From("a.yaml", &corev1.Pod{}),
	} {
		if !Holds(object) {
			t.Errorf("%T is not held", object)
		}
	}
	for _, object := range []runtime.Object{nil, &corev1.Secret{}, &corev1.PodList{}} {
		if Holds(object) {
			t.Errorf("%T is held", object)
		}
	}
}

func TestFilesPowers(t *testing.T) {
	f := newTestFiles(t,
		role("", "reader", rule("", "secrets", "get")),
		local("", "readers", "Role", "reader", account("", "web")),
		everywhere("ops", "ClusterRole", "cluster-admin", account("ops", "default")),
		everywhere("lost", "ClusterRole", "gone", account("ops", "lost"), account("ops", "default")),
	)
	tests := []struct {
		namespace, name string
		want            []string
		err             string
	}{
		{"default", "web", []string{"may get secrets in namespace default (RoleBinding default/readers -> Role default/reader)"}, ""},
		{"ops", "", []string{"may do everything in every namespace (ClusterRoleBinding ops -> ClusterRole cluster-admin)"}, ""},
		{"ops", "lost", nil, "the powers of service account ops/lost are not known: there is no ClusterRole gone, which ClusterRoleBinding lost refers to; add a file that holds what is missing"},
		{"ops", "unbound", nil, ""},
		{"", "", nil, ""},
	}
	for _, test := range tests {
		got, err := f.ServiceAccountPowers(t.Context(), test.namespace, test.name)
		if (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
			t.Errorf("%s/%s: %v", test.namespace, test.name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s/%s: %s", test.namespace, test.name, diff)
		}
	}
}
