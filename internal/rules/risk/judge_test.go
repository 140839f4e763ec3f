package risk

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

func TestThresholdsAreInclusive(t *testing.T) {
	for _, tc := range []struct {
		weight    int
		action    v1alpha1.RiskAction
		threshold int
	}{
		{0, "allow", 0}, {30, "allow", 0}, {31, "warn", 1}, {60, "warn", 1},
		{61, "requireApproval", 2}, {80, "requireApproval", 2}, {81, "deny", 3}, {90, "deny", 3}, {91, "deny", -1},
	} {
		rules := compile(t, fmt.Sprintf(`
riskFactors: {hostPID: %d, hostIPC: 1}
thresholds: [{maxScore: 30, action: allow}, {maxScore: 60, action: warn}, {maxScore: 80, action: requireApproval}, {maxScore: 90, action: deny}]`, tc.weight))
		v := rules.Judge(Input{Pod: readPod(t, hostPIDPod), Namespace: "shop", Name: "web-0"})
		got := []any{v.Action, v.Threshold, v.Score}
		if diff := cmp.Diff([]any{tc.action, tc.threshold, tc.weight}, got); diff != "" {
			t.Errorf("weight %d: action, threshold, score (-want +got):\n%s", tc.weight, diff)
		}
	}
}

func TestApprovalSaysHowToAsk(t *testing.T) {
	for _, tc := range []struct{ name, reason, want string }{
		{"no reason", "", "Risk score 70 needs an approval (0 to 80 does). Factors: hostPID. An approval is needed, by a breakglass session: denied"},
		{"a reason", "Too risky for {{.user}}.", "Too risky for jane. An approval is needed, by a breakglass session: denied"},
		{"a reason that comes to nothing", "{{if gt .score 1000}}x{{end}}", "Risk score 70 needs an approval (0 to 80 does). Factors: hostPID. An approval is needed, by a breakglass session: denied"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rules := compile(t, fmt.Sprintf("riskFactors: {hostPID: 70}\nthresholds: [{maxScore: 80, action: requireApproval, reason: %q}]", tc.reason))
			v := rules.Judge(Input{Pod: readPod(t, hostPIDPod), Namespace: "shop", Name: "web-0", User: "jane"})
			if v.Reason != tc.want {
				t.Errorf("reason %q\nwant   %q", v.Reason, tc.want)
			}
		})
	}
}

func TestDenialWithoutAReason(t *testing.T) {
	rules := compile(t, `{riskFactors: {hostPID: 70}, thresholds: [{maxScore: 10, action: allow}, {maxScore: 80, action: deny}]}`)
	v := rules.Judge(Input{Pod: readPod(t, hostPIDPod)})
	if want := "Risk score 70 is denied (11 to 80 is). Factors: hostPID"; v.Reason != want {
		t.Errorf("reason %q, want %q", v.Reason, want)
	}
}

func TestBlockListScoresNothing(t *testing.T) {
	rules := compile(t, `{blockFactors: [hostNetwork, "capability:cap_sys_admin"]}`)
	for _, tc := range []struct {
		name, pod string
		blocked   string
	}{
		{"plain", plainPod, ""},
		{"privileged, which is not listed", privilegedPod, ""},
		{"host network", networkPod, "hostNetwork"},
		{"both", worstPod, "hostNetwork, capability:SYS_ADMIN"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := rules.Judge(Input{Pod: readPod(t, tc.pod), Subresource: "exec"})
			if v.Scored || v.Score != 0 || v.Threshold != -1 {
				t.Errorf("scored %v, score %d, threshold %d", v.Scored, v.Score, v.Threshold)
			}
			if denied := v.Action == v1alpha1.ActionDeny; denied != (tc.blocked != "") {
				t.Errorf("action %s", v.Action)
			}
			if got := strings.Join(v.Blocked, ", "); got != tc.blocked || strings.Join(v.Factors, ", ") != tc.blocked {
				t.Errorf("blocked %s and factors %v, want %s", got, v.Factors, tc.blocked)
			}
		})
	}
}

