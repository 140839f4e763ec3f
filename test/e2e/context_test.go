package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/sallyport-io/sallyport/test/lab"
)

// ingressRights let the lab's Sallyport read Ingresses, as an administrator grants
// it beside the policy.
const ingressRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: sallyport-reads-ingresses, labels: {sallyport.io/aggregate-to-context: "true"}}
rules: [{apiGroups: [networking.k8s.io], resources: [ingresses], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: sallyport-context-lab}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-context}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + lab.SallyportUser + `}]
`

// uniqueHosts refuses an Ingress whose host another one has.
const uniqueHosts = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: unique-hosts}
spec:
  contextAware:
  - {group: networking.k8s.io, version: v1, resource: ingresses, fields: [spec.rules.host]}
  rules:
  - name: one-host-one-ingress
    match: {any: [{resources: {kinds: [Ingress]}}]}
    validate:
      message: another Ingress has that host
      cel:
        variables:
        - {name: others, expression: "cluster.list('networking.k8s.io/v1', 'Ingress').filter(i, i.metadata.namespace != request.namespace || i.metadata.name != request.name)"}
        - {name: hosts, expression: "has(object.spec.rules) ? object.spec.rules.filter(r, has(r.host)).map(r, r.host) : []"}
        expressions:
        - expression: "!variables.others.exists(i, has(i.spec) && has(i.spec.rules) && i.spec.rules.exists(r, has(r.host) && r.host in variables.hosts))"
`

// nosy asks for Secrets without a grant, and passes over the error.
const nosy = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: nosy}
spec:
  contextAware:
  - {version: v1, resource: namespaces}
  rules:
  - name: looks
    match: {any: [{resources: {kinds: [ConfigMap], namespaces: [ctx-a]}}]}
    validate:
      cel:
        variables: [{name: kind, expression: "'Sec' + 'ret'"}]
        expressions: [{expression: "cluster.list('v1', variables.kind).size() == 0 || true"}]
  - name: insists
    match: {any: [{resources: {kinds: [ConfigMap], names: [strict]}}]}
    validate:
      cel:
        variables: [{name: kind, expression: "'Sec' + 'ret'"}]
        expressions: [{expression: "cluster.list('v1', variables.kind).size() == 0"}]
`

func ingress(namespace, name, host string) string {
	return `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: ` + name + `, namespace: ` + namespace + `}
spec:
  rules: [{host: ` + host + `, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
`
}

