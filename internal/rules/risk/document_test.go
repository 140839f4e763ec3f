package risk

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// The rules of the three policies of document "Pod Security Risk Classification",
// as they stand there.
const (
	documentFirst = `
appliesTo:
  subresources: ["exec", "attach", "portforward"]
riskFactors:
  hostNetwork: 80
  hostPID: 70
  hostIPC: 50
  privilegedContainer: 90
  hostPathWritable: 60
  hostPathReadOnly: 10
  runAsRoot: 40
  capabilities:
    NET_ADMIN: 50
    SYS_ADMIN: 80
    SYS_PTRACE: 60
thresholds:
  - maxScore: 30
    action: allow
  - maxScore: 70
    action: warn
  - maxScore: 100
    action: deny
    reason: "Pod exceeds security risk threshold (score: {{.score}}). Factors: {{.factors}}"
blockFactors:
  - hostNetwork
  - privilegedContainer
exemptions:
  namespaces:
    patterns: ["kube-system", "monitoring"]
  podLabels:
    breakglass.telekom.com/security-exempt: "true"
failMode: "closed"
`
	documentStrict = `
riskFactors:
  hostNetwork: 100
  hostPID: 100
  privilegedContainer: 100
  hostPathWritable: 80
  runAsRoot: 30
  capabilities:
    SYS_ADMIN: 100
    NET_ADMIN: 50
thresholds:
  - maxScore: 50
    action: allow
  - maxScore: 80
    action: warn
  - maxScore: 100
    action: deny
    reason: "Exec to high-risk pod blocked. Risk score: {{.score}}, factors: {{.factors}}"
exemptions:
  namespaces:
    patterns: ["kube-system"]
failMode: "closed"
`
	documentPermissive = `
riskFactors:
  hostNetwork: 30
  privilegedContainer: 50
  runAsRoot: 10
thresholds:
  - maxScore: 100
    action: warn
failMode: "open"
`
)

const (
	plainPod      = `{spec: {containers: [{name: app}]}}`
	privilegedPod = `{spec: {containers: [{name: app, securityContext: {privileged: true}}]}}`
	networkPod    = `{spec: {hostNetwork: true, containers: [{name: app}]}}`
	rootPod       = `{spec: {securityContext: {runAsUser: 0}, containers: [{name: app}]}}`
	hostPIDPod    = `{spec: {hostPID: true, containers: [{name: app}]}}`
	readPathPod   = `{spec: {volumes: [{name: d, hostPath: {path: /data}}], containers: [{name: app, volumeMounts: [{name: d, mountPath: /d, readOnly: true}]}]}}`
	worstPod      = `
spec:
  hostNetwork: true
  hostPID: true
  volumes: [{name: d, hostPath: {path: /data}}]
  containers:
  - name: app
    securityContext: {privileged: true, runAsUser: 0, capabilities: {add: [CAP_SYS_ADMIN, net_admin]}}
    volumeMounts: [{name: d, mountPath: /d}]
`
)