func TestCapabilities(t *testing.T) {
	pod := func(add string) string {
		return `{spec: {initContainers: [{name: a, securityContext: {capabilities: {add: [` + add + `]}}}], containers: [{name: b, securityContext: {capabilities: {add: [` + add + `]}}}]}}`
	}
	for _, tc := range []struct {
		name, rules, add string
		score            int
		factors          string
	}{
		{"once a name", `{riskFactors: {capabilities: {SYS_ADMIN: 80, NET_ADMIN: 50}}, thresholds: [{maxScore: 1, action: allow}]}`, "SYS_ADMIN, cap_sys_admin, Sys_Admin", 80, "capability:SYS_ADMIN"},
		{"as the policy spells it", `{riskFactors: {capabilities: {cap_sys_admin: 80}}, thresholds: [{maxScore: 1, action: allow}]}`, "SYS_ADMIN", 80, "capability:SYS_ADMIN"},
		{"ALL for every listed one", `{riskFactors: {capabilities: {SYS_ADMIN: 80, NET_ADMIN: 50}}, thresholds: [{maxScore: 1, action: allow}]}`, "ALL", 130, "capability:NET_ADMIN, capability:SYS_ADMIN"},
		{"ALL with one of them", `{riskFactors: {capabilities: {SYS_ADMIN: 80, NET_ADMIN: 50}}, thresholds: [{maxScore: 1, action: allow}]}`, "all, NET_ADMIN", 130, "capability:NET_ADMIN, capability:SYS_ADMIN"},
		{"ALL itself listed", `{riskFactors: {capabilities: {ALL: 90, BPF: 5}}, thresholds: [{maxScore: 1, action: allow}]}`, "CAP_ALL", 95, "capability:ALL, capability:BPF"},
		{"ALL listed and another added", `{riskFactors: {capabilities: {ALL: 90}}, thresholds: [{maxScore: 1, action: allow}]}`, "BPF", 0, ""},
		{"one that is not listed", `{riskFactors: {capabilities: {SYS_ADMIN: 80}}, thresholds: [{maxScore: 1, action: allow}]}`, "BPF, NEW_ONE", 0, ""},
		{"ALL against a block list", `blockFactors: ["capability:BPF"]`, "ALL", 0, "capability:BPF"},
		{"whatever is added", `blockFactors: [capabilities]`, "BPF, NEW_ONE, OTHER_ONE", 0, "capabilities, capability:BPF"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := compile(t, tc.rules).Judge(Input{Pod: readPod(t, pod(tc.add))})
			if got := strings.Join(v.Factors, ", "); got != tc.factors || v.Score != tc.score {
				t.Errorf("score %d for %s, want %d for %s", v.Score, got, tc.score, tc.factors)
			}
		})
	}
}

func TestPowers(t *testing.T) {
	weighed := compile(t, `{riskFactors: {powerfulServiceAccount: 60}, thresholds: [{maxScore: 1, action: allow}]}`)
	blocked := compile(t, `blockFactors: [powerfulServiceAccount]`)
	neither := compile(t, `blockFactors: [hostPID]`)
	if !weighed.NeedsPowers() || !blocked.NeedsPowers() || neither.NeedsPowers() {
		t.Errorf("powers are needed: %v, %v, %v", weighed.NeedsPowers(), blocked.NeedsPowers(), neither.NeedsPowers())
	}
	p := readPod(t, plainPod)
	for _, rules := range []*Rules{weighed, blocked} {
		if v := rules.Judge(Input{Pod: p}); v.Action != v1alpha1.ActionAllow {
			t.Errorf("without powers: %s", v.Action)
		}
		v := rules.Judge(Input{Pod: p, Powers: []string{"may get secrets"}})
		if v.Action != v1alpha1.ActionDeny || len(v.Findings) != 1 || !strings.HasSuffix(v.Findings[0].Detail, "the service account may get secrets") {
			t.Errorf("with powers: %s, %+v", v.Action, v.Findings)
		}
	}
	if v := neither.Judge(Input{Pod: p, Powers: []string{"may get secrets"}}); v.Action != v1alpha1.ActionAllow || v.Factors != nil {
		t.Errorf("a policy that does not ask: %s, %v", v.Action, v.Factors)
	}
}

