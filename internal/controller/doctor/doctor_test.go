package doctor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/utils/ptr"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

// lines are what is not well, a line each.
func lines(report *Report) []string {
	var all []string
	for _, f := range report.Checks {
		if f.Status != OK {
			all = append(all, fmt.Sprintf("%s %s %s %s: %s", f.Status, f.Name, f.Object, f.Path, f.Message))
		}
	}
	return all
}

// file is what kube-apiserver is given, as it is shipped.
func file(t *testing.T) *apiserverv1.AuthorizationConfiguration {
	t.Helper()
	config, err := wiring.Authorizer{KubeconfigFile: "/etc/kubernetes/sallyport.yaml"}.Configuration()
	must(t, err)
	return config
}

// TestSound finds nothing where nothing is wrong, and says something of everything.
func TestSound(t *testing.T) {
	w := newWorld(t)
	w.options.Authorization = file(t)
	report := w.look(t, Run)
	if all := lines(report); len(all) > 0 || report.Incomplete {
		t.Errorf("found:\n%s", strings.Join(all, "\n"))
	}
	var said []string
	for _, f := range report.Checks {
		said = append(said, f.Name)
		if f.Group == "" || f.Message == "" {
			t.Errorf("%s says nothing", f.Name)
		}
	}
	want := Names()[:len(checks)]
	if !slices.Equal(said, want) || report.Summary.OK != len(want) {
		t.Errorf("said %q, want %q", said, want)
	}
}

