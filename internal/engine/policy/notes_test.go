package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/review/decision"
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
		"one way":                              {deny0("{" + risk + ", appliesTo: {subresources: [attach]}}}"), []string{"exec, portforward, ephemeralcontainers, proxy, nodes/proxy lead"}},
		"every way":                            {deny0("{" + risk + ", appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers, proxy, nodes/proxy]}}}"), nil},
		"every way, in a session":              {deny0("{appliesTo: {sessions: [s]}, " + risk + ", appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers, proxy, nodes/proxy]}}}"), nil},
		"exec by both, in a session":           {deny0(`{appliesTo: {escalationRefs: [e]}, rules: [{verbs: [get], apiGroups: [""], resources: [pods/exec]}, {verbs: [create], apiGroups: [""], resources: [pods/exec]}]}`), nil},
		"logs lead into no pod":                {deny0("{" + risk + ", appliesTo: {subresources: [log]}}}"), nil},
		"exec by create only":                  {deny0(`{rules: [{verbs: [create], apiGroups: [""], resources: [pods/exec]}]}`), []string{`spec.rules[0].verbs: pods/exec is reached by get as well, which stays open at the authorizer; write [get, create], or "*"`}},
		"exec by get only":                     {deny0(`{rules: [{verbs: [get], apiGroups: [""], resources: [pods], subresources: [exec]}]}`), []string{"pods/exec is reached by create as well"}},
		"a proxy":                              {deny0(`{rules: [{verbs: [get, create], apiGroups: [""], resources: [nodes/proxy]}]}`), []string{"nodes/proxy is reached by update and patch and delete as well"}},
		"exec by both":                         {deny0(`{rules: [{verbs: [get, create], apiGroups: [""], resources: [pods/exec]}]}`), nil},
		"exec by both, in two rules":           {deny0(`{rules: [{verbs: [get], apiGroups: [""], resources: [pods/exec]}, {verbs: [create], apiGroups: [""], resources: [pods/e*]}]}`), nil},
		"exec by connect":                      {deny0(`{rules: [{verbs: [connect], apiGroups: [""], resources: [pods/exec]}]}`), nil},
		"exec by both, one in a namespace":     {deny0(`{rules: [{verbs: [create], apiGroups: [""], resources: [pods/exec]}, {verbs: [get], apiGroups: [""], resources: [pods/exec], namespaces: [shop]}]}`), []string{"spec.rules[0].verbs: pods/exec is reached by get as well"}},
		"exec by both, one for a name":         {deny0(`{rules: [{verbs: [create], apiGroups: [""], resources: [pods/exec]}, {verbs: [get], apiGroups: [""], resources: [pods/exec], resourceNames: [web]}]}`), []string{"spec.rules[0].verbs: pods/exec is reached by get as well"}},
		"exec by both, one by labels":          {deny0(`{rules: [{verbs: [create], apiGroups: [""], resources: [pods/exec], namespaces: [shop]}, {verbs: [get], apiGroups: [""], resources: [pods/exec], namespaces: {selectorTerms: [{matchLabels: {a: b}}]}}]}`), []string{"spec.rules[0].verbs: pods/exec is reached by get", "spec.rules[1].verbs: pods/exec is reached by create"}},
		"exec by both, one more widely":        {deny0(`{rules: [{verbs: [create], apiGroups: [""], resources: [pods/exec], namespaces: [team-a, team-b-*], resourceNames: [web]}, {verbs: [get], apiGroups: [""], resources: [pods/*], namespaces: [team-*], resourceNames: [w*]}, {verbs: [create], apiGroups: [""], resources: [pods/*]}]}`), []string{"spec.rules[1].verbs: pods/proxy is reached by", "spec.rules[2].verbs: pods/exec, pods/attach", "spec.rules[2].verbs: pods/proxy is reached by"}},
		"every subresource by create":          {deny0(`{rules: [{verbs: [create], apiGroups: [""], resources: ["pods/*"]}]}`), []string{"spec.rules[0].verbs: pods/exec, pods/attach, pods/portforward are reached by get as well, which stays open at the authorizer; add a rule with resources: [pods/exec, pods/attach, pods/portforward] and verbs: [get] for the same namespaces and names", "pods/proxy is reached by get and update and patch and delete as well"}},
		"a pattern of subresources":            {deny0(`{rules: [{verbs: [create], apiGroups: [""], resources: ["*"], subresources: ["ex*", "port*"]}]}`), []string{"pods/exec, pods/portforward are reached by get"}},
		"a pattern of verbs":                   {deny0(`{rules: [{verbs: ["c*"], apiGroups: ["*"], resources: ["po*/exec"]}]}`), nil},
		"ephemeral containers by update":       {deny0(`{rules: [{verbs: [update], apiGroups: [""], resources: [pods/ephemeralcontainers]}]}`), []string{"pods/ephemeralcontainers is reached by patch as well"}},
		"ephemeral containers by connect":      {deny0("{" + risk + ", appliesTo: {subresources: [exec, attach, portforward, proxy, nodes/proxy]}}, rules: [{verbs: [connect], apiGroups: [\"\"], resources: [pods/ephemeralcontainers]}]}"), []string{"ephemeralcontainers lead into the same pods"}},
		"by its name and by a pattern":         {deny0(`{rules: [{verbs: [create], apiGroups: [""], resources: [pods/exec, "pods/att*"]}]}`), []string{`pods/exec is reached by get as well, which stays open at the authorizer; write [get, create], or "*"`, "pods/attach is reached by get as well, which stays open at the authorizer; add a rule"}},
		"users that are read":                  {deny0(`{rules: [{verbs: [get], apiGroups: [""], resources: [users]}]}`), nil},
		"everything deleted":                   {deny0(`{rules: [{verbs: [delete], apiGroups: ["*"], resources: ["*"]}]}`), nil},
		"everything updated":                   {deny0(`{rules: [{verbs: [update], apiGroups: ["*"], resources: ["*"]}]}`), []string{"pods/ephemeralcontainers is reached by patch as well"}},
		"everything read":                      {deny0(`{rules: [{verbs: [get], apiGroups: ["*"], resources: ["*"]}]}`), nil},
		"everything that writes":               {deny0(`{rules: [{verbs: [create, update, patch, delete], apiGroups: [""], resources: ["*"]}]}`), []string{"pods/exec, pods/attach, pods/portforward are reached by get", "pods/proxy, services/proxy, nodes/proxy are reached by get as well"}},
		"nodes denied by a rule":               {deny0("{" + risk + ", appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers, proxy]}}, rules: [{verbs: [\"*\"], apiGroups: [\"\"], resources: [nodes/proxy]}]}"), nil},
		"some nodes denied by a rule":          {deny0("{" + risk + ", appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers, proxy]}}, rules: [{verbs: [\"*\"], apiGroups: [\"\"], resources: [nodes/proxy], resourceNames: [a]}]}"), []string{"nodes/proxy lead into the same pods"}},
		"users":                                {deny0(`{rules: [{verbs: [impersonate], apiGroups: [""], resources: [users, groups]}]}`), []string{"spec.rules[0].resources: does not keep anyone from acting as a service account"}},
		"users and service accounts":           {deny0(`{rules: [{verbs: ["*"], apiGroups: [""], resources: [users]}, {verbs: [impersonate], apiGroups: [authentication.k8s.io], resources: [serviceaccounts]}]}`), nil},
		"users and some service accounts":      {deny0(`{rules: [{verbs: ["*"], apiGroups: [""], resources: [users]}, {verbs: [impersonate], apiGroups: [""], resources: [serviceaccounts], namespaces: [shop]}]}`), []string{"spec.rules[0].resources: does not keep"}},
		"a user":                               {deny0(`{rules: [{verbs: [impersonate], apiGroups: [""], resources: [users], resourceNames: [alice]}]}`), nil},
		"a rule about exec":                    {rulePolicy("", execs+"{cel: {expressions: [{expression: \"size(object) > 0\"}]}}"), []string{"spec.rules[0].match.any[0].resources.kinds[0]: is about Pod/exec, which rules judge at the front door only"}},
		"a rule about a way into another kind": {rulePolicy("", strings.Replace(execs, "Pod/exec", "kubevirt.io/v1/VirtualMachineInstance/portforward", 1)+"{cel: {expressions: [{expression: \"size(object) > 0\"}]}}"), nil},
		"a rule about a way into every kind":   {rulePolicy("", strings.Replace(execs, "Pod/exec", "'*/exec'", 1)+"{cel: {expressions: [{expression: \"size(object) > 0\"}]}}"), nil},
		"a rule about pods":                    {rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}"+never), nil},
		"a module about attach":                {cap0("m", `rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods, pods/attach], operations: [CONNECT]}]`), []string{"spec.rules[0].resources[1]: is about pods/attach, which rules judge at the front door only"}},
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

