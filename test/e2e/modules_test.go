package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
	"github.com/sallyport-io/sallyport/test/lab"
)

// buildModule builds a module from a directory of the repository, and writes
// metadata into it where there is some. It returns the address of the module.
func buildModule(t *testing.T, dir, metadata string, flags ...string) string {
	t.Helper()
	to := t.TempDir()
	built, file := filepath.Join(to, "built.wasm"), filepath.Join(to, "policy.wasm")
	build := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-trimpath", "-o", built}, flags...), ".")...)
	build.Dir = filepath.Join(repository(t), dir)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s does not build: %v\n%s", dir, err, out)
	}
	if metadata == "" {
		return "file://" + built
	}
	annotate := exec.CommandContext(t.Context(), binary, "policy", "annotate", built, "-m", filepath.Join(build.Dir, metadata), "-o", file)
	if out, err := annotate.CombinedOutput(); err != nil {
		t.Fatalf("annotate: %v\n%s", err, out)
	}
	return "file://" + file
}

// judgesModules is how the policies of the test are judged: Ingresses, ConfigMaps
// and Pods come to both webhooks.
var judgesModules = map[string]string{"networking.k8s.io": "ingresses", "": "configmaps"}

// TestModules has modules judge: one reads the other Ingresses of the cluster, one
// asks for Secrets that it was not granted, and one changes objects.
func TestModules(t *testing.T) {
	role, err := os.ReadFile(filepath.Join(repository(t), "config", "rbac", "features", "context.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.Apply(t.Context(), "apiVersion: v1\nkind: Namespace\nmetadata: {name: mod-a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: mod-b}\n---\n"+string(role)+"---\n"+ingressRights); err != nil {
		t.Fatal(err)
	}
	hosts := buildModule(t, "examples/wasm/unique-host", "metadata.yaml")
	many := "file://" + wasmtest.File(t, wasmtest.WaPC(t))
	audit := filepath.Join(t.TempDir(), "audit.log")
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "modules", Args: []string{"--watch-policies", "--audit-log", audit, "--module-cache", t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unwire(t, shared.UnwireAdmission)
		unwire(t, func(ctx context.Context) error {
			shared.Kubectl(ctx, root, "delete", "clusteradmissionpolicies", "--all")
			shared.Kubectl(ctx, root, "delete", "admissionpolicies", "-n", "mod-a", "--all")
			return nil
		})
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.Log())
		}
	})
	if err := shared.WireAdmission(t.Context(), s, func(config *admissionregistrationv1.ValidatingWebhookConfiguration) {
		for group, resource := range judgesModules {
			config.Webhooks[0].Rules = append(config.Webhooks[0].Rules, admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}},
			})
		}
	}); err != nil {
		t.Fatal(err)
	}
	t.Run("another Ingress has the host", func(t *testing.T) { uniqueHostModule(t, &workflowLab{t, s}, hosts) })
	t.Run("one watch, however many policies", func(t *testing.T) {
		const grant = "  contextAware: [{group: networking.k8s.io, version: v1, resource: ingresses}]\n"
		w := &workflowLab{t, s}
		want(t, shared.Kubectl(t.Context(), root, "delete", "clusteradmissionpolicy", "--all"), true)
		before := watchesOf(t, "ingresses")
		eventually(t, func() string {
			// That of the policies that are gone ends first.
			if _, metrics, err := s.Get(t.Context(), "/metrics"); err != nil || !strings.Contains(metrics, "sallyport_context_watches 0") {
				return metrics
			}
			before = watchesOf(t, "ingresses")
			return ""
		})
		w.apply(root, moduleOf("ClusterAdmissionPolicy", "module-one", "", hosts, grant, "networking.k8s.io", "ingresses"))
		awaitWatches(t, "ingresses", before+1)
		for _, name := range []string{"module-two", "module-three"} {
			w.apply(root, moduleOf("ClusterAdmissionPolicy", name, "", hosts, grant, "networking.k8s.io", "ingresses"))
			w.await(root, "True InForce", "get", "clusteradmissionpolicy", name, "-o", readyOf)
		}
		awaitWatches(t, "ingresses", before+1)
		want(t, shared.Kubectl(t.Context(), root, "delete", "clusteradmissionpolicy", "module-one", "module-two"), true)
		awaitWatches(t, "ingresses", before+1)
		want(t, shared.Kubectl(t.Context(), root, "delete", "clusteradmissionpolicy", "module-three"), true)
		awaitWatches(t, "ingresses", before)
	})
	t.Run("Secrets without a grant", func(t *testing.T) { nosyModule(t, &workflowLab{t, s}, many, audit) })
	t.Run("a policy of a namespace", func(t *testing.T) {
		w := &workflowLab{t, s}
		want(t, w.do(root, moduleOf("AdmissionPolicy", "hosts", "mod-a", hosts, "", "networking.k8s.io", "ingresses"), "create"), false, "spec.module", "is a file of the server")
		want(t, w.do(root, moduleOf("AdmissionPolicy", "hosts", "mod-a", "https://modules.example/a.wasm", "  contextAware: [{version: v1, resource: secrets}]\n", "", "configmaps"), "create"), false, "contextAware")
	})
	t.Run("a policy that changes objects", func(t *testing.T) { changingModule(t, &workflowLab{t, s}, many) })
}