// TestFaults finds each fault, by the check that is for it, with a hint.
func TestFaults(t *testing.T) {
	pair := func(t *testing.T, from time.Time) *selfsigned.Pair {
		t.Helper()
		p, err := selfsigned.New([]string{"sallyport.sallyport-system.svc"}, from)
		must(t, err)
		return p
	}
	served := func(t *testing.T, w *world, from time.Time) {
		t.Helper()
		p := pair(t, from)
		w.secret.Data[corev1.TLSCertKey] = p.Cert
		for i := range w.judges.Webhooks {
			w.judges.Webhooks[i].ClientConfig.CABundle = p.CA
		}
		for i := range w.changes.Webhooks {
			w.changes.Webhooks[i].ClientConfig.CABundle = p.CA
		}
	}
	const year = selfsigned.Validity
	condition := func(name, status, reason string) func(*testing.T, *world) {
		return func(_ *testing.T, w *world) {
			w.policy.Status.Conditions = append(slices.DeleteFunc(w.policy.Status.Conditions, func(c metav1.Condition) bool { return c.Type == name }),
				metav1.Condition{Type: name, Status: metav1.ConditionStatus(status), Reason: reason, Message: "so it is"})
		}
	}
	for _, c := range []struct {
		name string
		seed func(*testing.T, *world)
		says string
	}{
		{"an old API server", func(_ *testing.T, w *world) { w.version = "v1.28.3-eks-1" }, "fail installation.version  : the API server is of version v1.28.3-eks-1"},
		{"a kind that is not there", func(_ *testing.T, w *world) { w.kinds = []string{"ClusterPolicy"} }, "fail installation.kinds  : the API server does not serve AdmissionPolicy, BreakglassEscalation"},
		{"no pods", func(_ *testing.T, w *world) { w.deployment.Status.ReadyReplicas = 0 }, "fail installation.workload Deployment sallyport-system/sallyport status.readyReplicas: none of 2 pods is ready"},
		{"some pods", func(_ *testing.T, w *world) { w.deployment.Status.ReadyReplicas = 1 }, "warn installation.workload Deployment sallyport-system/sallyport status.readyReplicas: 1 of 2 pods are ready"},
		{"scaled to none", func(_ *testing.T, w *world) { w.deployment.Spec.Replicas = ptr.To[int32](0) }, "fail installation.workload Deployment sallyport-system/sallyport spec.replicas: it is scaled to none"},
		{"uninstalled, and the webhooks left", func(_ *testing.T, w *world) { w.deployment, w.service, w.leases = nil, nil, nil }, "fail installation.workload Deployment sallyport-system/sallyport : there is no such Deployment, and webhooks lead to the Service sallyport-system/sallyport"},

		{"no webhooks", func(_ *testing.T, w *world) { w.judges = nil }, "fail webhooks.configurations ValidatingWebhookConfiguration sallyport : it is not there"},
		{"no webhooks that change", func(_ *testing.T, w *world) { w.changes = nil }, "fail webhooks.configurations MutatingWebhookConfiguration sallyport : it is not there"},
		{"a webhook that is not there", func(_ *testing.T, w *world) { w.judges.Webhooks = w.judges.Webhooks[:1] }, "warn doors.ways  : pods/proxy is asked about by the authorizer only"},
		{"no Service", func(_ *testing.T, w *world) { w.service = nil }, "fail webhooks.service Service sallyport-system/sallyport : webhooks lead to it, and it is not there"},
		{"a Service with another port", func(_ *testing.T, w *world) { w.service.Spec.Ports[0].Port = 8443 }, "fail webhooks.service Service sallyport-system/sallyport spec.ports: webhooks lead to its port 443"},
		{"a Service with nobody behind it", func(_ *testing.T, w *world) { w.slice.Endpoints[0].Conditions.Ready = ptr.To(false) }, "fail webhooks.service Service sallyport-system/sallyport : webhooks lead to it, and no endpoint of it is ready"},
		{"a time-out that is too short", func(_ *testing.T, w *world) { w.judges.Webhooks[0].TimeoutSeconds = ptr.To[int32](1) }, "warn webhooks.timeout webhook pods.sallyport.io of sallyport timeoutSeconds: the API server waits 1 s"},
		{"a NetworkPolicy that lets only the namespace in", func(_ *testing.T, w *world) {
			w.objects = append(w.objects, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "closed", Namespace: wiring.Namespace}, Spec: networkingv1.NetworkPolicySpec{
				PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
				Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}},
			}})
		}, "warn webhooks.network NetworkPolicy sallyport-system/closed spec.ingress: it lets in only some sources"},
		{"API servers that do not get through", func(_ *testing.T, w *world) {
			w.canary = errors.New(`failed calling webhook "exceptions.sallyport.io": context deadline exceeded`)
		}, "fail webhooks.answered  : a webhook does not reach Sallyport"},
		{"webhooks that ask somebody else", func(_ *testing.T, w *world) { w.canary = errors.New("denied by somebody") }, "skip webhooks.answered  : whether webhooks reach Sallyport is not known"},

		{"no authorizer, as on managed clusters", func(_ *testing.T, w *world) { w.authorizer = false }, "warn doors.authorizer  : the API server's authorizer does not ask Sallyport. Not covered are: pods/log"},
		{"neither door", func(_ *testing.T, w *world) { w.authorizer, w.judges.Webhooks = false, w.judges.Webhooks[:1] }, "fail doors.ways  : pods/exec leads into pods, and neither door asks about it"},
		{"answers that are kept", func(_ *testing.T, w *world) { w.keeps = true }, "fail doors.authorizer-cache AuthorizationConfiguration authorizers[].webhook.cacheUnauthorizedRequests: an API server keeps"},
		{"RBAC first", func(t *testing.T, w *world) {
			w.options.Authorization = file(t)
			slices.Reverse(w.options.Authorization.Authorizers)
		}, "fail doors.authorizer-file AuthorizationConfiguration authorizers[2]: node stands ahead of it"},
		{"a file that keeps what it let in", func(t *testing.T, w *world) {
			w.options.Authorization = file(t)
			w.options.Authorization.Authorizers[0].Webhook.CacheAuthorizedRequests = nil
		}, "fail doors.authorizer-file AuthorizationConfiguration authorizers[0].webhook.cacheAuthorizedRequests: answers are kept"},
		{"a file without Sallyport", func(t *testing.T, w *world) {
			w.options.Authorization = file(t)
			w.options.Authorization.Authorizers = w.options.Authorization.Authorizers[1:]
		}, "fail doors.authorizer-file AuthorizationConfiguration authorizers: none is named sallyport"},
		{"a file without the first condition", func(t *testing.T, w *world) {
			w.options.Authorization = file(t)
			hook := w.options.Authorization.Authorizers[0].Webhook
			hook.MatchConditions = hook.MatchConditions[1:]
		}, "fail doors.authorizer-file AuthorizationConfiguration authorizers[0].webhook.matchConditions: the conditions fail for paths"},

		{"a certificate that ends soon", func(t *testing.T, w *world) { served(t, w, now.Add(20*24*time.Hour-year)) }, "warn certificates.ca webhook pods.sallyport.io of sallyport clientConfig.caBundle: "},
		{"a certificate that ends tomorrow", func(t *testing.T, w *world) { served(t, w, now.Add(36*time.Hour-year)) }, "has 1 days left, until 2026-11-03"},
		{"a certificate that has ended", func(t *testing.T, w *world) { served(t, w, now.Add(-time.Hour-year)) }, "expired on 2026-11-02: no API server trusts it"},
		{"a certificate that is not good yet", func(t *testing.T, w *world) { served(t, w, now.Add(2*time.Hour)) }, "on only"},
		{"a CA of another certificate, as a chart makes with each render", func(t *testing.T, w *world) { w.secret.Data[corev1.TLSCertKey] = pair(t, now.Add(-time.Hour)).Cert }, "fail certificates.served Secret sallyport-system/sallyport tls.crt: the CA that webhooks trust does not vouch for it"},
		{"no CA", func(_ *testing.T, w *world) { w.judges.Webhooks[0].ClientConfig.CABundle = nil }, "fail certificates.ca webhook pods.sallyport.io of sallyport clientConfig.caBundle: it is empty"},
		{"a CA that is none", func(_ *testing.T, w *world) { w.judges.Webhooks[0].ClientConfig.CABundle = []byte("Y2E=") }, "there is no certificate in it"},

		{"a right that is missing", func(_ *testing.T, w *world) { w.role.Rules = w.role.Rules[1:] }, "fail rights.missing user system:serviceaccount:sallyport-system:sallyport : it lacks: get pods, list pods, watch pods"},
		{"get list watch of everything", func(_ *testing.T, w *world) {
			w.role.Rules = append(w.role.Rules, rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"*"}, Resources: []string{"*"}})
		}, "warn rights.superfluous ClusterRoleBinding sallyport : the account may do more than is shipped: ClusterRoleBinding sallyport -> ClusterRole sallyport, rule"},
		{"a right of a feature in every namespace", func(_ *testing.T, w *world) {
			w.role.Rules = append(w.role.Rules, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}})
		}, "resources: [secrets]}"},
		{"a member of system:masters", func(_ *testing.T, w *world) { w.groups = []string{"system:masters"} }, "warn people.masters User looker : you are a member of system:masters"},

		{"no policies", func(_ *testing.T, w *world) {
			w.policy = &v1alpha1.ClusterPolicy{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
		}, "warn policies.ready ClusterPolicy x status.conditions: nothing is said"},
		{"a policy that cannot work", condition("Ready", "False", "Invalid"), "fail policies.ready ClusterPolicy baseline status.conditions: Invalid: so it is"},
		{"a policy that is not enforced", condition("Enforced", "False", "NotAsked"), "fail policies.enforced ClusterPolicy baseline status.conditions: NotAsked: so it is"},
		{"a policy that only observes", condition("Enforced", "False", "Observing"), "warn policies.enforced ClusterPolicy baseline status.conditions: Observing: so it is"},
		{"a policy about a kind that there is not", condition("Enforced", "False", "KindUnknown"), "fail policies.enforced ClusterPolicy baseline status.conditions: KindUnknown: so it is"},
		{"a policy that matches nothing", condition("Effective", "False", "NothingThere"), "warn policies.match-nothing ClusterPolicy baseline status.conditions: NothingThere: so it is"},
		{"no default of pod security, as on managed clusters", func(t *testing.T, w *world) {
			w.policy.Spec = v1alpha1.ClusterPolicySpec{}
			w.objects = append(w.objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
		}, "warn policies.pod-security  : no ClusterPolicy holds pods to a Pod Security Standard, and 1 namespaces have no label that asks for one: shop"},

		{"no replicas", func(_ *testing.T, w *world) { w.leases = nil }, "fail replicas.answering  : no replica is heard of"},
		{"one that went away", func(_ *testing.T, w *world) { w.leases[0].Spec.RenewTime.Time = now.Add(-5 * time.Minute) }, "warn replicas.answering  : there is only one replica"},
		{"one that is not ready", func(_ *testing.T, w *world) { w.leases[0].Annotations["sallyport.io/ready"] = "false" }, "warn replicas.answering replica one : it is not ready"},
		{"none that is ready", func(_ *testing.T, w *world) {
			w.leases[0].Annotations["sallyport.io/ready"], w.leases[1].Annotations["sallyport.io/ready"] = "false", "false"
		}, "fail replicas.answering  : no replica is ready"},
		{"none that leads", func(_ *testing.T, w *world) { w.leases[2].Spec.RenewTime.Time = now.Add(-time.Minute) }, "fail replicas.leader Lease sallyport-system/sallyport-workflow spec.renewTime: the replica one led last"},
		{"none that led", func(_ *testing.T, w *world) { w.leases = w.leases[:2] }, "fail replicas.leader Lease sallyport-workflow : no replica has ever led"},
		{"one that cannot", func(_ *testing.T, w *world) {
			w.leases[1].Annotations["sallyport.io/troubles"] = `[{"kind":"Policy","namespace":"shop","name":"p","why":"the module cannot be fetched"}]`
		}, "fail replicas.agree replica two : it cannot do what Policy shop/p: the module cannot be fetched"},
		{"one that observes", func(_ *testing.T, w *world) { w.leases[1].Annotations["sallyport.io/observes"] = "true" }, "fail replicas.agree replica two : some replicas refuse and others only observe"},
		{"all that observe", func(_ *testing.T, w *world) {
			w.leases[0].Annotations["sallyport.io/observes"], w.leases[1].Annotations["sallyport.io/observes"] = "true", "true"
		}, "warn replicas.agree  : Sallyport only observes"},
		{"one that is behind", func(_ *testing.T, w *world) { w.leases[1].Annotations["sallyport.io/in-force"] = "{}" }, "warn replicas.agree replica two : it has other objects in force than one"},
		{"a clock that goes wrong", func(_ *testing.T, w *world) { w.leases[1].ManagedFields[0].Time.Time = now.Add(-2 * time.Minute) }, "fail clock.replicas replica two : its clock is 2m0s from that of the API server"},
		{"a clock that is a little off", func(_ *testing.T, w *world) { w.leases[1].ManagedFields[0].Time.Time = now.Add(20 * time.Second) }, "warn clock.replicas replica two : its clock is -20s from that of the API server"},
		{"the clock here", func(_ *testing.T, w *world) { w.apiServerIs = 40 * time.Second }, "warn clock.here  : the clock of this machine is -40s from that of the API server"},

		{"webhooks that may not be read", func(_ *testing.T, w *world) { w.forbidden = "validatingwebhookconfigurations" }, "skip webhooks.rules  : the webhooks are not known: the ValidatingWebhookConfiguration sallyport cannot be read"},
		{"roles that may not be read", func(_ *testing.T, w *world) { w.forbidden = "clusterroles" }, "skip people.weaken  : who may weaken Sallyport is not known: roles and bindings cannot be listed"},
		{"Leases that may not be read", func(_ *testing.T, w *world) { w.forbidden = "leases" }, "skip webhooks.answered  : whether webhooks reach Sallyport is not known: the Leases in sallyport-system cannot be listed"},
		{"reviews that may not be made", func(_ *testing.T, w *world) { w.forbidden = "subjectaccessreviews" }, "skip doors.authorizer  : whether the authorizer asks Sallyport is not known"},
		{"a Secret that may not be read", func(_ *testing.T, w *world) { w.forbidden = "secrets" }, "skip certificates.served  : which certificate is served is not known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.seed(t, w)
			report := w.look(t, Run)
			all := lines(report)
			if !slices.ContainsFunc(all, func(line string) bool { return strings.Contains(line, c.says) }) {
				t.Errorf("want %q among:\n%s", c.says, strings.Join(all, "\n"))
			}
			for _, f := range report.Checks {
				if (f.Status == Problem || f.Status == Warning) && f.Hint == "" {
					t.Errorf("%s says nothing of what to do: %s", f.Name, f.Message)
				}
				if f.Status == Unknown && strings.Contains(f.Message, "forbidden") && !strings.Contains(f.Hint, "resource") {
					t.Errorf("%s does not name the right: %s", f.Name, f.Hint)
				}
			}
		})
	}
}

