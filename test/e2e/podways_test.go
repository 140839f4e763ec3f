package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/test/lab"
)

const cpuLimit = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: cpu-limit}
spec:
  rules:
  - name: cpu
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: no more than 4 CPU
      pattern: {spec: {containers: [{"=(resources)": {"=(limits)": {"=(cpu)": "<=4"}}}]}}
  - name: team
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: the team is not blank
      pattern: {metadata: {"=(labels)": {"=(team)": "?*"}}}
`

// TestWaysToChangePods changes a pod by each of its subresources.
func TestWaysToChangePods(t *testing.T) {
	guard(t, admissionDoor, cpuLimit)
	patch := func(subresource, body string) lab.Result {
		return shared.Kubectl(t.Context(), root, "patch", "pod", "-n", "shop", "sized", "--subresource", subresource, "--type", "strategic", "-p", body)
	}
	// It is not on a node yet: nodes of the lab do not resize pods.
	if err := shared.Apply(t.Context(), `{apiVersion: v1, kind: Pod, metadata: {name: sized, namespace: shop, labels: {team: blue}}, spec: {schedulingGates: [{name: example.com/hold}], containers: [{name: app, image: "registry.example.com/web:1", resources: {requests: {cpu: "1"}, limits: {cpu: "1"}}}]}}`); err != nil {
		t.Fatal(err)
	}
	deleteAfter(t, "-n", "shop", "pod/sized", "--wait=false")
	const sized = `{"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "CPU"}, "limits": {"cpu": "CPU"}}}]}}`
	want(t, patch("resize", strings.ReplaceAll(sized, "CPU", "16")), false, "no more than 4 CPU", "spec.containers[0].resources.limits.cpu")
	want(t, patch("resize", strings.ReplaceAll(sized, "CPU", "2")), true)
	want(t, patch("status", `{"metadata": {"labels": {"team": ""}}}`), false, "the team is not blank")
	want(t, patch("status", `{"metadata": {"labels": {"team": "red"}}}`), true)
	want(t, shared.Kubectl(t.Context(), root, "label", "pod", "-n", "shop", "sized", "--overwrite", "team="), false, "the team is not blank")
}

const noTar = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: no-tar}
spec:
  rules:
  - name: no-cp
    match: {any: [{resources: {kinds: [Pod/exec]}}]}
    validate:
      message: no kubectl cp
      cel:
        expressions:
        - expression: "!(has(object.command) && object.command.size() > 0 && object.command[0] == 'tar')"
  - name: no-secrets
    match: {any: [{resources: {kinds: [Pod/exec]}}]}
    validate:
      message: no secrets on the command line
      pattern: {command: ["!password=*"]}
`

// TestExecByItsCommand has rules go by what is run, by each protocol, and shows it
// in no record.
func TestExecByItsCommand(t *testing.T) {
	dir := t.TempDir()
	audit, policies := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "policies")
	if err := os.Mkdir(policies, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(policies, "p.yaml"), []byte(noTar), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "no-tar", Args: []string{"--from", policies, "--audit-log", audit}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := shared.WireAccess(t.Context(), s, wiring.Authorizer{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unwire(t, shared.UnwireAccess) })
	if err := shared.WireAdmission(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unwire(t, shared.UnwireAdmission) })
	for _, streaming := range []struct {
		name string
		env  []string
	}{{"WebSocket", nil}, {"SPDY", lab.SPDY}} {
		t.Run(streaming.name, func(t *testing.T) {
			in := func(command ...string) lab.Result {
				return shared.Run(t.Context(), lab.Kubectl{User: alice, Env: streaming.env, Args: append([]string{"exec", "-n", "shop", "web", "--"}, command...)})
			}
			want(t, in("tar", "cf", "-", "/etc"), false, "no kubectl cp")
			want(t, in("echo", "inside"), true, "inside")
			want(t, in("echo", "password=hunter2"), false, "no secrets on the command line")
		})
	}
	want(t, shared.Kubectl(t.Context(), alice, "cp", "-n", "shop", "web:etc/hosts", filepath.Join(t.TempDir(), "hosts")), false, "no kubectl cp")
	events, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(events), "no-secrets") || strings.Contains(string(events), "hunter2") {
		t.Errorf("the audit log:\n%s", events)
	}
}

// TestOpenWaysAreSaid warns who writes a policy of what it leaves open, and says so
// in its status.
func TestOpenWaysAreSaid(t *testing.T) {
	atFrontDoor(t, "gaps")
	deleteAfter(t, "denypolicy/risk", "denypolicy/by-create", "denypolicy/by-pattern", "clusterpolicy/no-tar")
	want(t, apply(t, root, riskPolicy), true, "Warning:", "ephemeralcontainers, proxy, nodes/proxy lead into the same pods")
	want(t, apply(t, root, `{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: by-create}, spec: {rules: [{verbs: [create], apiGroups: [""], resources: [pods/exec]}]}}`), true, "Warning:", "pods/exec is reached by get as well")
	byPattern := `{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: by-pattern}, spec: {rules: [{verbs: [create], apiGroups: [""], resources: [pods/*]}, {verbs: [get], apiGroups: [""], resources: [pods/*], namespaces: {patterns: [shop]}}]}}`
	want(t, apply(t, root, byPattern), true, "Warning:", "pods/exec, pods/attach, pods/portforward are reached by get as well")
	idle := strings.Replace(noTar, "kinds: [Pod/exec]", "kinds: [Pod/exec], operations: [CREATE]", 1)
	want(t, apply(t, root, idle), true, "Warning:", "matches no request with operations [CREATE]")
	want(t, apply(t, root, noTar), true, "Warning:", "is about Pod/exec, which rules judge at the front door only")
	want(t, shared.Kubectl(t.Context(), root, "wait", "denypolicy/risk", "denypolicy/by-create", "clusterpolicy/no-tar", "--for=condition=Gaps", "--timeout="+waitLimit.Truncate(time.Second).String()), true)
	want(t, shared.Kubectl(t.Context(), root, "wait", "denypolicy/risk", "--for=condition=Ready", "--timeout=30s"), true)
	whole := strings.Replace(riskPolicy, "riskFactors:", "appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers, proxy, nodes/proxy]}\n    riskFactors:", 1)
	if r := apply(t, root, whole); !r.OK() || strings.Contains(r.Stderr, "lead into") {
		t.Errorf("every way is guarded: %s", r)
	}
	eventually(t, func() string {
		r := shared.Kubectl(t.Context(), root, "get", "denypolicy/risk", "-o", "jsonpath={.status.conditions[*].type}")
		if !r.OK() || strings.Contains(r.Stdout, v1alpha1.ConditionGaps) || !strings.Contains(r.Stdout, v1alpha1.ConditionReady) {
			return "the conditions are " + r.String()
		}
		return ""
	})
}
