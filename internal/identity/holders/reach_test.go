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
)

// rule of groups, verbs and resources, each a list of words.
func rule(groups, verbs, resources string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: strings.Fields(groups), Verbs: strings.Fields(verbs), Resources: strings.Fields(resources), ResourceNames: names,
	}
}

// core is a rule of the core group.
func core(verbs, resources string, names ...string) rbacv1.PolicyRule {
	r := rule("", verbs, resources, names...)
	r.APIGroups = []string{""}
	return r
}

// given has alice hold rules everywhere, or in a namespace.
func given(namespace string, rules ...rbacv1.PolicyRule) *cluster.RBAC {
	subjects := []rbacv1.Subject{{Kind: "User", Name: "alice"}}
	ref := rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: rules}
	if namespace == "" {
		return cluster.NewRBAC([]runtime.Object{role, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: ref, Subjects: subjects}})
	}
	return cluster.NewRBAC([]runtime.Object{role, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "b"}, RoleRef: ref, Subjects: subjects}})
}

// told writes the ways of each rule, such as "exec: get pods/exec".
func told(reached Reached) []string {
	var lines []string
	for _, access := range reached.Accesses[1:] {
		var words []string
		for _, w := range access.Ways {
			words = append(words, w.Way+": "+strings.Join(w.Verbs, ",")+" "+strings.Join(w.Resources, ","))
		}
		lines = append(lines, strings.Join(words, "; "))
	}
	return lines
}

var (
	webPod     = Runtime{Kind: "Pod", Namespace: "shop", Name: "web-0", ServiceAccount: "web", Node: "node-1"}
	deployment = Runtime{Kind: "Deployment", Namespace: "shop", Name: "web", ServiceAccount: "web"}
	longJob    = Runtime{Kind: "Job", Namespace: "shop", Name: strings.Repeat("a", 60)}
	rollout    = Runtime{Kind: "Rollout", Namespace: "shop", Name: "web"}
)

