package contract

import (
	"encoding/json"
	"strings"
	"testing"
)

// badPolicy is a file that must be refused.
type badPolicy struct {
	name string
	text string
	// names are what the message must name beside the file.
	names []string
}

// refuse loads the file beside a good policy that would deny the manifest, and
// expects exit status 2, the names in the message and no decision at all: a
// set of policies is never applied by half.
func (b badPolicy) refuse(t *testing.T) {
	t.Helper()
	dir := files(t, map[string]string{
		"p/a-good.yaml": podSecurityPolicy("good", "Enforce", "{level: baseline}"),
		"p/broken.yaml": b.text,
		"pod.yaml":      documents(t, newPod("shop", "web", hostPID)),
	})
	out := run(t, "check", "-p", dir+"/p", dir+"/pod.yaml", "-o", "json")
	if out.code != 2 {
		t.Errorf("exit status %d, want 2", out.code)
	}
	wantContains(t, out.all(), append([]string{"broken.yaml"}, b.names...)...)
	var j judgement
	if json.Unmarshal([]byte(out.stdout), &j) == nil && (len(j.Results) > 0 || j.Decision == "allow" || j.Decision == "deny") {
		t.Errorf("judged by a half of the policies: decision %q with %d results", j.Decision, len(j.Results))
	}
	for _, trace := range []string{"goroutine ", "runtime error", "panic:"} {
		if strings.Contains(out.all(), trace) {
			t.Errorf("%q in the output", trace)
		}
	}
	if t.Failed() {
		t.Logf("policy:\n%s\nstdout: %s\nstderr: %s", clip(b.text), clip(out.stdout), clip(out.stderr))
	}
}

func refuseAll(t *testing.T, tests []badPolicy) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.refuse(t)
		})
	}
}

// risky returns a DenyPolicy "wrong" with podSecurityRules.
func risky(podSecurityRules string) string { return denyPolicy("wrong", podSecurityRules) }

// spec returns a DenyPolicy "wrong" with a spec.
func spec(text string) string { return denyPolicySpec("wrong", text) }

// TestLoaderAcceptsTheGood guards the tables of the refused: what they vary is
// well-formed as it stands.
func TestLoaderAcceptsTheGood(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text string }{
		{"every field", spec(`precedence: 5
appliesTo: {clusters: ["prod-*"], tenants: [a], escalationRefs: [b], sessions: [c]}
rules: [{verbs: [delete], apiGroups: [""], resources: [namespaces], resourceNames: [x], namespaces: {patterns: [a]}}]
podSecurityRules:
  appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers, proxy, log, nodes/proxy]}
  scope: pod
  failMode: open
  riskFactors: {hostNetwork: 0, hostPID: 100, hostIPC: 1, privilegedContainer: 1, hostPathWritable: 1, hostPathReadOnly: 1, runAsRoot: 1,
    hostPort: 1, allowPrivilegeEscalation: 1, procMountUnmasked: 1, seccompUnconfined: 1, appArmorUnconfined: 1, unsafeSysctl: 1,
    windowsHostProcess: 1, shareProcessNamespace: 1, runtimeSocket: 1, sensitiveHostPath: 1, serviceAccountToken: 1,
    powerfulServiceAccount: 1, capabilities: {SYS_ADMIN: 1, cap_net_admin: 2}}
  thresholds: [{maxScore: 0, action: allow}, {maxScore: 1, action: warn, reason: "a {{.score}}"}, {maxScore: 2, action: requireApproval}, {maxScore: 300, action: deny, reason: "{{if gt .score 5}}much{{end}}"}]
  blockFactors: [hostNetwork, "capability:SYS_ADMIN", powerfulServiceAccount]
  exemptions: {podLabels: {a: b}, namespaces: {patterns: [a], selectorTerms: [{matchLabels: {a: b}}, {matchExpressions: [{key: a, operator: Exists}]}]}}`)},
		{"two kinds of one name", documents(t, risky("{blockFactors: [hostPID]}"), podSecurityPolicy("wrong", "Audit", "{level: baseline}"))},
		{"as JSON", `{"apiVersion": "sallyport.io/v1alpha1", "kind": "DenyPolicy", "metadata": {"name": "wrong"}, "spec": {"podSecurityRules": {"blockFactors": ["hostPID"]}}}`},
		{"in a List", "apiVersion: v1\nkind: List\nitems: [{apiVersion: sallyport.io/v1alpha1, kind: DenyPolicy, metadata: {name: wrong}, spec: {podSecurityRules: {blockFactors: [hostPID]}}}]\n"},
		{"empty documents between", "---\n---\n" + risky("{blockFactors: [hostPID]}") + "---\n# nothing here\n---\n"},
		{"with metadata as kubectl writes it", strings.Replace(risky("{blockFactors: [hostPID]}"), "name: wrong", "name: wrong\n  uid: abc\n  resourceVersion: \"5\"\n  generation: 2\n  labels: {a: b}\n  creationTimestamp: \"2026-01-01T00:00:00Z\"\n  managedFields: []", 1)},
		{"CRLF line ends", strings.ReplaceAll(risky("{blockFactors: [hostPID]}"), "\n", "\r\n")},
		{"a byte order mark", "\ufeff" + risky("{blockFactors: [hostPID]}")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{"policy.yaml": tt.text, "pod.yaml": documents(t, newPod("shop", "web"))})
			if out := run(t, "check", "-p", dir+"/policy.yaml", dir+"/pod.yaml"); out.code != 0 {
				t.Errorf("exit status %d, want 0\n%s\npolicy:\n%s", out.code, out.all(), tt.text)
			}
		})
	}
}

// TestLoaderEveryCommandRefuses says that no command works with a bad set.
func TestLoaderEveryCommandRefuses(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{
		"good.yaml":   denyPolicy("good", "{blockFactors: [hostPID]}"),
		"broken.yaml": risky("{blockFactors: [hostPidd]}"),
		"pods.yaml":   documents(t, newPod("shop", "web", hostPID)),
	})
	for _, args := range [][]string{
		{"access", "exec", "shop/web", "-p", dir},
		{"review", recorded(t)[0], "-p", dir},
		{"serve", "--from", dir, "--insecure-http", "--addr", freeAddress(t)},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			out := run(t, args...)
			if out.code != 2 {
				t.Errorf("exit status %d, want 2\n%s", out.code, out.all())
			}
			wantContains(t, out.all(), "broken.yaml", "wrong", "spec.podSecurityRules.blockFactors[0]", "hostPidd")
		})
	}
}
