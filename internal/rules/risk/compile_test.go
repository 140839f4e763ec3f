package risk

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestCompileRefuses gives one mistake each, and wants one error that names the
// field and says what would be right.
func TestCompileRefuses(t *testing.T) {
	const scored = "riskFactors: {hostPID: 10}\nthresholds: [{maxScore: 5, action: allow}]\n"
	for _, tc := range []struct{ name, rules, path, says string }{
		{"empty", `{}`, "spec", "give thresholds, or blockFactors"},
		{"only weights", `riskFactors: {hostPID: 10}`, "spec", "give thresholds, or blockFactors"},
		{"weights beside a block list", `{riskFactors: {hostPID: 10}, blockFactors: [hostPID]}`, "spec.thresholds", "leave riskFactors out"},
		{"a capability's weight beside a block list", `{riskFactors: {capabilities: {BPF: 10}}, blockFactors: [hostPID]}`, "spec.thresholds", "leave riskFactors out"},
		{"thresholds that cannot be reached", `thresholds: [{maxScore: 5, action: allow}, {maxScore: 9, action: deny}]`, "spec.riskFactors", "give weights"},
		{"everything allowed", `thresholds: [{maxScore: 5, action: allow}]`, "spec.riskFactors", "give weights or blockFactors"},
		{"weight below 0", `{riskFactors: {hostPID: -1}, thresholds: [{maxScore: 5, action: deny}]}`, "spec.riskFactors.hostPID", "0 to 100"},
		{"weight above 100", `{riskFactors: {runtimeSocket: 101}, thresholds: [{maxScore: 5, action: deny}]}`, "spec.riskFactors.runtimeSocket", "0 to 100"},
		{"capability's weight below 0", `{riskFactors: {capabilities: {BPF: -5}}, thresholds: [{maxScore: 5, action: deny}]}`, "spec.riskFactors.capabilities[BPF]", "0 to 100"},
		{"unknown capability", `{riskFactors: {capabilities: {CAP_SYS_ADMN: 5}}, thresholds: [{maxScore: 5, action: deny}]}`, "spec.riskFactors.capabilities[CAP_SYS_ADMN]", "did you mean SYS_ADMIN?"},
		{"one capability in two spellings", `{riskFactors: {capabilities: {SYS_ADMIN: 5, cap_sys_admin: 6}}, thresholds: [{maxScore: 5, action: deny}]}`, "spec.riskFactors.capabilities[cap_sys_admin]", "same capability as SYS_ADMIN"},
		{"thresholds not in order", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 5, action: allow}, {maxScore: 4, action: deny}]}`, "spec.thresholds[1].maxScore", "above 5"},
		{"thresholds alike", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 5, action: allow}, {maxScore: 5, action: deny}]}`, "spec.thresholds[1].maxScore", "above 5"},
		{"threshold below 0", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: -5, action: deny}]}`, "spec.thresholds[0].maxScore", "below 0"},
		{"unknown action", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 5, action: denied}]}`, "spec.thresholds[0].action", "did you mean deny?"},
		{"action in capitals", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 5, action: Deny}]}`, "spec.thresholds[0].action", "did you mean deny?"},
		{"no action", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 5}]}`, "spec.thresholds[0].action", "allow, warn, requireApproval, deny"},
		{"deny, then allow", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 10, action: deny}, {maxScore: 100, action: allow}]}`, "spec.thresholds[1].action", "thresholds[0] (maxScore 10) leads to deny, and thresholds[1] (maxScore 100), which higher scores reach, to allow"},
		{"deny, then an approval", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 10, action: deny}, {maxScore: 100, action: requireApproval}]}`, "spec.thresholds[1].action", "must not get milder"},
		{"an approval, then a warning", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 10, action: requireApproval}, {maxScore: 100, action: warn}]}`, "spec.thresholds[1].action", "must not get milder"},
		{"a warning, then nothing, further down", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 1, action: allow}, {maxScore: 10, action: warn}, {maxScore: 100, action: allow}]}`, "spec.thresholds[2].action", "thresholds[1] (maxScore 10) leads to warn"},
		{"template that does not parse", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 5, action: deny, reason: "{{.score"}]}`, "spec.thresholds[0].reason", "is not a template: line 1: unclosed action"},
		{"template with an unknown field", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 5, action: deny, reason: "{{.scores}}"}]}`, "spec.thresholds[0].reason", "did you mean score?"},
		{"unknown block factor", `blockFactors: [hostPIDs]`, "spec.blockFactors[0]", "did you mean hostPID?"},
		{"block factor in another case", `blockFactors: [hostPID, hostnetwork]`, "spec.blockFactors[1]", "did you mean hostNetwork?"},
		{"block factor of an empty name", `blockFactors: [""]`, "spec.blockFactors[0]", "is not a risk factor"},
		{"capability without the word", `blockFactors: [CAP_SYS_ADMIN]`, "spec.blockFactors[0]", "did you mean capability:SYS_ADMIN?"},
		{"capability behind another word", `blockFactors: ["capabilities:SYS_ADMIN"]`, "spec.blockFactors[0]", "did you mean capability:SYS_ADMIN?"},
		{"unknown capability in the block list", `blockFactors: ["capability:SYS_ADMN"]`, "spec.blockFactors[0]", "did you mean capability:SYS_ADMIN?"},
		{"no capability after the word", `blockFactors: ["capability:"]`, "spec.blockFactors[0]", "names no capability"},
		{"a pattern in the block list", `blockFactors: ["host*"]`, "spec.blockFactors[0]", "is not a risk factor"},
		{"unknown subresource", scored + `appliesTo: {subresources: [exec, port-forward]}`, "spec.appliesTo.subresources[1]", "did you mean portforward?"},
		{"subresource with its resource", scored + `appliesTo: {subresources: [pods/exec]}`, "spec.appliesTo.subresources[0]", "did you mean exec?"},
		{"no subresource", scored + `appliesTo: {subresources: []}`, "spec.appliesTo.subresources", "leave the field out"},
		{"unknown scope", scored + `scope: node`, "spec.scope", "pod and container"},
		{"unknown fail mode", scored + `failMode: Closed`, "spec.failMode", "closed and open"},
		{"no exemption", scored + `exemptions: {}`, "spec.exemptions", "leave the field out"},
		{"no label", scored + `exemptions: {podLabels: {}}`, "spec.exemptions.podLabels", "leave the field out"},
		{"no namespace", scored + `exemptions: {namespaces: []}`, "spec.exemptions.namespaces", "leave the field out"},
		{"namespace that cannot be", scored + `exemptions: {namespaces: [Kube-System]}`, "spec.exemptions.namespaces.patterns[0]", "matches no namespace"},
		{"label key that cannot be", scored + `exemptions: {podLabels: {"a b": x}}`, "spec.exemptions.podLabels[a b]", "no pod can carry it"},
		{"label value that cannot be", scored + `exemptions: {podLabels: {a: "*"}}`, "spec.exemptions.podLabels[a]", "no pod can carry it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rules := readRules(t, tc.rules)
			compiled, errs := Compile(&rules, field.NewPath("spec"))
			if len(errs) != 1 || compiled != nil {
				t.Fatalf("one error wanted and no rules, got %v and %v", errs.ToAggregate(), compiled)
			}
			if errs[0].Field != tc.path {
				t.Errorf("the error is about %s, want %s", errs[0].Field, tc.path)
			}
			if text := errs[0].Error(); !strings.Contains(text, tc.says) {
				t.Errorf("the error does not say %q: %s", tc.says, text)
			}
		})
	}
}

