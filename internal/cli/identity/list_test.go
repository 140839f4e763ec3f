package identity_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cli"
	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cli/identity"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/files/filestest"
)

const kerberosSource = `apiVersion: sallyport.io/v1alpha1
kind: IdentitySource
metadata: {name: kerberos}
spec: {key: kerberos, podAnnotation: {}}
`

const accountSource = `apiVersion: sallyport.io/v1alpha1
kind: IdentitySource
metadata: {name: gcs}
spec: {key: gcs, serviceAccount: {annotation: gcs, kinds: [{group: tekton.dev, kind: TaskRun, paths: [spec.serviceAccountName]}]}}
`

func carrier(kind, name, value string) string {
	annotations := "{}"
	if value != "" {
		annotations = "{kerberos: " + value + "}"
	}
	if kind == "Pod" {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: shop, annotations: " + annotations + "}\nspec: {containers: [{name: a, image: a}]}\n"
	}
	return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: shop}\nspec: {template: {metadata: {annotations: " + annotations + "}, spec: {containers: [{name: a, image: a}]}}}\n"
}

// onCall gives dave exec into the pods of shop.
const onCall = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: on-call, namespace: shop}
rules: [{verbs: [create], apiGroups: [""], resources: [pods/exec]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: on-call, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: on-call}
subjects: [{kind: User, name: dave}, {kind: User, name: alice}]
`

func TestIdentities(t *testing.T) {
	join := func(parts ...string) string { return strings.Join(parts, "---\n") }
	filestest.InDir(t, map[string]string{
		"kerberos.yaml": kerberosSource, "rbac.yaml": usersRBAC, "oncall.yaml": onCall, "gcs.yaml": accountSource,
		"web.yaml":     join(carrier("Deployment", "web", "web"), carrier("Pod", "web-0", "web"), carrier("Pod", "plain", "")),
		"star.yaml":    carrier("Pod", "odd", "'*'"),
		"lost.yaml":    strings.Replace(usersRBAC, "kind: ClusterRole, name: use}", "kind: ClusterRole, name: gone}", 1),
		"bank.yaml":    strings.ReplaceAll(carrier("Pod", "web-0", "web"), "namespace: shop", "namespace: bank"),
		"run.yaml":     "apiVersion: tekton.dev/v1\nkind: TaskRun\nmetadata: {name: build, namespace: shop}\nspec: {serviceAccountName: builder}\n",
		"builder.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: builder, namespace: shop, annotations: {gcs: g}}\n",
		"bad.yaml":     "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: bad, namespace: shop}\nspec: {template: {spec: {containers: 5}}}\n",
		"escape.yaml":  carrier("Pod", `"a\e[2Jb"`, "web"),
		"misread.yaml": strings.Replace(usersRBAC, "annotations/web", "annotations/*", 1),
	})
	const all = "-p kerberos.yaml -p rbac.yaml -p oncall.yaml -p web.yaml"
	tests := []struct {
		name, args string
		status     int
		says       string
	}{
		{"pods with their workload", all, 0, "Deployment shop/web, Pod shop/web-0\n  kerberos=web  (IdentitySource kerberos, spec.template.metadata.annotations.kerberos)\n    held by User alice\n  no door stops: nobody\n"},
		{"who is refused", all, 0, "User dave may exec into it (create of pods/exec): RoleBinding shop/on-call -> Role shop/on-call, rule 0 {verbs: [create]"},
		{"how many", all, 0, "2 of 3 pods and workloads carry an identity. --with-claims-only=false lists the others, too."},
		{"all of them", all + " --with-claims-only=false", 0, "Pod shop/plain\n  carries no identity\n"},
		{"a key", all + " --claim kerberos", 0, "2 of 3 pods and workloads carry kerberos."},
		{"a value", all + " --claim kerberos=db", 0, "0 of 3 pods and workloads carry kerberos=db."},
		{"one namespace", all + " -p bank.yaml -n bank", 0, "Pod bank/web-0\n"},
		{"not the other", all + " -n bank", 0, "0 of 0 pods"},
		{"a custom kind", "-p gcs.yaml -p run.yaml -p builder.yaml", 0, "TaskRun shop/build\n  gcs=g  (IdentitySource gcs, spec.serviceAccountName)\n    nobody holds it"},
		{"an account that is not there", "-p gcs.yaml -p run.yaml", 2, "not known: which identities the annotations of ServiceAccount shop/builder give"},
		{"a claim that nobody can hold", "-p kerberos.yaml -p star.yaml -p rbac.yaml", 0, "nobody can hold it: its value contains"},
		{"no source", "-p web.yaml", 0, "warning: there is no IdentitySource that works"},
		{"a role that is missing", "-p lost.yaml -p kerberos.yaml -p web.yaml", 2, "what User alice may do through it is not known"},
		{"an object that cannot be read", all + " -p bad.yaml", 2, "not known: what Deployment carries: "},
		{"the star that RBAC does not have", "-p kerberos.yaml -p misread.yaml -p web.yaml", 0, `takes only for the value "*"`},
		{"a limit", "-p kerberos.yaml -p oncall.yaml -p web.yaml --limit 1", 0, "    ... and 1 more\n"},
		{"no limit", "-p kerberos.yaml -p oncall.yaml -p web.yaml --limit 0", 0, "    User dave may exec"},
		{"an unknown format", all + " -o yaml", 2, `there is no output format "yaml"`},
		{"a limit below 0", all + " --limit -1", 2, "--limit is -1"},
		{"no key", all + " --claim =web", 2, "KEY or KEY=VALUE is expected"},
		{"an empty value", all + " --claim kerberos=", 2, "has an empty value"},
		{"all and one", all + " -A -n shop", 2, "both -A and -n shop"},
		{"files and a cluster", all + " --context prod", 2, "both -p and a cluster are named"},
		{"a kubeconfig that is not there", "--kubeconfig nowhere", 2, "the kubeconfig cannot be used"},
		{"an argument", "kerberos", 2, "one argument too many"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			status, stdout, stderr := clitest.Run(t, "", append([]string{"identities"}, strings.Fields(test.args)...)...)
			if status != test.status || !strings.Contains(stdout+stderr, test.says) {
				t.Errorf("exit status %d, want %d, and %q in\n%s%s", status, test.status, test.says, stdout, stderr)
			}
		})
	}
	if _, stdout, stderr := clitest.Run(t, "", "identities", "-p", "escape.yaml", "-p", "kerberos.yaml"); strings.Contains(stdout+stderr, "\x1b") {
		t.Errorf("an escape sequence came through: %q", stdout)
	}
}

// clusterOf holds a pod and a Deployment with a claim, alice who holds it, and
// bob who may go through kubelets.
func clusterOf(t *testing.T, funcs interceptor.Funcs) client.WithWatch {
	t.Helper()
	scheme, err := cluster.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kerberos": "web"}}}
	bound := func(name string, rule rbacv1.PolicyRule) []client.Object {
		return []client.Object{
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}},
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: name}, Subjects: []rbacv1.Subject{{Kind: "User", Name: name}}},
		}
	}
	source := &v1alpha1.IdentitySource{ObjectMeta: metav1.ObjectMeta{Name: "kerberos"}, Spec: v1alpha1.IdentitySourceSpec{Key: "kerberos", PodAnnotation: &v1alpha1.PodAnnotationIdentity{}}}
	accounts := &v1alpha1.IdentitySource{ObjectMeta: metav1.ObjectMeta{Name: "gcs"}, Spec: v1alpha1.IdentitySourceSpec{Key: "gcs", ServiceAccount: &v1alpha1.ServiceAccountIdentity{Annotation: "gcs"}}}
	objects := []client.Object{
		source, accounts,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "default", Annotations: map[string]string{"gcs": "g"}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "1", Annotations: template.Annotations}, Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "a"}}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "plain", UID: "2"}, Spec: corev1.PodSpec{ServiceAccountName: "gone", Containers: []corev1.Container{{Name: "a"}}}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "3"}, Spec: appsv1.DeploymentSpec{Template: template}},
	}
	objects = append(objects, bound("alice", rbacv1.PolicyRule{Verbs: []string{"use"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"*"}, ResourceNames: []string{"kerberos", "gcs"}})...)
	objects = append(objects, bound("bob", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"nodes/proxy"}})...)
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
}

func inCluster(t *testing.T, c client.WithWatch, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = cli.Main(t.Context(), append([]string{"identities"}, args...), command.Streams{Out: &out, Err: &errs, Cluster: c})
	return status, out.String(), errs.String()
}

func TestIdentitiesInCluster(t *testing.T) {
	c := clusterOf(t, interceptor.Funcs{})
	status, stdout, stderr := inCluster(t, c, "-A", "-o", "json")
	var got struct {
		Identities []struct {
			Runtime struct{ Kind, Namespace, Name, ServiceAccount, Node string }
			Claims  []struct {
				Key, Value, Form, Path, Source string
				Holders                        []struct{ Subject struct{ Name string } }
			}
			Others []struct {
				Subject struct{ Name string }
				Guarded bool
				Ways    []struct {
					Way     string
					Guarded *bool
				}
			}
		}
		Total, WithoutClaims int
		Problems, Warnings   []string
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != 0 || stderr != "" {
		t.Fatalf("exit status %d, %v: %s", status, err, stderr)
	}
	if len(got.Identities) != 2 || got.Total != 3 || got.WithoutClaims != 1 || got.Problems == nil || got.Warnings == nil {
		t.Fatalf("got %+v", got)
	}
	pod := got.Identities[1]
	if r := pod.Runtime; r.Kind != "Pod" || r.Name != "web-0" || r.Node != "node-1" || r.ServiceAccount != "default" {
		t.Errorf("got %+v", r)
	}
	if len(pod.Claims) != 2 || pod.Claims[0].Path != "metadata.annotations.kerberos" || pod.Claims[1].Key != "gcs" || pod.Claims[1].Value != "g" || pod.Claims[1].Form != "name" || len(pod.Claims[1].Holders) != 2 {
		t.Errorf("got %+v", pod.Claims)
	}
	if o := pod.Others; len(o) != 1 || o[0].Subject.Name != "bob" || o[0].Guarded || o[0].Ways[0].Way != "node" || o[0].Ways[0].Guarded == nil {
		t.Errorf("got %+v", o)
	}
	if status, stdout, _ := inCluster(t, c, "-n", "bank"); status != 0 || !strings.Contains(stdout, "0 of 1 pods and workloads") {
		t.Errorf("of one namespace: %d\n%s", status, stdout)
	}
}

// TestIdentitiesOfPages reads every page, begins again where a list has expired,
// and tells of each object once.
func TestIdentitiesOfPages(t *testing.T) {
	var asked []string
	expired := false
	c := clusterOf(t, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		u, ok := list.(*unstructured.UnstructuredList)
		if !ok || u.GetKind() != "PodList" {
			return c.List(ctx, list, opts...)
		}
		var o client.ListOptions
		o.ApplyOptions(opts)
		asked = append(asked, o.Continue)
		if o.Limit != identity.Page {
			t.Errorf("a limit of %d", o.Limit)
		}
		if o.Continue == "next" && !expired {
			expired = true
			return apierrors.NewResourceExpired("the list is too old")
		}
		if err := c.List(ctx, list, client.InNamespace(o.Namespace)); err != nil {
			return err
		}
		if o.Continue == "" {
			u.SetContinue("next")
		}
		return nil
	}})
	status, stdout, stderr := inCluster(t, c, "-A")
	if status != 0 || !strings.Contains(stdout, "2 of 3 pods and workloads") || strings.Join(asked, ",") != ",next,,next" {
		t.Errorf("exit status %d, asked %q\n%s%s", status, asked, stdout, stderr)
	}
}

// TestIdentitiesThatCannotBeRead says what is missing, and lists the rest.
func TestIdentitiesThatCannotBeRead(t *testing.T) {
	forbid := func(kind string) interceptor.Funcs {
		return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			gvk, err := c.GroupVersionKindFor(list)
			if err == nil && gvk.Kind == kind+"List" {
				return apierrors.NewForbidden(schema.GroupResource{Group: gvk.Group, Resource: strings.ToLower(kind) + "s"}, "", errors.New("not for you"))
			}
			return c.List(ctx, list, opts...)
		}}
	}
	tests := []struct{ kind, says, lists string }{
		{"Deployment", "not known: what carries an identity among deployments.apps: they cannot be listed: ", "Pod shop/web-0\n"},
		{"Pod", "not known: what carries an identity among pods: ", "Deployment shop/web\n"},
		{"ServiceAccount", "not known: which identities the annotations of service accounts give", "Deployment shop/web, Pod shop/web-0\n"},
		{"IdentitySource", "the IdentitySources of the cluster cannot be listed: ", ""},
		{"RoleBinding", "the roles and bindings of the cluster cannot be listed: ", ""},
	}
	for _, test := range tests {
		t.Run(test.kind, func(t *testing.T) {
			status, stdout, stderr := inCluster(t, clusterOf(t, forbid(test.kind)), "-A")
			if status != 2 || !strings.Contains(stderr, test.says) || !strings.Contains(stdout, test.lists) || test.lists == "" && stdout != "" {
				t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
			}
		})
	}
}

// TestIdentitiesOfBrokenSource goes on with the sources that work.
func TestIdentitiesOfBrokenSource(t *testing.T) {
	c := clusterOf(t, interceptor.Funcs{})
	broken := &v1alpha1.IdentitySource{ObjectMeta: metav1.ObjectMeta{Name: "broken"}, Spec: v1alpha1.IdentitySourceSpec{Key: "b"}}
	if err := c.Create(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := inCluster(t, c, "-A")
	if status != 2 || !strings.Contains(stdout, "kerberos=web") || !strings.Contains(stderr, "not known: what a source that is not ready would find: ") {
		t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
	}
}