// TestContext has an expression read the cluster, and the administrator told when
// one asks for more than it was granted.
func TestContext(t *testing.T) {
	role, err := os.ReadFile(filepath.Join(repository(t), "config", "rbac", "features", "context.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.Apply(t.Context(), "apiVersion: v1\nkind: Namespace\nmetadata: {name: ctx-a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ctx-b}\n---\n"+string(role)); err != nil {
		t.Fatal(err)
	}
	audit := filepath.Join(t.TempDir(), "audit.log")
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "context", Args: []string{"--watch-policies", "--audit-log", audit}})
	if err != nil {
		t.Fatal(err)
	}
	w := &workflowLab{t, s}
	t.Cleanup(func() {
		unwire(t, shared.UnwireAdmission)
		unwire(t, func(ctx context.Context) error {
			shared.Kubectl(ctx, root, "delete", "clusterpolicies", "--all", "--ignore-not-found")
			return nil
		})
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.Log())
		}
	})
	// The front door is about pods; what else policies are about is added to it.
	if err := shared.WireAdmission(t.Context(), s, func(config *admissionregistrationv1.ValidatingWebhookConfiguration) {
		for group, resource := range map[string]string{"networking.k8s.io": "ingresses", "": "configmaps"} {
			config.Webhooks[0].Rules = append(config.Webhooks[0].Rules, admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}},
			})
		}
	}); err != nil {
		t.Fatal(err)
	}
	ready := []string{"get", "clusterpolicy", "unique-hosts", "-o", `jsonpath={.status.conditions[?(@.type=="ContextReady")].status} {.status.conditions[?(@.type=="ContextReady")].message}`}

	// The grant alone is not enough: the account has no right yet, and the status
	// says which.
	w.apply(root, uniqueHosts)
	w.await(root, "False ingresses.networking.k8s.io cannot be read", ready...)
	want(t, w.do(root, ingress("ctx-a", "web", "a.example"), "create"), false, "cannot be judged", "ClusterRole has to allow it")
	w.apply(root, ingressRights)
	w.await(root, "True everything that was granted can be read", ready...)

	w.apply(root, ingress("ctx-a", "web", "a.example"))
	eventually(t, func() string {
		r := w.do(root, ingress("ctx-b", "web", "a.example"), "create", "--dry-run=server")
		if r.OK() || !strings.Contains(r.Stderr, "another Ingress has that host") {
			return "the host was taken twice: " + r.String()
		}
		return ""
	})
	w.apply(root, ingress("ctx-b", "web", "b.example"))
	want(t, shared.Kubectl(t.Context(), root, "annotate", "ingress", "-n", "ctx-a", "web", "note=own-host"), true)

	// What was not granted is refused, and told in each place.
	w.apply(root, nosy)
	w.await(root, "True", "get", "clusterpolicy", "nosy", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	want(t, shared.Kubectl(t.Context(), root, "create", "configmap", "-n", "ctx-a", "lenient"), true)
	want(t, shared.Kubectl(t.Context(), root, "create", "configmap", "-n", "ctx-a", "strict"), false, "may not list secrets", "reported to the administrator")
	w.await(root, "True NotGranted", "get", "clusterpolicy", "nosy", "-o", `jsonpath={.status.conditions[?(@.type=="ContextDenied")].status} {.status.conditions[?(@.type=="ContextDenied")].reason}`)
	w.await(root, "may not list secrets", "get", "clusterpolicy", "nosy", "-o", `jsonpath={.status.conditions[?(@.type=="ContextDenied")].message}`)
	w.await(root, "may not list secrets", "get", "events", "-n", "default", "--field-selector", "involvedObject.name=nosy,reason=ContextDenied", "-o", "jsonpath={.items[*].message}")
	w.await(root, "ContextDenied", "describe", "clusterpolicy", "nosy")
	if log := s.Log(); !strings.Contains(log, "a policy asked for what it was not granted") || !strings.Contains(log, "ClusterPolicy/nosy") {
		t.Errorf("the log says nothing: %s", log)
	}
	status, metrics, err := s.Get(t.Context(), "/metrics")
	if err != nil || status != 200 || !strings.Contains(metrics, `sallyport_context_denied_total{policy="nosy",resource="secrets"} `) || !strings.Contains(metrics, "sallyport_context_watches 2") {
		t.Errorf("metrics %d %v:\n%s", status, err, metrics)
	}
	if !deniedInAudit(t, audit, "nosy", "looks") {
		t.Error("the decision does not say what was refused, as the rule passed over the error")
	}

	// Nothing is watched any more once no policy lists it.
	want(t, shared.Kubectl(t.Context(), root, "delete", "clusterpolicy", "nosy", "unique-hosts"), true)
	eventually(t, func() string {
		_, metrics, err := s.Get(t.Context(), "/metrics")
		if err != nil || !strings.Contains(metrics, "sallyport_context_watches 0") || !strings.Contains(metrics, "sallyport_context_bytes 0") {
			return "something is watched still: " + metrics
		}
		return ""
	})
}

// deniedInAudit reports whether the audit log has a result of the rule which passed
// and says what was refused.
func deniedInAudit(t *testing.T, file, policy, rule string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var event struct {
			Results []struct {
				Policy, Rule, Status string
				Context              struct{ Denied []struct{ Resource string } }
			}
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		for _, r := range event.Results {
			if r.Policy == policy && r.Rule == rule && r.Status == "pass" && len(r.Context.Denied) == 1 && r.Context.Denied[0].Resource == "secrets" {
				return true
			}
		}
	}
	return false
}
