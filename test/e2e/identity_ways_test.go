package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/sallyport-io/sallyport/test/lab"
)

// TestIdentityWaysAround are the ways around a claim that the field knows, taken
// by somebody who may do everything in the namespace and use no identity.
func TestIdentityWaysAround(t *testing.T) {
	l := newAccountLab(t)
	cron := strings.Replace(workloadOf("CronJob").of("nightly", kerberos), "'* * * * *'", "'0 0 1 1 *'", 1)
	l.runningPods(podOf("victim", kerberos)+gatedPod("gated", noClaim)+gatedPod("claimed", kerberos)+cron+stopped(workloadOf("ReplicaSet"), "web", kerberos), "victim")

	l.run("exec with get, by WebSocket", func(l *identityLab) { l.refused(l.exec(employee, "victim"), kerberosKey) })
	l.run("exec with create, by SPDY", func(l *identityLab) { l.refused(l.exec(employee, "victim", lab.SPDY...), kerberosKey) })
	l.run("an ephemeral container", func(l *identityLab) {
		l.refused(l.do(employee, "debug", "victim", "--image=busybox", "--", "true"), kerberosKey)
		patch := `{"spec":{"ephemeralContainers":[{"name":"in","image":"busybox","targetContainerName":"app"}]}}`
		l.refused(l.do(employee, "patch", "pod", "victim", "--subresource=ephemeralcontainers", "-p", patch), kerberosKey)
	})
	l.run("a copy for debugging", func(l *identityLab) {
		copied := func(pod, name string, more ...string) lab.Result {
			return l.do(employee, append([]string{"debug", pod, "--copy-to=" + name, "--image=busybox", "--container=in"}, append(more, "--", "true")...)...)
		}
		l.refused(copied("victim", "kept", "--keep-annotations"), kerberosKey)
		l.refused(copied("app", "account"), roleKey, roleValue)
		l.allowed(copied("victim", "stripped"))
		if claim := l.get("pod/stripped", "{.metadata.annotations.kerberos}"); claim != "" {
			l.Errorf("the copy claims %s", claim)
		}
	})
	l.run("another image", func(l *identityLab) {
		l.refused(l.do(employee, "set", "image", "pod/victim", "app=evil:1"), kerberosKey)
		l.refused(l.do(employee, "patch", "pod", "victim", "-p", `{"spec":{"containers":[{"name":"app","image":"evil:1"}]}}`), kerberosKey)
	})
	l.run("strip the claim, then exec", func(l *identityLab) {
		for _, args := range [][]string{
			{"annotate", "pod", "victim", "kerberos-"},
			{"annotate", "--overwrite", "pod", "victim", "kerberos="},
			{"patch", "pod", "victim", "--type=json", "-p", `[{"op":"remove","path":"/metadata/annotations"}]`},
			{"patch", "pod", "victim", "--type=merge", "-p", `{"metadata":{"annotations":null}}`},
			{"patch", "pod", "victim", "--subresource=status", "--type=merge", "-p", `{"metadata":{"annotations":{"kerberos":null}}}`},
		} {
			l.refused(l.do(employee, args...), kerberosKey)
		}
		// These two change nothing, or are not let change anything.
		l.do(employee, "patch", "pod", "victim", "--subresource=resize", "--type=merge", "-p", `{"metadata":{"annotations":{"kerberos":null}}}`)
		l.do(employee, "patch", "pod", "victim", "--subresource=ephemeralcontainers", "--type=merge", "-p", `{"metadata":{"annotations":{"kerberos":null}}}`)
		if got := l.get("pod/victim", "{.metadata.annotations.kerberos}"); got != kerberosValue {
			l.Errorf("the claim is %q now", got)
		}
		l.refused(l.exec(employee, "victim"), kerberosKey)
	})
	// A gated pod is bound by nobody, so that a Binding that was let through fails
	// for that, and names no identity.
	l.run("a Binding", func(l *identityLab) {
		bind := func(user, pod, path, annotations string) lab.Result {
			binding := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "%s", "annotations": {%s}}, "target": {"kind": "Node", "name": "%s"}}`, pod, annotations, lab.NodeName)
			return l.feed(user, binding, "create", "--raw", "/api/v1/namespaces/"+l.namespace+"/"+strings.ReplaceAll(path, "POD", pod))
		}
		for _, path := range []string{"pods/POD/binding", "bindings"} {
			for _, user := range []string{employee, holder} {
				l.refused(bind(user, "gated", path, `"kerberos": "legacy-frontend-app"`), kerberosKey)
				l.refused(bind(user, "claimed", path, `"kerberos": "other"`), kerberosKey)
			}
			for pod, annotations := range map[string]string{"gated": `"note": "a"`, "claimed": ""} {
				if r := bind(employee, pod, path, annotations); r.OK() || strings.Contains(r.String(), kerberosKey) || !strings.Contains(r.String(), "schedulingGates") {
					l.Errorf("a Binding with annotations {%s}: %s", annotations, r)
				}
			}
		}
		if claim := l.get("pod/gated", "{.metadata.annotations.kerberos}"); claim != "" {
			l.Errorf("the pod claims %s now", claim)
		}
	})
	l.run("a forged owner", func(l *identityLab) {
		web := owner{"apps/v1", "ReplicaSet", "web", l.get("rs/web", "{.metadata.uid}"), true}
		l.refused(l.feed(employee, ownedPod("mine", kerberos, web), "create"), kerberosKey)
		l.refused(l.do(employee, "patch", "rs", "web", "--type=merge", "-p", workloadOf("ReplicaSet").imagePatch("evil:1")), kerberosKey)
	})
	l.run("a ControllerRevision", func(l *identityLab) {
		l.refused(l.feed(employee, "{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: old}, revision: 1, data: {spec: {template: {metadata: {annotations: "+kerberos+"}, spec: {containers: [{name: app, image: evil}]}}}}}", "create"), kerberosKey)
	})
	l.run("a CronJob's nested template", func(l *identityLab) {
		job := workloadOf("CronJob")
		l.refused(l.feed(employee, job.of("mine", kerberos), "create"), kerberosKey)
		l.refused(l.do(employee, "patch", "cronjob", "nightly", "--type=merge", "-p", job.imagePatch("evil:1")), kerberosKey)
		l.refused(l.do(employee, "create", "job", "now", "--from=cronjob/nightly"), kerberosKey)
	})
	l.run("a token", func(l *identityLab) {
		l.refused(l.do(employee, "create", "token", "paid"), roleKey)
		l.refused(l.feed(employee, tokenSecret("mine", "paid"), "create"), roleKey)
	})
	l.run("the annotation of an account", func(l *identityLab) {
		l.refused(l.do(employee, "annotate", "serviceaccount", "default", "cloud.example.com/role=payments"), roleKey)
	})
	l.run("rights in the namespace", func(l *identityLab) {
		l.allowed(l.feed(employee, namespaceGrant, "apply"))
		l.await("yes", employee, "auth", "can-i", "use", "validatedannotations.authorization.k8s.io/kerberos", "--subresource="+kerberosValue)
		if l.mayUse(employee, kerberosKey, kerberosValue) {
			l.Fatal("a RoleBinding lets somebody use an identity of the whole cluster")
		}
		l.refused(l.feed(employee, podOf("admin", kerberos), "create"), kerberosKey)
		l.refused(l.exec(employee, "victim"), kerberosKey)
		l.refused(l.exec(employee, "app"), roleKey)
		l.refused(l.do(employee, "delete", "identitysource", "kerberos"), "forbidden")
	})
}

// namespaceGrant is all that somebody can grant herself in a namespace.
const namespaceGrant = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: use}
rules:
- {apiGroups: [authorization.k8s.io], resources: [validatedannotations/legacy-frontend-app], resourceNames: [kerberos], verbs: [use]}
- {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: use}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: use}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: employee-10}]
`

func gatedPod(name, annotations string) string {
	return podOf(name, annotations, "schedulingGates: [{name: example.com/wait}]")
}

// TestIdentityMutatedPods has a webhook of somebody else's write a claim into the
// pods of a template that has none.
func TestIdentityMutatedPods(t *testing.T) {
	l := newIdentityLab(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "an AdmissionReview is wanted", http.StatusBadRequest)
			return
		}
		kind := admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: true, PatchType: &kind,
			Patch: []byte(`[{"op":"add","path":"/metadata/annotations","value":{"kerberos":"legacy-frontend-app"}}]`),
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	l.given(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: a-writer-of-claims}
webhooks:
- name: claims.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig: {url: "%s", caBundle: %s}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
`, server.URL, base64.StdEncoding.EncodeToString(ca)))
	t.Cleanup(func() {
		unwire(t, func(ctx context.Context) error {
			shared.Kubectl(ctx, root, "delete", "mutatingwebhookconfiguration", "a-writer-of-claims")
			return nil
		})
	})
	eventually(t, func() string {
		r := l.feed(holder, podOf("probe", noClaim), "create", "--dry-run=server", "-o", "jsonpath={.metadata.annotations.kerberos}")
		if !r.OK() || r.Stdout != kerberosValue {
			return "the other webhook is not in force: " + r.String()
		}
		return ""
	})
	l.refused(l.feed(employee, podOf("mine", noClaim), "create"), kerberosKey, kerberosValue)
	for _, user := range []string{employee, holder} {
		l.allowed(l.feed(user, workloadOf("ReplicaSet").of("web-of-"+user, noClaim), "create"))
		l.await(kerberosKey, root, "get", "rs", "web-of-"+user, "-o", `jsonpath={.status.conditions[?(@.type=="ReplicaFailure")].message}`)
	}
	if pods := l.do(root, "get", "pods", "-o", "name"); pods.Stdout != "" {
		l.Errorf("pods with a claim that nobody judged: %s", pods)
	}
	// Where the template has the claim, the webhook adds nothing.
	l.allowed(l.feed(holder, workloadOf("ReplicaSet").of("covered", kerberos), "create"))
	l.awaitPods("covered", kerberosValue)
}