func TestCompileNamesEveryMistake(t *testing.T) {
	rules := readRules(t, `{riskFactors: {hostPID: 101}, thresholds: [{maxScore: 5, action: no}], blockFactors: [x], failMode: no}`)
	_, errs := Compile(&rules, field.NewPath("spec"))
	if len(errs) != 4 {
		t.Errorf("4 errors wanted, got %v", errs.ToAggregate())
	}
}

func TestCompileTakes(t *testing.T) {
	for _, tc := range []struct{ name, rules string }{
		{"a block list", `blockFactors: [hostPID]`},
		{"a block list with empty weights", `{riskFactors: {}, blockFactors: [hostPID], thresholds: []}`},
		{"a block list that allows the rest", `{blockFactors: [hostPID], thresholds: [{maxScore: 100, action: allow}]}`},
		{"a capability in any case", `blockFactors: ["capability:cap_sys_admin", "capability:ALL", capabilities]`},
		{"no access whatever the pod", `thresholds: [{maxScore: 100, action: deny}]`},
		{"every action in order", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 1, action: allow}, {maxScore: 2, action: warn}, {maxScore: 3, action: requireApproval}, {maxScore: 4, action: deny}]}`},
		{"one action twice", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 1, action: warn, reason: a}, {maxScore: 2, action: warn, reason: b}]}`},
		{"a weight of 0", `{riskFactors: {hostPID: 0, hostIPC: 100}, thresholds: [{maxScore: 100, action: allow}]}`},
		{"every subresource", `{blockFactors: [hostPID], appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers, proxy, log, nodes/proxy]}}`},
		{"an empty appliesTo", `{blockFactors: [hostPID], appliesTo: {}}`},
		{"a reason for what is allowed", `{riskFactors: {hostPID: 1}, thresholds: [{maxScore: 5, action: allow, reason: "{{.score}}"}]}`},
	} {
		t.Run(tc.name, func(t *testing.T) { compile(t, tc.rules) })
	}
}

func TestCovers(t *testing.T) {
	byDefault := compile(t, `blockFactors: [hostPID]`)
	named := compile(t, `{blockFactors: [hostPID], appliesTo: {subresources: [ephemeralcontainers, proxy, log, nodes/proxy]}}`)
	for _, tc := range []struct {
		resource, subresource string
		byDefault, named      bool
	}{
		{"pods", "exec", true, false},
		{"pods", "attach", true, false},
		{"pods", "portforward", true, false},
		{"pods", "ephemeralcontainers", false, true},
		{"pods", "proxy", false, true},
		{"pods", "log", false, true},
		{"nodes", "proxy", false, true},
		{"nodes", "exec", false, false},
		{"pods", "", false, false},
		{"pods", "nodes/proxy", false, false},
		{"services", "proxy", false, false},
		{"virtualmachineinstances", "portforward", false, false},
	} {
		t.Run(tc.resource+"/"+tc.subresource, func(t *testing.T) {
			if got := byDefault.Covers(tc.resource, tc.subresource); got != tc.byDefault {
				t.Errorf("by default: %v", got)
			}
			if got := named.Covers(tc.resource, tc.subresource); got != tc.named {
				t.Errorf("as named: %v", got)
			}
		})
	}
}
