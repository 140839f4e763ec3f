package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/test/lab"
)

// wiredPeople: bob holds cluster-admin by RBAC. eve may do everything with
// definitions of kinds but what needs a right of its own, and writes what she likes in
// kube-system. The account of a network plugin reads what it needs.
const wiredPeople = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bob}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: definitions-but-one-right}
rules: [{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions, customresourcedefinitions/status], verbs: [get, list, watch, create, update, patch, delete, deletecollection]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: eve}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: definitions-but-one-right}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: eve}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: eve, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: eve}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: admins}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: cni, namespace: network}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cni}
rules: [{apiGroups: [""], resources: [nodes, pods], verbs: [get, list, watch, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cni}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cni}
subjects: [{kind: ServiceAccount, name: cni, namespace: network}]
`

// wiredLab is a control plane of its own: the tests take away what the others need.
type wiredLab struct {
	*testing.T
	lab *lab.Lab
	s   *lab.Sallyport
}

func newWiredLab(t *testing.T, args ...string) *wiredLab {
	t.Helper()
	l, err := startLab(t.Context(), lab.Options{
		Kubelet: true, Controllers: lab.OwnAccounts, CRDs: []string{filepath.Join(repository(t), "config", "crd")},
		Users: []lab.User{{Name: "bob"}, {Name: "eve"}, {Name: "ann"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &wiredLab{T: t, lab: l}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, namespace := range []string{"network", "shop", "sallyport-system"} {
		w.must(l.CreateNamespace(t.Context(), namespace, nil))
	}
	w.must(l.Apply(t.Context(), wiredPeople))
	w.s, err = l.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "wired", Args: append([]string{"--watch-policies", "--cluster-name", "prod-lab"}, args...)})
	w.must(err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.s.Log())
		}
		w.s.Kill()
	})
	return w
}

func (w *wiredLab) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *wiredLab) kubectl(user string, args ...string) lab.Result {
	return w.lab.Kubectl(w.Context(), user, args...)
}

func (w *wiredLab) feed(user, manifest string, args ...string) lab.Result {
	return w.lab.Run(w.Context(), lab.Kubectl{User: user, Args: append(args, "-f", "-"), Stdin: strings.NewReader(manifest)})
}

func (w *wiredLab) wire(edit func(*admissionregistrationv1.ValidatingWebhookConfiguration)) {
	w.Helper()
	w.must(w.lab.WireAccess(w.Context(), w.s, wiring.Authorizer{}))
	w.must(w.lab.WireAdmission(w.Context(), w.s, edit))
}

// running waits until a pod with the label app=NAME runs that is none of those.
func (w *wiredLab) running(namespace, name string, but ...string) (pod string) {
	w.Helper()
	eventually(w.T, func() string {
		r := w.kubectl(root, "get", "pods", "-n", namespace, "-l", "app="+name, "-o", `jsonpath={range .items[?(@.status.phase=="Running")]}{.metadata.name}{"\n"}{end}`)
		for pod = range strings.FieldsSeq(r.Stdout) {
			if !strings.Contains(" "+strings.Join(but, " ")+" ", " "+pod+" ") {
				return ""
			}
		}
		return "no pod of " + namespace + "/" + name + " runs: " + r.String()
	})
	return pod
}

// mirror is the mirror pod of a static pod of the lab's node; annotations follow those
// that make it one.
func (w *wiredLab) mirror(namespace, name, annotations string) string {
	uid := w.kubectl(root, "get", "node", lab.NodeName, "-o", "jsonpath={.metadata.uid}").Stdout
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "-" + lab.NodeName + "\n  namespace: " + namespace +
		"\n  annotations: {kubernetes.io/config.mirror: abc, kubernetes.io/config.hash: abc, kubernetes.io/config.source: file" + annotations + "}" +
		"\n  ownerReferences: [{apiVersion: v1, kind: Node, name: " + lab.NodeName + ", uid: " + uid + ", controller: true}]" +
		"\nspec:\n  nodeName: " + lab.NodeName + "\n  containers: [{name: app, image: registry.example.com/app:1}]\n"
}

func deployment(namespace, name string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + name + `, namespace: ` + namespace + `}
spec:
  selector: {matchLabels: {app: ` + name + `}}
  template:
    metadata: {labels: {app: ` + name + `}}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: app, image: registry.example.com/app:1}]}