// TestOpenBeside leaves out what another policy judges for at least the same requests,
// and at least as strictly.
func TestOpenBeside(t *testing.T) {
	const (
		rest  = "appliesTo: {subresources: [ephemeralcontainers, proxy, nodes/proxy]}"
		gap   = "DenyPolicy d judges exec, attach, portforward, and no policy judges ephemeralcontainers, proxy, nodes/proxy as strictly, by which the same pods are reached"
		exec  = `{verbs: [create], apiGroups: [""], resources: [pods/exec]`
		byGet = `{verbs: [get], apiGroups: [""], resources: [pods/exec]`
		open  = "DenyPolicy d, rules[0], denies pods/exec by create, and no rule denies all of that by get, which stays open at the authorizer"
	)
	blocks := "{podSecurityRules: {blockFactors: [hostPID]}}"
	for name, c := range map[string]struct {
		first, second string
		want          string
	}{
		"no other":                      {blocks, "", gap},
		"the other ways":                {blocks, "{podSecurityRules: {blockFactors: [hostPID], " + rest + "}}", ""},
		"more factors":                  {blocks, "{podSecurityRules: {blockFactors: [hostIPC, hostPID], " + rest + "}}", ""},
		"elsewhere":                     {blocks, "{appliesTo: {clusters: [dev]}, podSecurityRules: {blockFactors: [hostPID], " + rest + "}}", gap},
		"in sessions":                   {blocks, "{appliesTo: {escalationRefs: [help]}, podSecurityRules: {blockFactors: [hostPID], " + rest + "}}", gap},
		"for a tenant":                  {blocks, "{appliesTo: {tenants: [a]}, podSecurityRules: {blockFactors: [hostPID], " + rest + "}}", gap},
		"other factors":                 {blocks, "{podSecurityRules: {blockFactors: [hostIPC], " + rest + "}}", gap},
		"weighed, and not blocked":      {blocks, "{podSecurityRules: {riskFactors: {hostPID: 50}, thresholds: [{maxScore: 60, action: warn}], " + rest + "}}", gap},
		"every namespace exempt":        {blocks, "{podSecurityRules: {blockFactors: [hostPID], exemptions: {namespaces: [\"*\"]}, " + rest + "}}", gap},
		"a label exempt":                {blocks, "{podSecurityRules: {blockFactors: [hostPID], exemptions: {podLabels: {a: b}}, " + rest + "}}", gap},
		"the same exempt":               {"{podSecurityRules: {blockFactors: [hostPID], exemptions: {namespaces: [a*], podLabels: {a: b}}}}", "{podSecurityRules: {blockFactors: [hostPID], exemptions: {namespaces: [ab], podLabels: {a: b, c: d}}, " + rest + "}}", ""},
		"open":                          {blocks, "{podSecurityRules: {blockFactors: [hostPID], failMode: open, " + rest + "}}", gap},
		"denied by a rule":              {blocks, `{rules: [{verbs: ["*"], apiGroups: [""], resources: [pods/ephemeralcontainers, pods/proxy, nodes/proxy]}]}`, ""},
		"something else denied":         {blocks, `{rules: [{verbs: ["*"], apiGroups: [""], resources: [secrets]}]}`, gap},
		"both elsewhere":                {"{appliesTo: {clusters: [dev]}, podSecurityRules: {blockFactors: [hostPID]}}", "", ""},
		"denied by a rule in one place": {blocks, `{rules: [{verbs: ["*"], apiGroups: [""], resources: [pods/ephemeralcontainers, pods/proxy, nodes/proxy], namespaces: [shop]}]}`, gap},
		"a verb":                        {"{rules: [" + exec + "}]}", "", open},
		"the other verb":                {"{rules: [" + exec + "}]}", "{rules: [" + byGet + "}]}", ""},
		"the other verb in a namespace": {"{rules: [" + exec + "}]}", "{rules: [" + byGet + ", namespaces: [shop]}]}", open},
		"the other verb for a name":     {"{rules: [" + exec + "}]}", "{rules: [" + byGet + ", resourceNames: [web]}]}", open},
		"the other verb elsewhere":      {"{rules: [" + exec + "}]}", "{appliesTo: {clusters: [dev]}, rules: [" + byGet + "}]}", open},
		"the other verb in a session":   {"{rules: [" + exec + "}]}", "{appliesTo: {sessions: [s]}, rules: [" + byGet + "}]}", open},
		"the other verb, by risk":       {"{rules: [" + exec + "}]}", "{podSecurityRules: {blockFactors: [hostPID], appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers, proxy, nodes/proxy]}}}", open},
	} {
		t.Run(name, func(t *testing.T) {
			policies := []string{deny0(c.first)}
			if c.second != "" {
				policies = append(policies, strings.Replace(deny0(c.second), "name: d", "name: e", 1))
			}
			said := slices.DeleteFunc(setOf(t, policies...).OpenBeside("prod"), func(s string) bool { return strings.Contains(s, "DenyPolicy e") })
			if got := strings.Join(said, "\n"); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	broken, _ := started(t, yamlOf("DenyPolicy", "d", "spec: {podSecurityRules: {thresholds: [{maxScore: 1, action: perhaps}]}}"))
	if said := broken.Set().OpenBeside("prod"); len(said) > 0 {
		t.Errorf("of a policy that cannot work: %v", said)
	}
}

// TestSpansOfScopes says of which policies one holds wherever they do.
func TestSpansOfScopes(t *testing.T) {
	scoped := func(s *v1alpha1.DenyPolicyScope) *deny.Policy { return &deny.Policy{Scope: deny.Scope{Written: s}} }
	clusters := func(names ...string) *v1alpha1.DenyPolicyScope { return &v1alpha1.DenyPolicyScope{Clusters: names} }
	tenants := func(names ...string) *v1alpha1.DenyPolicyScope { return &v1alpha1.DenyPolicyScope{Tenants: names} }
	for name, c := range map[string]struct {
		one, other *v1alpha1.DenyPolicyScope
		want       bool
	}{
		"everywhere, and everywhere":           {nil, nil, true},
		"everywhere, and in a cluster":         {nil, clusters("a"), true},
		"everywhere, and in sessions":          {nil, &v1alpha1.DenyPolicyScope{Sessions: []string{"s"}}, true},
		"in a cluster, and everywhere":         {clusters("a"), nil, false},
		"in a cluster, and in it":              {clusters("a"), clusters("a"), true},
		"in some clusters, and in one":         {clusters("a*", "b"), clusters("ab"), true},
		"in one cluster, and in some":          {clusters("ab"), clusters("a*"), false},
		"in a cluster, and for a tenant":       {clusters("a"), tenants("a"), false},
		"for a tenant, and in a cluster":       {tenants("a"), clusters("a"), false},
		"for a tenant, and for it":             {tenants("a"), tenants("a"), true},
		"for a tenant, and for another":        {tenants("a"), tenants("b"), false},
		"in a cluster, and for a tenant in it": {clusters("a"), &v1alpha1.DenyPolicyScope{Clusters: []string{"a"}, Tenants: []string{"b"}}, true},
		"for a tenant in a cluster, and in it": {&v1alpha1.DenyPolicyScope{Clusters: []string{"a"}, Tenants: []string{"b"}}, clusters("a"), false},
		"in a session in a cluster, and in it": {&v1alpha1.DenyPolicyScope{Clusters: []string{"a"}, Sessions: []string{"s"}}, clusters("a"), false},
		"under an escalation, and under it":    {&v1alpha1.DenyPolicyScope{EscalationRefs: []string{"e"}}, &v1alpha1.DenyPolicyScope{EscalationRefs: []string{"e"}}, false},
	} {
		if got := scoped(c.one).Spans(scoped(c.other)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