func TestReach(t *testing.T) {
	is := func(lines ...string) []string { return lines }
	const rbac = rbacv1.GroupName
	tests := []struct {
		name string
		rbac *cluster.RBAC
		to   Runtime
		want []string
	}{
		{"exec by SPDY", given("shop", core("create", "pods/exec")), webPod, is("exec: create pods/exec")},
		{"exec by WebSocket", given("", core("get", "pods/exec")), webPod, is("exec: get pods/exec")},
		{"exec by another verb", given("", core("list update", "pods/exec")), webPod, nil},
		{"exec elsewhere", given("bank", core("create", "pods/exec")), webPod, nil},
		{"exec of another group", given("", rule("apps", "create", "pods/exec")), webPod, nil},
		{"exec by a wildcard that RBAC does not have", given("", core("create", "pods/*")), webPod, nil},
		{"exec into this pod", given("", core("create", "pods/exec", "web-0")), webPod, is("exec: create pods/exec")},
		{"exec into another pod", given("", core("create", "pods/exec", "db-0", "")), webPod, nil},
		{"exec into a pod of the workload", given("", core("create", "pods/exec", "db-0", "web-7d9f-x2x4z")), deployment, is("exec: create pods/exec")},
		{"exec into a pod of another workload", given("", core("create", "pods/exec", "webs-0", "web")), deployment, nil},
		{"exec into a pod whose name was cut", given("", core("create", "pods/exec", strings.Repeat("a", 57)+"-x2x4z")), longJob, is("exec: create pods/exec")},
		{"exec into what may be a pod of a custom kind", given("", core("create", "pods/exec", "anything")), rollout, is("exec: create pods/exec")},
		{"attach", given("", core("get create", "pods/attach")), webPod, is("attach: create,get pods/attach")},
		{"ports", given("", core("create", "pods/portforward")), webPod, is("portforward: create pods/portforward")},
		{"proxy", given("", core("delete", "pods/proxy services/proxy")), webPod, is("proxy: delete pods/proxy; services: delete services/proxy")},
		{"proxy by scheme, name and port", given("", core("get", "pods/proxy", "https:web-0:8443")), webPod, is("proxy: get pods/proxy")},
		{"proxy to another pod", given("", core("get", "pods/proxy", "https:db-0:8443")), webPod, nil},
		{"a debug container", given("", core("patch", "pods/ephemeralcontainers")), webPod, is("ephemeralcontainers: patch pods/ephemeralcontainers")},
		{"a debug container, made", given("", core("create", "pods/ephemeralcontainers")), webPod, nil},
		{"any subresource of that name", given("", core("update", "*/ephemeralcontainers")), webPod, is("ephemeralcontainers: update pods/ephemeralcontainers")},
		{"the image", given("", core("update patch", "pods")), webPod, is("image: update,patch pods")},
		{"the image of another", given("", core("patch", "pods", "db-0")), webPod, nil},
		{"another pod", given("", core("create", "pods")), webPod, is("pods: create pods")},
		{"a named pod, by server-side apply", given("", core("create patch", "pods", "mine")), webPod, is("pods: create pods")},
		{"reading and deleting", given("", core("get list watch delete deletecollection", "pods pods/log pods/status pods/eviction")), webPod, nil},
		{"workloads", given("", rule("apps batch", "create", "deployments replicasets statefulsets daemonsets controllerrevisions jobs cronjobs")), webPod,
			is("workloads: create deployments.apps,replicasets.apps,statefulsets.apps,daemonsets.apps,controllerrevisions.apps,jobs.batch,cronjobs.batch")},
		{"workloads of the core group", given("", core("patch", "replicationcontrollers podtemplates")), webPod, is("workloads: patch replicationcontrollers,podtemplates")},
		{"workloads of others", given("", rule("argoproj.io tekton.dev", "update", "rollouts taskruns")), webPod, is("workloads: update rollouts.argoproj.io,taskruns.tekton.dev")},
		{"scaling", given("", rule("apps", "*", "deployments/scale deployments/status")), webPod, nil},
		{"binding", given("", core("create", "pods/binding bindings")), webPod, is("binding: create pods/binding,bindings")},
		{"the kubelet", given("", core("get", "nodes/proxy")), webPod, is("node: get nodes/proxy")},
		{"the kubelet of its node", given("", core("create", "nodes/proxy", "node-1:10250")), webPod, is("node: create nodes/proxy")},
		{"the kubelet of another node", given("", core("create", "nodes/proxy", "node-2")), webPod, nil},
		{"the kubelet of some node", given("", core("create", "nodes/proxy", "node-2")), deployment, is("node: create nodes/proxy")},
		{"the kubelet in a namespace", given("shop", core("*", "nodes/proxy")), webPod, nil},
		{"impersonation", given("", core("impersonate", "users groups serviceaccounts")), webPod, is("impersonate: impersonate users,groups,serviceaccounts")},
		{"impersonation in a namespace", given("shop", core("impersonate", "users groups serviceaccounts")), webPod, is("impersonate: impersonate serviceaccounts")},
		{"impersonation, constrained", given("", rule("authentication.k8s.io", "impersonate:user-info impersonate:serviceaccount", "users serviceaccounts")), webPod,
			is("impersonate: impersonate:user-info,impersonate:serviceaccount users.authentication.k8s.io,serviceaccounts.authentication.k8s.io")},
		{"a token", given("shop", core("create", "serviceaccounts/token", "web")), webPod, is("token: create serviceaccounts/token")},
		{"tokens of any account", given("shop", core("create", "serviceaccounts/token")), webPod, is("token: create serviceaccounts/token; tokens: create serviceaccounts/token")},
		{"a token of another account", given("shop", core("create", "serviceaccounts/token", "db")), webPod, is("tokens: create serviceaccounts/token")},
		{"the annotations of accounts", given("shop", core("patch", "serviceaccounts")), webPod, nil},
		{"the guards", given("", rule("admissionregistration.k8s.io sallyport.io", "delete", "validatingwebhookconfigurations identitysources")), webPod,
			is("guard: delete validatingwebhookconfigurations.admissionregistration.k8s.io,identitysources.sallyport.io")},
		{"a new guard", given("", rule("admissionregistration.k8s.io", "create", "validatingwebhookconfigurations")), webPod, nil},
		{"secrets", given("shop", core("get list", "secrets")), webPod, is("secrets: get,list secrets")},
		{"a named secret has no collection", given("shop", core("deletecollection", "secrets", "token")), webPod, nil},
		{"writing secrets", given("shop", core("create update delete", "secrets")), webPod, nil},
		{"rights", given("shop", rule(rbac, "escalate bind", "roles clusterroles")), webPod, is("roles: escalate,bind roles." + rbac + ",clusterroles." + rbac)},
		{"rights that are written and not raised", given("", rule(rbac, "create update patch", "*")), webPod, nil},
		{"certificates", given("", rule("certificates.k8s.io", "approve", "signers", "kubernetes.io/kube-apiserver-client")), webPod, is("certificates: approve signers.certificates.k8s.io")},
		{"certificates that let nobody in", given("", rule("certificates.k8s.io", "approve", "signers", "kubernetes.io/kubelet-serving")), webPod, nil},
		{"webhooks", given("", rule("admissionregistration.k8s.io", "patch", "mutatingwebhookconfigurations", "sidecars")), webPod, is("webhooks: patch mutatingwebhookconfigurations.admissionregistration.k8s.io")},
		{"everything", given("", rule("*", "*", "*")), webPod, is("everything: * *")},
		{"everything in the namespace", given("shop", rule("*", "*", "*")), webPod, is("everything: * *")},
		{"one rule, several ways", given("", core("get create", "pods/exec pods/attach secrets")), webPod,
			is("exec: create,get pods/exec; attach: create,get pods/attach; secrets: get secrets")},
		{"several rules", given("", core("get", "secrets"), core("get", "pods"), core("get", "pods/exec")), webPod, is("secrets: get secrets", "exec: get pods/exec")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			reached := New(test.rbac, Options{}).Reach(test.to)
			if masters := reached.Accesses[0]; masters.Subject.Name != cluster.Superusers || masters.Through != nil {
				t.Errorf("system:masters does not stand first: %v", masters)
			}
			if diff := cmp.Diff(test.want, told(reached)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// many gives rules to n users, and binds somebody to a role that is not there.
func many(n int, rules ...rbacv1.PolicyRule) *cluster.RBAC {
	objects := []runtime.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "lost"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "gone"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "x"}}},
	}
	for i := range n {
		objects = append(objects, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b%02d", i)}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: fmt.Sprintf("u%02d", n-1-i)}},
		})
	}
	return cluster.NewRBAC(objects)
}

