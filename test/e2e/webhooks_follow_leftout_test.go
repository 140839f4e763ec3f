package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/test/lab"
)

// leftOutPolicy is a policy that refuses nothing, about kinds.
func leftOutPolicy(kind, meta, kinds, more string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: " + kind + "\nmetadata: {" + meta + "}\nspec: {" + more + "rules: [{name: r, match: {any: [{resources: {kinds: [" + kinds + `]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}` + "\n"
}

const controllerPod = `
apiVersion: v1
kind: Pod
metadata:
  name: left-out
  namespace: NAMESPACE
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: 6c5f3c2e-0000-4000-8000-000000000000, controller: true}]
spec: {containers: [{name: app, image: registry.example.com/app:1}]}
`

// TestWebhooksFollowPoliciesAndLeaveOut what Sallyport is repaired by, what has to run
// before it, and what other namespaces hold.
func TestWebhooksFollowPoliciesAndLeaveOut(t *testing.T) {
	for _, name := range []string{"follow-ops", "follow-shop", "follow-registry", "sallyport-system"} {
		if err := shared.CreateNamespace(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
	}
	dir := repository(t)
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "leaving-out"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := shared.WireAdmission(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unwire(t, shared.UnwireAdmission) })
	file := filepath.Join(dir, "config", "wiring", "ruleswebhookconfigurations.yaml")
	deleteAfter(t, "-f", file)
	want(t, shared.Kubectl(t.Context(), root, "apply", "-f", file), true)
	role := filepath.Join(dir, "config", "rbac", "clusterrole.yaml")

	// restarted has Sallyport away, or there without knowing its policies, while do
	// runs, and mends it.
	restarted := func(t *testing.T, do func()) {
		t.Helper()
		want(t, apply(t, root, without(t, "denypolicies")), true)
		s.Kill()
		started := make(chan error, 1)
		go func() { started <- s.Start(t.Context()) }()
		t.Cleanup(func() {
			if err := shared.Apply(context.WithoutCancel(t.Context()), lab.SallyportRole()); err != nil {
				t.Error(err)
			}
		})
		eventually(t, func() string {
			if r := shared.Kubectl(t.Context(), bob, "create", "deployment", "x", "-n", "follow-shop", "--image=x", "--dry-run=server"); !strings.Contains(r.String(), "denypolicies.sallyport.io were not read") {
				return "it is not refused as not known: " + r.String()
			}
			return ""
		})
		do()
		want(t, shared.Kubectl(t.Context(), bob, "apply", "-f", role), true)
		if err := <-started; err != nil {
			t.Fatal(err)
		}
	}
	secret := func(namespace string) lab.Result {
		return shared.Kubectl(t.Context(), bob, "create", "secret", "generic", "left-out", "-n", namespace, "--dry-run=server")
	}

	t.Run("whoever holds cluster-admin gives a right back", func(t *testing.T) {
		deleteAfter(t, "clusterpolicy", "leave-all", "leave-roles")
		want(t, apply(t, root, leftOutPolicy("ClusterPolicy", "name: leave-all", `"*"`, "")+"---\n"+leftOutPolicy("ClusterPolicy", "name: leave-roles", "ClusterRole, ClusterRoleBinding, CustomResourceDefinition, Namespace, Node, Lease", "")), true)
		enforced(t, "clusterpolicy/leave-all", "True", "")
		enforced(t, "clusterpolicy/leave-roles", "True", "")
		refusedAlways := func() {
			want(t, secret("follow-shop"), false, "not-known")
			want(t, shared.Kubectl(t.Context(), bob, "create", "clusterrole", "another", "--verb=get", "--resource=pods", "--dry-run=server"), false, "not-known")
			want(t, shared.Kubectl(t.Context(), bob, "create", "clusterrolebinding", "sallyport-scan", "--clusterrole=sallyport-scan", "--user=eve", "--dry-run=server"), false, "not-known")
		}
		restarted(t, func() {
			refusedAlways()
			live := shared.Kubectl(t.Context(), bob, "get", "clusterrole", "sallyport", "-o", "json")
			replaced := filepath.Join(t.TempDir(), "role.json")
			if err := os.WriteFile(replaced, []byte(live.Stdout), 0o600); err != nil {
				t.Fatal(err)
			}
			want(t, shared.Kubectl(t.Context(), bob, "replace", "-f", replaced), true)
			want(t, shared.Kubectl(t.Context(), bob, "apply", "-f", filepath.Join(dir, "config", "crd", "sallyport.io_denypolicies.yaml"), "--server-side", "--force-conflicts"), true)
			want(t, shared.Kubectl(t.Context(), bob, "apply", "--server-side", "--force-conflicts", "-f", filepath.Join(dir, "config", "rbac", "serviceaccount.yaml")), true)
			want(t, shared.Kubectl(t.Context(), bob, "apply", "--dry-run=server", "-f", filepath.Join(dir, "config", "rbac", "features", "scan.yaml")), true)
			want(t, shared.Kubectl(t.Context(), bob, "label", "namespace", "sallyport-system", "mended=yes", "--overwrite"), true)
			lease := "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: left-out, namespace: kube-node-lease}\n"
			want(t, fed(t, root, lease, "create", "--dry-run=server", "-f", "-", "--as=system:node:left-out", "--as-group=system:nodes"), true)
			want(t, fed(t, bob, lease, "create", "--dry-run=server", "-f", "-"), false, "not-known")
		})
	})

	t.Run("what a policy of a namespace is about is asked there only", func(t *testing.T) {
		deleteAfter(t, "policies.sallyport.io", "leave-mine", "-n", "follow-ops")
		deleteAfter(t, "policies.sallyport.io", "leave-wide", "-n", "follow-ops")
		want(t, apply(t, root, leftOutPolicy("Policy", "name: leave-mine, namespace: follow-ops", "Lease, RoleBinding, Role, ServiceAccount, Event, EndpointSlice, Secret, ClusterRole", "")+"---\n"+leftOutPolicy("Policy", "name: leave-wide, namespace: follow-ops", `"*"`, "")), true)
		enforced(t, "policies.sallyport.io/leave-mine", "True", "", "-n", "follow-ops")
		enforced(t, "policies.sallyport.io/leave-wide", "True", "", "-n", "follow-ops")
		restarted(t, func() {
			want(t, secret("follow-ops"), false, "not-known")
			want(t, secret("follow-shop"), true)
			want(t, secret("kube-system"), true)
			for _, args := range [][]string{
				{"create", "serviceaccount", "left-out", "-n", "kube-system"},
				{"create", "role", "left-out", "-n", "follow-shop", "--verb=get", "--resource=pods"},
				{"create", "clusterrole", "left-out", "--verb=get", "--resource=pods"},
			} {
				want(t, shared.Kubectl(t.Context(), bob, append(args, "--dry-run=server")...), true)
			}
		})
	})

	t.Run("what lets in while it cannot be judged is answered with an error", func(t *testing.T) {
		deleteAfter(t, "clusterpolicy", "leave-ignore", "leave-fail")
		want(t, apply(t, root, leftOutPolicy("ClusterPolicy", "name: leave-ignore", "ConfigMap", "failurePolicy: Ignore, ")+"---\n"+leftOutPolicy("ClusterPolicy", "name: leave-fail", "Secret", "")), true)
		enforced(t, "clusterpolicy/leave-ignore", "True", "")
		enforced(t, "clusterpolicy/leave-fail", "True", "")
		restarted(t, func() {
			want(t, secret("follow-shop"), false, "not-known")
			want(t, shared.Kubectl(t.Context(), bob, "create", "configmap", "left-out", "-n", "follow-shop", "--dry-run=server"), true)
		})
	})

	t.Run("labels and annotations that change with a subresource", func(t *testing.T) {
		deleteAfter(t, "clusterpolicy", "leave-annotated")
		deleteAfter(t, "csr", "follow-csr")
		want(t, apply(t, root, `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: leave-annotated}
spec:
  rules:
  - name: annotated
    match: {any: [{resources: {kinds: [Namespace, CertificateSigningRequest], names: ["follow-a*", follow-csr]}}]}
    validate: {message: an owner has to stand there, pattern: {metadata: {annotations: {owner: "?*"}}}}
`), true)
		enforced(t, "clusterpolicy/leave-annotated", "True", "")
		refusedSoon(t, "an owner has to stand there", "create", "namespace", "follow-a", "--dry-run=server")
		want(t, apply(t, root, "apiVersion: v1\nkind: Namespace\nmetadata: {name: follow-a, annotations: {owner: me}}\n"), true)
		deleteAfter(t, "namespace", "follow-a")
		awaitResult(t, func() lab.Result {
			return shared.Kubectl(t.Context(), root, "patch", "namespace", "follow-a", "--subresource=status", "--type=merge", "-p", `{"metadata":{"annotations":{"owner":null}}}`)
		}, false, "an owner has to stand there")
		want(t, fed(t, root, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"follow-a"},"spec":{"finalizers":["kubernetes"]}}`, "replace", "--raw", "/api/v1/namespaces/follow-a/finalize", "-f", "-"), false, "an owner has to stand there")
		csr, err := json.Marshal(map[string]any{"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": map[string]any{"name": "follow-csr", "annotations": map[string]string{"owner": "me"}},
			"spec": map[string]any{"signerName": "example.com/signer", "usages": []string{"client auth"}, "request": certificateRequest(t)}})
		if err != nil {
			t.Fatal(err)
		}
		want(t, apply(t, root, string(csr)), true)
		want(t, fed(t, root, strings.Replace(string(csr), `"annotations":{"owner":"me"},`, "", 1), "replace", "--raw", "/apis/certificates.k8s.io/v1/certificatesigningrequests/follow-csr/approval", "-f", "-"), false, "an owner has to stand there")
	})

	t.Run("what is never asked is said", func(t *testing.T) {
		deleteAfter(t, "clusterpolicy", "leave-never")
		want(t, apply(t, root, leftOutPolicy("ClusterPolicy", "name: leave-never", "SelfSubjectAccessReview, ValidatingAdmissionPolicyBinding", "")), true)
		enforced(t, "clusterpolicy/leave-never", "False", "asks no webhook about")
		enforced(t, "clusterpolicy/leave-never", "False", "selfsubjectaccessreviews.authorization.k8s.io")
	})

	t.Run("pods are left out as the shipped ones leave them out", func(t *testing.T) {
		deleteAfter(t, "clusterpolicy", "leave-pods")
		hooks := shared.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		live, err := hooks.Get(t.Context(), "sallyport", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range live.Webhooks {
			if n := live.Webhooks[i].NamespaceSelector; n != nil && len(n.MatchExpressions) == 1 {
				n.MatchExpressions[0].Values = append(n.MatchExpressions[0].Values, "follow-registry")
			}
		}
		if _, err := hooks.Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		narrow := []byte(`[{"op":"add","path":"/webhooks/0/objectSelector","value":{"matchLabels":{"guarded":"yes"}}}]`)
		if _, err := hooks.Patch(t.Context(), "sallyport", types.JSONPatchType, narrow, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		want(t, apply(t, root, leftOutPolicy("ClusterPolicy", "name: leave-pods", "Pod, Deployment", "")), true)
		awaitRules(t, `"pods"`)
		enforced(t, "clusterpolicy/leave-pods", "True", "follow-registry")
		pod := func(who, namespace string, more ...string) lab.Result {
			return fed(t, who, strings.Replace(controllerPod, "NAMESPACE", namespace, 1), append([]string{"create", "--dry-run=server", "-f", "-"}, more...)...)
		}
		const controller = "--as=system:serviceaccount:kube-system:replicaset-controller"
		s.Kill()
		awaitResult(t, func() lab.Result { return pod(bob, "follow-shop") }, false, "fail.rules.sallyport.io")
		want(t, pod(root, "follow-shop", controller), false, "fail.rules.sallyport.io")
		want(t, pod(bob, "kube-system"), false, "fail.rules.sallyport.io")
		want(t, pod(root, "kube-system", controller), true)
		want(t, pod(bob, "sallyport-system"), true)
		want(t, pod(bob, "follow-registry"), true)
		want(t, shared.Kubectl(t.Context(), bob, "create", "deployment", "left-out", "-n", "sallyport-system", "--image=x", "--dry-run=server"), true)
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// fed runs kubectl with a manifest on its input.
func fed(t *testing.T, user, manifest string, args ...string) lab.Result {
	t.Helper()
	return shared.Run(t.Context(), lab.Kubectl{User: user, Args: args, Stdin: strings.NewReader(manifest)})
}

// certificateRequest is one in PEM, in base64 as JSON has it.
func certificateRequest(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "follow"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