---
`
}

// TestWiringWhileAway takes Sallyport away for good and asks what goes on: what starts
// the cluster and Sallyport does, and what Sallyport judges does not.
func TestWiringWhileAway(t *testing.T) {
	t.Parallel()
	w := newWiredLab(t)
	var manifest string
	for _, namespace := range []string{"kube-system", "network", "shop", "sallyport-system"} {
		manifest += deployment(namespace, "app")
	}
	w.must(w.lab.Apply(t.Context(), manifest))
	w.must(w.lab.Apply(t.Context(), "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: risk}\nspec: {podSecurityRules: {blockFactors: [hostPID]}}\n"))
	w.wire(func(config *admissionregistrationv1.ValidatingWebhookConfiguration) {
		// As an administrator does it whose network plugin stands in a namespace of its own.
		for i := range config.Webhooks[0].MatchConditions {
			c := &config.Webhooks[0].MatchConditions[i]
			c.Expression = strings.ReplaceAll(c.Expression, "request.namespace in ['kube-system']", "request.namespace in ['kube-system', 'network']")
		}
	})
	before := map[string]string{}
	for _, namespace := range []string{"kube-system", "network", "shop", "sallyport-system"} {
		before[namespace] = w.running(namespace, "app")
	}
	// Its token is asked for while Sallyport can still be asked.
	want(t, w.kubectl("system:serviceaccount:network:cni", "get", "nodes"), true)
	w.s.Kill()

	// Every pod is gone, as where each node is new.
	for namespace, pod := range before {
		want(t, w.kubectl(root, "delete", "pod", "-n", namespace, pod, "--grace-period=0", "--force"), true)
	}
	for _, namespace := range []string{"kube-system", "network", "sallyport-system"} {
		w.running(namespace, "app", before[namespace])
	}
	eventually(t, func() string {
		if r := w.kubectl(root, "get", "events", "-n", "shop"); !strings.Contains(r.Stdout, "failed calling webhook") {
			return "the pod of shop was not refused: " + r.String()
		}
		return ""
	})

	kubelet := []string{"--as=system:node:" + lab.NodeName, "--as-group=system:nodes", "--as-group=system:authenticated"}
	as := func(who []string, manifest string, args ...string) lab.Result {
		return w.feed(root, manifest, append(args, who...)...)
	}
	const plainPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME, namespace: kube-system}\nspec: {containers: [{name: app, image: registry.example.com/app:1}]}\n"
	owned := func(kind string) string {
		return strings.Replace(plainPod, "namespace: kube-system", "namespace: kube-system, ownerReferences: [{apiVersion: apps/v1, kind: "+kind+", name: app, uid: 5d1a9a3c-0000-4000-8000-000000000000, controller: true}]", 1)
	}
	account := func(name string) []string {
		return []string{"--as=system:serviceaccount:kube-system:" + name, "--as-group=system:serviceaccounts", "--as-group=system:authenticated", "--dry-run=server"}
	}
	t.Run("a node reports itself", func(t *testing.T) {
		config := rest.CopyConfig(w.lab.Config)
		config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + lab.NodeName, Groups: []string{"system:nodes", "system:authenticated"}}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		// kubectl would read the status first, which a node may not.
		if _, err := client.CoreV1().Nodes().Patch(t.Context(), lab.NodeName, types.MergePatchType, []byte(`{"status":{"nodeInfo":{"machineID":"tried"}}}`), metav1.PatchOptions{}, "status"); err != nil {
			t.Error(err)
		}
	})
	const calling = "failed calling webhook"
	for _, tt := range []struct {
		name string
		r    lab.Result
		ok   bool
		says string
	}{
		{"people read", w.kubectl("bob", "get", "pods", "-A"), true, "kube-system"},
		{"people get no further", w.kubectl("bob", "exec", "-n", "kube-system", w.running("kube-system", "app"), "--", "true"), false, "refused"},
		{"nor into Sallyport's own pods", w.kubectl("bob", "exec", "-n", "sallyport-system", w.running("sallyport-system", "app"), "--", "true"), false, "refused"},
		{"nor by the authority of others", w.kubectl("bob", "get", "pods", "-A", "--as=carol"), false, "refused"},
		{"a network plugin elsewhere reads", w.kubectl("system:serviceaccount:network:cni", "get", "nodes,pods", "-A"), true, lab.NodeName},
		{"a mirror pod of the control plane", as(kubelet, w.mirror("kube-system", "etcd", ", kubeadm.kubernetes.io/etcd.advertise-client-urls: x"), "create"), true, "created"},
		{"a mirror pod elsewhere", as(kubelet, w.mirror("shop", "plain", ""), "create"), true, "created"},
		{"a mirror pod elsewhere that may carry an identity", as(kubelet, w.mirror("shop", "claims", ", kerberos: a"), "create"), false, calling},
		{"a mirror pod by anybody", w.feed("bob", w.mirror("shop", "forged", ""), "create"), false, calling},
		{"a pod by hand in kube-system", w.feed("eve", strings.Replace(plainPod, "NAME", "mine", 1), "create"), false, calling},
		{"a pod by hand with an owner", w.feed("eve", strings.Replace(owned("ReplicaSet"), "NAME", "mine", 1), "create"), false, calling},
		{"the controller of another kind", as(account("job-controller"), strings.Replace(owned("ReplicaSet"), "NAME", "mine", 1), "create"), false, calling},
		{"a controller, without an owner", as(account("replicaset-controller"), strings.Replace(plainPod, "NAME", "mine", 1), "create"), false, calling},
		{"a controller, elsewhere", as(account("replicaset-controller"), strings.ReplaceAll(strings.Replace(owned("ReplicaSet"), "NAME", "mine", 1), "kube-system", "shop"), "create"), false, calling},
		{"a controller of that kind", as(account("replicaset-controller"), strings.Replace(owned("ReplicaSet"), "NAME", "mine", 1), "create"), true, "created"},
		{"an account of that name elsewhere", w.feed(root, strings.Replace(owned("ReplicaSet"), "NAME", "mine", 1), "create", "--as=system:serviceaccount:network:replicaset-controller", "--as-group=system:masters", "--dry-run=server"), false, calling},
		{"a template in kube-system", w.feed("eve", deployment("kube-system", "mine"), "create"), false, calling},
		{"a policy", w.feed("bob", "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: more}\nspec: {podSecurityRules: {blockFactors: [hostPID]}}\n", "create"), false, calling},
		{"a definition, without the right", w.kubectl("eve", "delete", "crd", "denypolicies.sallyport.io"), false, calling},

		// Who is bound to cluster-admin mends everything without being system:masters.
		{"Sallyport's Deployment", w.feed("bob", strings.Replace(deployment("sallyport-system", "app"), "app:1", "app:2", 1), "apply"), true, ""},
		{"a token for its account", w.feed("bob", "apiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: sallyport-system, annotations: {kubernetes.io/service-account.name: default}}\ntype: kubernetes.io/service-account-token\n", "create"), true, "created"},
		{"its role", w.kubectl("bob", "label", "clusterrole", "sallyport", "mended=yes"), true, ""},
		{"a policy is deleted", w.kubectl("bob", "delete", "denypolicy", "risk"), true, "deleted"},
		{"a definition is deleted", w.kubectl("bob", "delete", "crd", "policyservers.sallyport.io"), true, "deleted"},
		{"and made again", w.kubectl("bob", "create", "-f", filepath.Join(repository(t), "config", "crd", "sallyport.io_policyservers.yaml")), true, "created"},
		{"and changed", w.kubectl("bob", "patch", "crd", "policyservers.sallyport.io", "--type=json", `--patch=[{"op":"replace","path":"/spec/versions/0/served","value":false}]`), true, "patched"},
	} {
		t.Run(tt.name, func(t *testing.T) { want(t, tt.r, tt.ok, tt.says) })
	}
}

// TestWiringDefinitions takes definitions of Sallyport's kinds away while it runs, in
// each way that there is.
func TestWiringDefinitions(t *testing.T) {
	t.Parallel()
	w := newWiredLab(t)
	w.wire(nil)
	const ours, right = "denypolicies.sallyport.io", "needs the verb redefine on customresourcedefinitions.apiextensions.k8s.io"
	unserved := `--patch=[{"op":"replace","path":"/spec/versions/0/served","value":false}]`
	want(t, w.kubectl(root, "label", "crd", ours, "tried=yes"), true)
	for _, tt := range []struct {
		name string
		r    lab.Result
		ok   bool
		says string
	}{
		{"deleted", w.kubectl("eve", "delete", "crd", ours), false, right},
		{"deleted with others", w.kubectl("eve", "delete", "--raw=/apis/apiextensions.k8s.io/v1/customresourcedefinitions?labelSelector=tried%3Dyes"), false, right},
		{"not served", w.kubectl("eve", "patch", "crd", ours, "--type=json", unserved), false, right},
		{"read by a program of others", w.kubectl("eve", "patch", "crd", ours, "--type=merge", `--patch={"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://example.com/"}}}}}`), false, right},
		{"its schema", w.kubectl("eve", "patch", "crd", ours, "--type=json", `--patch=[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/description","value":"other"}]`), false, right},
		{"its status", w.kubectl("eve", "patch", "crd", ours, "--subresource=status", "--type=merge", `--patch={"status":{"conditions":[{"type":"Established","status":"False","reason":"x","message":"x","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`), false, right},
		{"its labels", w.kubectl("eve", "label", "crd", ours, "other=yes"), true, ""},
		{"a kind of others", w.feed("eve", strangeKind, "create"), true, ""},
		{"a kind of others is changed", w.kubectl("eve", "patch", "crd", "widgets.example.com", "--type=json", `--patch=[{"op":"replace","path":"/spec/names/shortNames","value":["wd"]}]`), true, ""},
		{"a kind of others is deleted", w.kubectl("eve", "delete", "crd", "widgets.example.com"), true, ""},
		{"by cluster-admin, tried", w.kubectl("bob", "delete", "crd", ours, "--dry-run=server"), true, ""},
		{"by cluster-admin, changed", w.kubectl("bob", "patch", "crd", ours, "--type=json", unserved, "--dry-run=server"), true, ""},
		{"no aggregated role has the right", w.kubectl("ann", "auth", "can-i", "redefine", "customresourcedefinitions.apiextensions.k8s.io"), false, "no"},
	} {
		t.Run(tt.name, func(t *testing.T) { want(t, tt.r, tt.ok, tt.says) })
	}
	if log := w.s.Log(); strings.Contains(log, "panic") {
		t.Error(log)
	}
}

const strangeKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList, shortNames: [wdg]}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// TestWiringRepair breaks what Sallyport stands on, a kind and a right, and has it
// mended by who holds cluster-admin by RBAC, while Sallyport runs.
func TestWiringRepair(t *testing.T) {
	t.Parallel()
	w := newWiredLab(t)
	w.must(w.lab.Apply(t.Context(), deployment("sallyport-system", "app")))
	w.wire(nil)
	for _, tt := range []struct {
		name          string
		breaks, mends func() []lab.Result
	}{
		{"a kind is gone", func() []lab.Result {
			return []lab.Result{w.kubectl("bob", "delete", "crd", "denypolicies.sallyport.io")}
		}, func() []lab.Result {
			return []lab.Result{w.kubectl("bob", "create", "-f", filepath.Join(repository(t), "config", "crd", "sallyport.io_denypolicies.yaml"))}
		}},
		{"a right is gone", func() []lab.Result {
			return []lab.Result{w.kubectl("bob", "delete", "clusterrole", "sallyport")}
		}, func() []lab.Result {
			return []lab.Result{w.feed("bob", lab.SallyportRole(), "apply", "--server-side", "--force-conflicts")}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range tt.breaks() {
				want(t, r, true)
			}
			// Sallyport is started again and finds that it cannot read what it needs.
			want(t, w.feed("bob", strings.Replace(deployment("sallyport-system", "app"), "metadata: {name: app,", "metadata: {labels: {a: "+strings.ReplaceAll(tt.name, " ", "-")+"}, name: app,", 1), "apply"), true)
			for _, r := range tt.mends() {
				want(t, r, true)
			}
			eventually(t, func() string {
				return missing(w.feed("bob", "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: risk}\nspec: {podSecurityRules: {blockFactors: [hostPID]}}\n", "apply"))
			})
			eventually(t, func() string {
				return missing(w.kubectl("bob", "wait", "denypolicy", "risk", "--for=condition=Ready", "--timeout=5s"))
			})
		})
	}
}

// missing is what kubectl said if it failed.
func missing(r lab.Result) string {
	if r.OK() {
		return ""
	}
	return r.String()
}