func TestDocumentPolicies(t *testing.T) {
	const allow, warn, deny = v1alpha1.ActionAllow, v1alpha1.ActionWarn, v1alpha1.ActionDeny
	for _, tc := range []struct {
		name, rules, pod string
		action           v1alpha1.RiskAction
		score, threshold int
		factors          string
		reason           string
	}{
		{"safe pod", documentFirst, plainPod, allow, 0, 0, "", "Risk score 0 is allowed (0 to 30 is)"},
		{"read-only path", documentFirst, readPathPod, allow, 10, 0, "hostPathReadOnly", ""},
		{"root is warned about", documentFirst, rootPod, warn, 40, 1, "runAsRoot", "Risk score 40 is high (31 to 70 is allowed with a warning). Factors: runAsRoot"},
		{"the bound belongs to its threshold", documentFirst, hostPIDPod, warn, 70, 1, "hostPID", ""},
		{"denied with the reason of the policy", documentFirst, strings.Replace(rootPod, "spec: {", "spec: {hostIPC: true, ", 1), deny, 90, 2,
			"hostIPC, runAsRoot", "Pod exceeds security risk threshold (score: 90). Factors: hostIPC, runAsRoot"},
		{"block factor", documentFirst, networkPod, deny, 80, -1, "hostNetwork", "Blocked factor detected: hostNetwork"},
		{"another block factor", documentFirst, privilegedPod, deny, 90, -1, "privilegedContainer", "Blocked factor detected: privilegedContainer"},
		{"all at once", documentFirst, worstPod, deny, 470, -1,
			"hostNetwork, hostPID, privilegedContainer, hostPathWritable, runAsRoot, capability:NET_ADMIN, capability:SYS_ADMIN",
			"Blocked factors detected: hostNetwork, privilegedContainer"},
		{"strict: safe pod", documentStrict, plainPod, allow, 0, 0, "", ""},
		{"strict: host network hits the last threshold", documentStrict, networkPod, deny, 100, 2, "hostNetwork", "Exec to high-risk pod blocked. Risk score: 100, factors: hostNetwork"},
		{"strict: above all thresholds", documentStrict, worstPod, deny, 560, -1,
			"hostNetwork, hostPID, privilegedContainer, hostPathWritable, runAsRoot, capability:NET_ADMIN, capability:SYS_ADMIN",
			"Risk score 560 exceeds all thresholds (the last is 100). Factors: hostNetwork, hostPID, privilegedContainer, hostPathWritable, runAsRoot, capability:NET_ADMIN, capability:SYS_ADMIN"},
		{"strict: a factor without a weight", documentStrict, readPathPod, allow, 0, 0, "", ""},
		{"permissive: safe pod", documentPermissive, plainPod, warn, 0, 0, "", "Risk score 0 is high (0 to 100 is allowed with a warning)"},
		{"permissive: the worst pod", documentPermissive, worstPod, warn, 90, 0, "hostNetwork, privilegedContainer, runAsRoot", ""},
	} {
		for _, subresource := range []string{"exec", "attach", "portforward"} {
			t.Run(tc.name+" "+subresource, func(t *testing.T) {
				rules := compile(t, tc.rules)
				if !rules.Covers("pods", subresource) {
					t.Fatalf("%s is not judged", subresource)
				}
				v := rules.Judge(Input{Pod: readPod(t, tc.pod), Subresource: subresource, Namespace: "default", Name: "web-0"})
				got := []any{v.Action, v.Score, v.Scored, v.Threshold, strings.Join(v.Factors, ", ")}
				want := []any{tc.action, tc.score, true, tc.threshold, tc.factors}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("action, score, scored, threshold, factors (-want +got):\n%s", diff)
				}
				if tc.reason != "" && v.Reason != tc.reason {
					t.Errorf("reason %q, want %q", v.Reason, tc.reason)
				}
			})
		}
	}
}

func TestDocumentExemptions(t *testing.T) {
	rules := compile(t, documentFirst)
	noLabels := func() (map[string]string, error) {
		t.Error("the labels of a namespace are read for a policy that selects none by label")
		return nil, nil
	}
	for name, want := range map[string]string{
		"kube-system": "namespace kube-system is exempt", "monitoring": "namespace monitoring is exempt",
		"default": "", "kube-system-2": "", "KUBE-SYSTEM": "", "": "",
	} {
		why, exempt, err := rules.ExemptNamespace(name, noLabels)
		if err != nil || why != want || exempt != (want != "") {
			t.Errorf("namespace %q: %q, %v, error %v", name, why, exempt, err)
		}
	}
	const label = "breakglass.telekom.com/security-exempt"
	for _, tc := range []struct {
		name   string
		labels map[string]string
		want   string
	}{
		{"none", nil, ""},
		{"another value", map[string]string{label: "false"}, ""},
		{"another key", map[string]string{"security-exempt": "true"}, ""},
		{"the label", map[string]string{label: "true", "app": "x"}, "a pod with label " + label + "=true is exempt"},
	} {
		if why, exempt := rules.ExemptPod(tc.labels); why != tc.want || exempt != (tc.want != "") {
			t.Errorf("%s: %q, %v", tc.name, why, exempt)
		}
	}
}

func TestDocumentFailModes(t *testing.T) {
	for text, open := range map[string]bool{documentFirst: false, documentStrict: false, documentPermissive: true, "blockFactors: [hostPID]": false} {
		if got := compile(t, text).FailOpen(); got != open {
			t.Errorf("fail mode open is %v, want %v, for\n%s", got, open, text)
		}
	}
}