const readyOf = `jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].reason}`

// moduleOf is a policy with a module, about one resource; more are further lines of
// its spec.
func moduleOf(kind, name, namespace, module, more, group, resource string) string {
	metadata := "{name: " + name + "}"
	if namespace != "" {
		metadata = "{name: " + name + ", namespace: " + namespace + "}"
	}
	return `
apiVersion: sallyport.io/v1alpha1
kind: ` + kind + `
metadata: ` + metadata + `
spec:
  module: ` + module + `
  rules: [{apiGroups: ["` + group + `"], apiVersions: [v1], resources: [` + resource + `], operations: [CREATE, UPDATE]}]
` + more
}

func uniqueHostModule(t *testing.T, w *workflowLab, module string) {
	const kind, name = "clusteradmissionpolicy", "module-hosts"
	granted := []string{"get", kind, name, "-o", `jsonpath={.status.conditions[?(@.type=="ContextGranted")].status} {.status.conditions[?(@.type=="ContextGranted")].message}`}
	w.apply(root, moduleOf("ClusterAdmissionPolicy", name, "", module, "", "networking.k8s.io", "ingresses"))
	w.await(root, "True InForce", "get", kind, name, "-o", readyOf)
	w.await(root, "False what the module declares to read", granted...)
	want(t, w.do(root, ingress("mod-a", "web", "mod.example"), "create"), false, "may not list ingresses.networking.k8s.io")

	w.apply(root, moduleOf("ClusterAdmissionPolicy", name, "", module, "  contextAware: [{group: networking.k8s.io, version: v1, resource: ingresses, fields: ['spec.rules[*].host']}]\n", "networking.k8s.io", "ingresses"))
	w.await(root, "True the policy was granted all", granted...)
	eventually(t, func() string {
		if r := w.do(root, ingress("mod-a", "web", "mod.example"), "apply"); !r.OK() {
			return r.String()
		}
		return ""
	})
	eventually(t, func() string {
		r := w.do(root, ingress("mod-b", "web", "mod.example"), "create", "--dry-run=server")
		if r.OK() || !strings.Contains(r.Stderr, "the host mod.example belongs to the Ingress mod-a/web") {
			return "the host was taken twice: " + r.String()
		}
		return ""
	})
	want(t, w.do(root, ingress("mod-b", "web", "other.example"), "create", "--dry-run=server"), true)
	want(t, shared.Kubectl(t.Context(), root, "annotate", "ingress", "-n", "mod-a", "web", "note=own-host"), true)
	want(t, shared.Kubectl(t.Context(), root, "get", "cap"), true, "module-hosts")
}