// TestPeople finds who may do what, and not the parts of Kubernetes.
func TestPeople(t *testing.T) {
	w := newWorld(t)
	bind := func(name, role string, subject rbacv1.Subject) {
		w.objects = append(w.objects, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role}, Subjects: []rbacv1.Subject{subject}})
	}
	every := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	w.objects = append(w.objects,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "cluster-admin"}, Rules: []rbacv1.PolicyRule{every}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "system:controller:namespace-controller"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"delete"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "approver"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"approve"}, APIGroups: []string{"sallyport.io"}, Resources: []string{"clusterpolicies"}, ResourceNames: []string{"one"}}}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "injector"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"patch"}, APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingwebhookconfigurations"}, ResourceNames: []string{"of-another"}}}},
	)
	bind("cluster-admin", "cluster-admin", rbacv1.Subject{Kind: "Group", Name: "system:masters"})
	bind("system:controller:namespace-controller", "system:controller:namespace-controller", rbacv1.Subject{Kind: "ServiceAccount", Namespace: "kube-system", Name: "namespace-controller"})
	bind("approver", "approver", rbacv1.Subject{Kind: "User", Name: "ann"})
	bind("injector", "injector", rbacv1.Subject{Kind: "User", Name: "ian"})
	bind("bob", "cluster-admin", rbacv1.Subject{Kind: "User", Name: "bob"})
	for _, f := range w.look(t, Run).Checks {
		if f.Group != "People" {
			continue
		}
		if f.Status != Warning || f.Object != "User bob" || !strings.Contains(f.Message, "ClusterRoleBinding bob -> ClusterRole cluster-admin") {
			t.Errorf("%+v", f)
		}
	}
}

