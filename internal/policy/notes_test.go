package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/decision"
)

func deny0(spec string) string {
	return "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: d}\nspec: " + spec
}

// TestNotes says what policies leave open next to what they guard, and which doors
// they need: as notes, and to whoever writes the policy.
func TestNotes(t *testing.T) {
	const risk = `podSecurityRules: {blockFactors: [hostPID]`
	for name, c := range map[string]struct {
		policy string
		want   []string
	}{
		"the ways that the document guards": {deny0("{" + risk + "}}"), []string{
			"spec.podSecurityRules.appliesTo.subresources: ephemeralcontainers, proxy, nodes/proxy lead into the same pods and are not judged; unless another policy guards them, add them: [exec, attach, portforward, ephemeralcontainers, proxy, nodes/proxy]"}},
		"one way":                    {deny0("{" + risk + ", appliesTo: {subresources: [attach]}}}"), []string{"exec, portforward, ephemeralcontainers, proxy, nodes/proxy lead"}},
		"every way":                  {deny0("{" + risk + ", appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers, proxy, nodes/proxy]}}}"), nil},
		"logs lead into no pod":      {deny0("{" + risk + ", appliesTo: {subresources: [log]}}}"), nil},
		"exec by create only":        {deny0(`{rules: [{verbs: [create], apiGroups: [""], resources: [pods/exec]}]}`), []string{`spec.rules[0].verbs: pods/exec is reached by get as well, which stays open at the authorizer; write [get, create], or "*"`}},
		"exec by get only":           {deny0(`{rules: [{verbs: [get], apiGroups: [""], resources: [pods], subresources: [exec]}]}`), []string{"pods/exec is reached by create as well"}},
		"a proxy":                    {deny0(`{rules: [{verbs: [get, create], apiGroups: [""], resources: [nodes/proxy]}]}`), []string{"nodes/proxy is reached by update and patch and delete as well"}},
		"exec by both":               {deny0(`{rules: [{verbs: [get, create], apiGroups: [""], resources: [pods/exec]}]}`), nil},
		"exec by both, in two rules": {deny0(`{rules: [{verbs: [get], apiGroups: [""], resources: [pods/exec]}, {verbs: [create], apiGroups: [""], resources: [pods/*]}]}`), nil},
		"exec by connect":            {deny0(`{rules: [{verbs: [connect], apiGroups: [""], resources: [pods/exec]}]}`), nil},
		"everything":                 {deny0(`{rules: [{verbs: [delete], apiGroups: ["*"], resources: ["*"]}]}`), nil},
		"a rule about exec":          {rulePolicy("", execs+"{cel: {expressions: [{expression: \"true\"}]}}"), []string{"spec.rules[0].match.any[0].resources.kinds[0]: is about Pod/exec, which rules judge at the front door only"}},
		"a rule about pods":          {rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}"+never), nil},
		"a module about attach":      {cap0("m", `rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods, pods/attach], operations: [CONNECT]}]`), []string{"spec.rules[0].resources[1]: is about pods/attach, which rules judge at the front door only"}},
	} {
		t.Run(name, func(t *testing.T) {
			notes := setOf(t, c.policy).Notes()
			if len(notes) != len(c.want) {
				t.Fatalf("%v, want %v", notes, c.want)
			}
			for i := range notes {
				if !strings.Contains(notes[i].At(), c.want[i]) {
					t.Errorf("%s, want %s", notes[i].At(), c.want[i])
				}
			}
			if strings.Contains(c.policy, "ClusterAdmissionPolicy") {
				return // trying a module needs one
			}
			kind := "DenyPolicy"
			if strings.Contains(c.policy, "ClusterPolicy") {
				kind = "ClusterPolicy"
			}
			gvk, _ := object("sallyport.io/v1alpha1", kind, "")
			got := only(t, setOf(t).Decide(t.Context(), created(t, emptyCluster(t), gvk, "policies", c.policy)))
			want := decision.Pass
			if len(c.want) > 0 {
				want = decision.Warn
			}
			if got.Status != want || len(c.want) > 0 && !strings.Contains(got.Message, c.want[0]) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestOpenBeside leaves out what another policy judges.
func TestOpenBeside(t *testing.T) {
	first := deny0("{podSecurityRules: {blockFactors: [hostPID]}}")
	second := strings.Replace(deny0("{podSecurityRules: {blockFactors: [hostPID], appliesTo: {subresources: [ephemeralcontainers, proxy, nodes/proxy]}}}"), "name: d", "name: e", 1)
	if said := setOf(t, first).OpenBeside("prod"); len(said) != 1 || !strings.Contains(said[0], "DenyPolicy d judges exec, attach, portforward, and no policy judges ephemeralcontainers, proxy, nodes/proxy") {
		t.Error(said)
	}
	if said := setOf(t, first, second).OpenBeside("prod"); len(said) > 0 {
		t.Error(said)
	}
	elsewhere := strings.Replace(second, "spec: {", "spec: {appliesTo: {clusters: [dev]}, ", 1)
	if said := setOf(t, first, elsewhere).OpenBeside("prod"); len(said) != 1 {
		t.Error(said)
	}
}
