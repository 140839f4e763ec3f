package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOptions starts a lab with everything that the shared one has not.
func TestOptions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	l, err := Start(ctx, Options{
		Controllers: OwnAccounts, Kubelet: true, SafeCommands: true,
		AdmissionPlugins: []string{"AlwaysPullImages"},
		PodSecurity:      podSecurity,
		FeatureGates:     map[string]bool{"AuthorizePodWebsocketUpgradeCreatePermission": false},
		APIServerFlags:   map[string][]string{"event-ttl": {"2h0m0s"}},
		CRDs:             []string{filepath.Join(root, "config", "crd")},
		Audit:            true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if err := l.CreateNamespace(ctx, "shop", map[string]string{"team": "shop"}); err != nil {
		t.Fatal(err)
	}
	admin := func(args ...string) Result {
		return l.Kubectl(ctx, Admin, append([]string{"--namespace=shop"}, args...)...)
	}

	admin("run", "bad", "--image=app", "--privileged").want(t, 1, `violates PodSecurity "baseline`)
	admin("get", "denypolicies").want(t, 0, "No resources found")
	admin("create", "deployment", "web", "--image=registry.example.com/web:1", "--replicas=2").want(t, 0, "created")
	admin("rollout", "status", "deployment/web", "--timeout=60s").want(t, 0, "successfully rolled out")
	admin("get", "pods", "--output=jsonpath={.items[0].spec.containers[0].imagePullPolicy}").want(t, 0, "Always")
	admin("exec", "deployment/web", "--", "ls", "/var/run/secrets").want(t, 1, "")

	admin("exec", "deployment/web", "--", "sh", "-c", "id").want(t, 126, "sh is not run here")
	admin("exec", "deployment/web", "--", "id").want(t, 0, "uid=0")
	admin("exec", "deployment/web", "--", "cat", "/etc/passwd").want(t, 1, "no such file")
	admin("exec", "deployment/web", "--", "cat", "../../../../../../../../etc/passwd").want(t, 1, "no such file")
	admin("exec", "deployment/web", "--", "tar", "cf", "-", "--to-command=id", "x").want(t, 1, "only cf")
	admin("exec", "deployment/web", "--", "false").want(t, 1, "exit code 1")

	copied := strings.Repeat("up and down\n", 1000)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "up"), []byte(copied), 0o600); err != nil {
		t.Fatal(err)
	}
	admin("run", "target", "--image=registry.example.com/target:1").want(t, 0, "created")
	if err := l.AwaitRunning(ctx, "shop", "target"); err != nil {
		t.Fatal(err)
	}
	admin("cp", filepath.Join(dir, "up"), "target:/data/below/it").want(t, 0, "")
	admin("exec", "target", "--", "ls", "/data/below").want(t, 0, "it")
	admin("cp", "target:/data/below", filepath.Join(dir, "down")).want(t, 0, "")
	back, err := os.ReadFile(filepath.Join(dir, "down", "it"))
	if err != nil || string(back) != copied {
		t.Errorf("%d bytes came back, %d were sent up: %v", len(back), len(copied), err)
	}

	events, err := os.ReadFile(l.AuditLog())
	if err != nil || !strings.Contains(string(events), "system:serviceaccount:kube-system:replicaset-controller") {
		t.Errorf("the audit log shows no controller with an account of its own (%v)", err)
	}
}

const podSecurity = `
apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: {enforce: baseline, enforce-version: latest}
`