func TestExemptNamespaceByLabel(t *testing.T) {
	rules := compile(t, `{blockFactors: [hostPID], exemptions: {namespaces: {patterns: ["kube-*"], selectorTerms: [{matchLabels: {trust: "yes"}}]}}}`)
	if !rules.NeedsNamespaceLabels() {
		t.Error("the labels of namespaces are needed")
	}
	lost := errors.New("connection lost")
	for _, tc := range []struct {
		name, namespace string
		labels          map[string]string
		err             error
		exempt          bool
	}{
		{"by name, labels unreadable", "kube-system", nil, lost, true},
		{"by label", "shop", map[string]string{"trust": "yes"}, nil, true},
		{"neither", "shop", map[string]string{"trust": "no"}, nil, false},
		{"labels unreadable", "shop", nil, lost, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			why, exempt, err := rules.ExemptNamespace(tc.namespace, func() (map[string]string, error) { return tc.labels, tc.err })
			if exempt != tc.exempt || (why != "") != tc.exempt {
				t.Errorf("exempt %v, because %q", exempt, why)
			}
			if !tc.exempt && !errors.Is(err, tc.err) {
				t.Errorf("error %v, want %v", err, tc.err)
			}
		})
	}
}

func TestAllLabelsExempt(t *testing.T) {
	rules := compile(t, `{blockFactors: [hostPID], exemptions: {podLabels: {b: "2", a: ""}}}`)
	if diff := cmp.Diff(map[string]string{"a": "", "b": "2"}, rules.ExemptLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if _, exempt := rules.ExemptPod(map[string]string{"b": "2"}); exempt {
		t.Error("a pod with one of two labels is exempt")
	}
	if why, exempt := rules.ExemptPod(map[string]string{"a": "", "b": "2", "c": ""}); !exempt || why != "a pod with label a= and b=2 is exempt" {
		t.Errorf("a pod with both labels: %v, %q", exempt, why)
	}
	if _, exempt := compile(t, `{blockFactors: [hostPID]}`).ExemptPod(nil); exempt {
		t.Error("a policy that exempts none exempts a pod without labels")
	}
}

func TestWorse(t *testing.T) {
	order := []Verdict{
		{Action: v1alpha1.ActionAllow}, {Action: v1alpha1.ActionAllow, Score: 90}, {Action: v1alpha1.ActionWarn},
		{Action: v1alpha1.ActionRequireApproval}, {Action: v1alpha1.ActionDeny}, {Action: v1alpha1.ActionDeny, Score: 1},
	}
	for i := range order {
		for j := range order {
			if got := order[i].Worse(&order[j]); got != (i > j) {
				t.Errorf("%v worse than %v: %v", order[i].Action, order[j].Action, got)
			}
		}
	}
}

// One assessment serves several policies, and is not changed by them.
func TestAssessmentIsShared(t *testing.T) {
	p := readPod(t, worstPod)
	a := Assess(p)
	for _, text := range []string{documentFirst, documentStrict, documentPermissive, documentFirst} {
		rules := compile(t, text)
		shared, own := rules.Judge(Input{Pod: p, Assessment: a, Subresource: "exec"}), rules.Judge(Input{Pod: p, Subresource: "exec"})
		if diff := cmp.Diff(own, shared, cmpopts.IgnoreUnexported(Verdict{})); diff != "" {
			t.Errorf("verdict (-own +shared):\n%s", diff)
		}
	}
}
