package risk

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestAsStrictAs compares rules by what is written.
func TestAsStrictAs(t *testing.T) {
	const scored = "{riskFactors: {hostPID: 50, capabilities: {NET_ADMIN: 20}}, thresholds: [{maxScore: 10, action: allow}, {maxScore: 60, action: warn}]"
	for name, c := range map[string]struct {
		rules, other string
		want         bool
	}{
		"the same":                         {scored + "}", scored + "}", true},
		"other ways, other reasons":        {scored + ", appliesTo: {subresources: [proxy]}}", scored + "}", true},
		"less weight":                      {strings.Replace(scored, "50", "49", 1) + "}", scored + "}", false},
		"more weight":                      {strings.Replace(scored, "50", "51", 1) + "}", scored + "}", true},
		"less weight of a capability":      {strings.Replace(scored, "20", "19", 1) + "}", scored + "}", false},
		"blocked, and not weighed":         {"{blockFactors: [hostPID, capabilities], thresholds: [{maxScore: 0, action: warn}]}", scored + "}", true},
		"weighed, and not blocked":         {scored + "}", "{blockFactors: [hostPID]}", false},
		"a capability, and all":            {"{blockFactors: [capabilities]}", `{blockFactors: ["capability:NET_ADMIN"]}`, true},
		"all capabilities, and one":        {`{blockFactors: ["capability:NET_ADMIN"]}`, "{blockFactors: [capabilities]}", false},
		"milder up to a score":             {strings.Replace(scored, "maxScore: 10", "maxScore: 11", 1) + "}", scored + "}", false},
		"stricter up to a score":           {strings.Replace(scored, "maxScore: 60", "maxScore: 50", 1) + "}", scored + "}", true},
		"no thresholds":                    {"{blockFactors: [hostPID, capabilities]}", "{blockFactors: [hostPID], " + scored[1:] + "}", false},
		"of a container":                   {"{scope: container, blockFactors: [hostPID]}", "{blockFactors: [hostPID]}", false},
		"open":                             {"{failMode: open, blockFactors: [hostPID]}", "{blockFactors: [hostPID]}", false},
		"open, where the other is too":     {"{failMode: open, blockFactors: [hostPID]}", "{failMode: open, blockFactors: [hostPID]}", true},
		"a namespace exempt":               {"{exemptions: {namespaces: [a]}, blockFactors: [hostPID]}", "{blockFactors: [hostPID]}", false},
		"a namespace that is exempt there": {"{exemptions: {namespaces: [ab]}, blockFactors: [hostPID]}", "{exemptions: {namespaces: [a*]}, blockFactors: [hostPID]}", true},
		"a label exempt":                   {"{exemptions: {podLabels: {a: b}}, blockFactors: [hostPID]}", "{exemptions: {namespaces: [a*]}, blockFactors: [hostPID]}", false},
		"a label more to be exempt":        {"{exemptions: {podLabels: {a: b, c: d}}, blockFactors: [hostPID]}", "{exemptions: {podLabels: {a: b}}, blockFactors: [hostPID]}", true},
		"a label less to be exempt":        {"{exemptions: {podLabels: {a: b}}, blockFactors: [hostPID]}", "{exemptions: {podLabels: {a: b, c: d}}, blockFactors: [hostPID]}", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := compile(t, c.rules).AsStrictAs(compile(t, c.other)); got != c.want {
				t.Error(got)
			}
		})
	}
}

// TestAsStrictAsJudges finds no pod that rules judge more mildly than those that they
// are said to be as strict as.
func TestAsStrictAsJudges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rules := func() *Rules {
		var blocked, weighed, thresholds []string
		for _, factor := range []string{"hostPID", "hostIPC", "hostNetwork"} {
			switch random.IntN(4) {
			case 0:
				blocked = append(blocked, factor)
			case 1:
				weighed = append(weighed, fmt.Sprintf("%s: %d", factor, 1+random.IntN(3)))
			}
		}
		weighed = append(weighed, fmt.Sprintf("capabilities: {SYS_TIME: %d}", 1+random.IntN(2)))
		most := 0
		for _, action := range []string{"allow", "warn", "deny"} {
			most += random.IntN(3)
			thresholds = append(thresholds, fmt.Sprintf("{maxScore: %d, action: %s}", most, action))
			most++
		}
		return compile(t, fmt.Sprintf("{blockFactors: [%s], riskFactors: {%s}, thresholds: [%s]}",
			strings.Join(blocked, ", "), strings.Join(weighed, ", "), strings.Join(thresholds, ", ")))
	}
	found := 0
	for range 4000 {
		a, b := rules(), rules()
		if !a.AsStrictAs(b) {
			continue
		}
		found++
		for bits := range 16 {
			c := safe("c")
			if bits&8 != 0 {
				c.SecurityContext.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"SYS_TIME"}}
			}
			in := Input{Pod: live(&corev1.Pod{Spec: corev1.PodSpec{
				HostPID: bits&1 != 0, HostIPC: bits&2 != 0, HostNetwork: bits&4 != 0, Containers: []corev1.Container{c},
			}}), Subresource: "exec"}
			if x, y := a.Judge(in), b.Judge(in); severity(x.Action) < severity(y.Action) {
				t.Fatalf("%v and %v of the pod %04b:\n%+v\n%+v", x.Action, y.Action, bits, a, b)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d pairs were compared", found)
	}
}