// TestBefore finds what is in the way of an installation.
func TestBefore(t *testing.T) {
	w := newWorld(t)
	w.judges.Name = "another"
	w.objects = append(w.objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: wiring.Namespace}}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: wiring.Namespace}})
	definition := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "policies.sallyport.io", Annotations: map[string]string{releaseName: "mine", releaseNamespace: "there"}}}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	w.ours = append(w.ours, definition)
	all := strings.Join(lines(w.look(t, Before)), "\n")
	for _, says := range []string{
		"fail pre.rights User looker : you lack: create namespaces, create customresourcedefinitions.apiextensions.k8s.io",
		"fail pre.namespace Namespace sallyport-system : other pods run there, which would not be guarded: shop",
		"warn pre.webhooks MutatingWebhookConfiguration sallyport : it is there already",
		"fail pre.kinds CustomResourceDefinition policies.sallyport.io metadata.annotations: it belongs to the release mine of there",
	} {
		if !strings.Contains(all, says) {
			t.Errorf("want %q among:\n%s", says, all)
		}
	}
}

// TestEveryCheckIsDocumented holds docs/doctor.md to the checks, both ways.
func TestEveryCheckIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/doctor.md")
	must(t, err)
	var said []string
	for line := range strings.Lines(string(page)) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "### "); is && strings.Contains(name, ".") {
			said = append(said, strings.Trim(name, "`"))
		}
	}
	if want := Names(); !slices.Equal(said, want) {
		t.Errorf("docs/doctor.md has sections on %q, want %q", said, want)
	}
}