func TestReachIsBounded(t *testing.T) {
	audit := New(many(30, core("get", "pods/exec")), Options{Limit: 11})
	for range 2 {
		reached := audit.Reach(webPod)
		if len(reached.Accesses) != 11 || reached.More != 20 || reached.Accesses[1].Subject.Name != "u00" || reached.Accesses[10].Subject.Name != "u09" {
			t.Errorf("%d accesses and %d more, from %s", len(reached.Accesses), reached.More, reached.Accesses[1].Subject)
		}
		if len(reached.Missing) != 1 || !strings.Contains(reached.Missing[0].String(), "there is no Role shop/gone") {
			t.Errorf("missing: %v", reached.Missing)
		}
	}
	want := "User u00 may exec into it (get of pods/exec): ClusterRoleBinding b29 -> ClusterRole r, rule 0 {verbs: [get], apiGroups: [\"\"], resources: [pods/exec]}"
	if got := audit.Reach(webPod).Accesses[1].String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestMakers holds the list of what makes pods to plurals that are known.
func TestMakers(t *testing.T) {
	makers := map[schema.GroupResource]bool{}
	for _, m := range Makers(nil) {
		makers[m] = true
	}
	for _, known := range []string{"rollouts.argoproj.io", "analysistemplates.argoproj.io", "services.serving.knative.dev", "scaledjobs.keda.sh", "jobsets.jobset.x-k8s.io", "pytorchjobs.kubeflow.org", "rayclusters.ray.io", "clonesets.apps.kruise.io", "taskruns.tekton.dev"} {
		if !makers[schema.ParseGroupResource(known)] {
			t.Errorf("%s is left out", known)
		}
	}
}
