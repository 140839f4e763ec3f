package holders

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/identity"
)

// TestGuarded tells the ways at whose doors a claim is asked for from those past
// the doors.
func TestGuarded(t *testing.T) {
	claim := func(g identity.Guards) []Carried {
		return []Carried{{Claim: Claim{Key: "kerberos", Value: "web"}, Guards: g}}
	}
	network := identity.Guards{PortForward: true, Proxy: true}
	account := identity.Guards{Token: true, Annotation: true}
	taskRun := identity.Guards{Kinds: []schema.GroupKind{{Group: "tekton.dev", Kind: "TaskRun"}}}
	tests := []struct {
		name   string
		rule   rbacv1.PolicyRule
		claims []Carried
		// want has a + before the ways that are guarded.
		want string
	}{
		{"no claim", core("get", "pods/exec"), nil, "exec"},
		{"into the pod", core("*", "pods/exec pods/attach pods/ephemeralcontainers"), claim(identity.Guards{}), "+exec +attach +ephemeralcontainers"},
		{"pods", core("*", "pods"), claim(identity.Guards{}), "+image +pods"},
		{"workloads", rule("apps batch", "*", "deployments cronjobs controllerrevisions"), claim(identity.Guards{}), "+workloads"},
		{"workloads of others, with a template", rule("argoproj.io", "*", "rollouts"), claim(identity.Guards{}), "+workloads"},
		{"workloads of others, without one", rule("tekton.dev", "*", "taskruns"), claim(identity.Guards{}), "workloads"},
		{"which a source reads", rule("tekton.dev", "*", "taskruns"), claim(taskRun), "+workloads"},
		{"of which a source reads one", rule("tekton.dev", "*", "taskruns pipelineruns"), claim(taskRun), "workloads"},
		{"over the network", core("*", "pods/portforward pods/proxy services/proxy"), claim(identity.Guards{}), "portforward proxy services"},
		{"over the network, where the source says so", core("*", "pods/portforward pods/proxy services/proxy"), claim(network), "+portforward +proxy services"},
		{"tokens", core("*", "serviceaccounts/token"), claim(identity.Guards{}), "token tokens"},
		{"a token that the claim follows from", core("*", "serviceaccounts/token", "web"), claim(account), "+token"},
		{"the annotation", core("patch", "serviceaccounts"), claim(account), "+account"},
		{"an annotation that gives nothing", core("patch", "serviceaccounts"), claim(identity.Guards{Token: true}), ""},
		{"binding", core("*", "pods/binding bindings"), claim(account), "binding"},
		{"the kubelet", core("*", "nodes/proxy"), claim(account), "node"},
		{"as another", core("impersonate", "users"), claim(account), "impersonate"},
		{"secrets", core("get", "secrets"), claim(account), "secrets"},
		{"rights", rule(rbacv1.GroupName, "bind", "clusterroles"), claim(account), "roles"},
		{"a certificate", rule("certificates.k8s.io", "sign", "signers"), claim(account), "certificates"},
		{"what changes pods", rule("admissionregistration.k8s.io", "patch", "*"), claim(account), "webhooks guard"},
		{"the sources", rule("sallyport.io", "patch", "identitysources"), claim(account), "guard"},
		{"everything", rule("*", "*", "*"), claim(account), "everything"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := webPod
			r.Claims = test.claims
			var got []string
			guarded := true
			for _, access := range New(given("", test.rule), Options{}).Reach(r).Accesses[1:] {
				for _, w := range access.Ways {
					guarded = guarded && w.Guarded
					if w.Guarded {
						got = append(got, "+"+w.Way)
					} else {
						got = append(got, w.Way)
					}
				}
				if access.Guarded != guarded {
					t.Errorf("the access says %v", access.Guarded)
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestGuardedByWhatIsLacked goes by the claims that somebody lacks, and not by
// those that they hold.
func TestGuardedByWhatIsLacked(t *testing.T) {
	rbac := given("", core("get", "pods/portforward"), rule("authorization.k8s.io", "use", "validatedannotations/web", "kerberos"))
	r := webPod
	r.Claims = []Carried{
		{Claim: Claim{Key: "kerberos", Value: "web"}, Guards: identity.Guards{PortForward: true}},
		{Claim: Claim{Key: "spiffe", Value: "web"}},
	}
	others := New(rbac, Options{}).Identities([]Runtime{r})[0].Others
	if len(others) != 1 || others[0].Guarded || len(others[0].Lacks) != 1 || others[0].Lacks[0].Key != "spiffe" {
		t.Errorf("got %+v", others)
	}
}

// TestFaultyClaim is held by nobody, those included who may do everything.
func TestFaultyClaim(t *testing.T) {
	r := webPod
	r.Claims = []Carried{{Claim: Claim{Key: "kerberos", Value: "*"}, Fault: "its value is a star"}}
	id := New(given("", rule("*", "*", "*")), Options{}).Identities([]Runtime{r})[0]
	if len(id.Claims[0].Holders) != 0 || len(id.Others) != 2 || id.Others[0].Subject != superusers || id.Others[1].Subject.Name != "alice" {
		t.Errorf("got %+v", id)
	}
}

// TestIdentitiesAreBounded leaves out no one whom no door stops for one who is
// stopped.
func TestIdentitiesAreBounded(t *testing.T) {
	rbac := many(30, core("get", "pods/exec"), core("get", "nodes/proxy"))
	r := webPod
	r.Claims = carrying(Claim{Key: "kerberos", Value: "web"})
	id := New(rbac, Options{Limit: 4}).Identities([]Runtime{r})[0]
	if len(id.Others) != 8 || id.MoreUnguarded != 26 || id.MoreGuarded != 26 || id.Others[3].Guarded || !id.Others[4].Guarded || id.Others[7].Subject.Name != "u03" {
		t.Errorf("%d and %d more of %+v", id.MoreUnguarded, id.MoreGuarded, id.Others)
	}
}

// TestPartsOfKubernetes come last, and leave out nobody else.
func TestPartsOfKubernetes(t *testing.T) {
	bind := func(name, role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role}, Subjects: subjects}
	}
	account := func(namespace string) rbacv1.Subject {
		return rbacv1.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: "x"}
	}
	rules := []rbacv1.PolicyRule{core("get", "nodes/proxy")}
	rbac := cluster.NewRBAC([]runtime.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "system:r"}, Rules: rules}, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: rules},
		bind("system:b", "system:r", account("kube-system"), account("shop"), rbacv1.Subject{Kind: "User", Name: "system:kube-scheduler"}, rbacv1.Subject{Kind: "User", Name: "alice"}, rbacv1.Subject{Kind: "Group", Name: "system:nodes"}),
		bind("b", "system:r", account("kube-system")), bind("system:c", "r", account("kube-system")),
	})
	r := webPod
	r.Claims = carrying(Claim{Key: "kerberos", Value: "web"})
	var got []string
	for _, o := range New(rbac, Options{}).Identities([]Runtime{r})[0].Others {
		got = append(got, fmt.Sprint(o.Subject, " ", o.Through.Binding.Name, " ", o.Part))
	}
	want := []string{
		"Group system:nodes system:b false", "ServiceAccount kube-system/x b false", "ServiceAccount kube-system/x system:c false",
		"ServiceAccount shop/x system:b false", "User alice system:b false", "ServiceAccount kube-system/x system:b true", "User system:kube-scheduler system:b true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