func nosyModule(t *testing.T, w *workflowLab, module, audit string) {
	const kind, name = "clusteradmissionpolicy", "module-nosy"
	w.apply(root, moduleOf("ClusterAdmissionPolicy", name, "", module, "  settings: {namespace: token, kind: Secret}\n", "", "configmaps"))
	w.await(root, "True InForce", "get", kind, name, "-o", readyOf)
	want(t, shared.Kubectl(t.Context(), root, "create", "configmap", "-n", "mod-a", "strict"), false, "may not get secrets", "no resource was granted to it")
	w.await(root, "True NotGranted", "get", kind, name, "-o", `jsonpath={.status.conditions[?(@.type=="ContextDenied")].status} {.status.conditions[?(@.type=="ContextDenied")].reason}`)
	w.await(root, "may not get secrets", "get", kind, name, "-o", `jsonpath={.status.conditions[?(@.type=="ContextDenied")].message}`)
	w.await(root, "may not get secrets", "get", "events", "-n", "default", "--field-selector", "involvedObject.name="+name+",reason=ContextDenied", "-o", "jsonpath={.items[*].message}")
	w.await(root, "ContextDenied", "describe", kind, name)
	if log := w.s.Log(); !strings.Contains(log, "ClusterAdmissionPolicy/"+name) || !strings.Contains(log, "a policy asked for what it was not granted") {
		t.Errorf("the log says nothing: %s", log)
	}
	status, metrics, err := w.s.Get(t.Context(), "/metrics")
	if err != nil || status != 200 || !strings.Contains(metrics, `resource="secrets"`) || !strings.Contains(metrics, "sallyport_module_evaluation_seconds_count") {
		t.Errorf("metrics %d %v:\n%s", status, err, metrics)
	}
	text, err := os.ReadFile(audit)
	if err != nil || !strings.Contains(string(text), `"denied":[{"resource":"secrets"`) {
		t.Errorf("the decision does not say what was refused (%v)", err)
	}
	want(t, shared.Kubectl(t.Context(), root, "delete", kind, name), true)
	eventually(t, func() string {
		if r := shared.Kubectl(t.Context(), root, "create", "configmap", "-n", "mod-a", "strict", "--dry-run=server"); !r.OK() {
			return r.String()
		}
		return ""
	})
}

func changingModule(t *testing.T, w *workflowLab, module string) {
	const kind, name = "clusteradmissionpolicy", "module-label"
	w.apply(root, moduleOf("ClusterAdmissionPolicy", name, "", module, "  mutating: true\n  settings: {label: team}\n", "", "configmaps"))
	w.await(root, "True InForce", "get", kind, name, "-o", readyOf)
	// Without the mutating webhook nobody would change anything: that is refused.
	want(t, shared.Kubectl(t.Context(), root, "create", "configmap", "-n", "mod-a", "changed"), false, "not as the policy would have it", "metadata.labels")
	patch := `[{"op": "add", "path": "/webhooks/1/rules/-", "value": {"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}}]`
	want(t, shared.Kubectl(t.Context(), root, "patch", "mutatingwebhookconfiguration", "sallyport", "--type=json", "-p", patch), true)
	eventually(t, func() string {
		if r := shared.Kubectl(t.Context(), root, "create", "configmap", "-n", "mod-a", "changed"); !r.OK() {
			return r.String()
		}
		return ""
	})
	want(t, shared.Kubectl(t.Context(), root, "get", "configmap", "-n", "mod-a", "changed", "-o", "jsonpath={.metadata.labels}"), true, `{"team":"set"}`)
	want(t, shared.Kubectl(t.Context(), root, "annotate", "configmap", "-n", "mod-a", "changed", "a=b"), true)
}
