package convert_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const breakglassHead = "apiVersion: breakglass.t-caas.telekom.com/v1alpha1\nmetadata: {name: p}\n"

// TestBreakglass reads objects of the other system as ours.
func TestBreakglass(t *testing.T) {
	rule := func(fields string) string {
		return `{rules: [{verbs: [get], apiGroups: [""], ` + fields + `}]}`
	}
	for name, tt := range map[string]struct{ kind, spec, want string }{
		"a resource is all of it":     {"DenyPolicy", rule("resources: [pods, nodes]"), rule(`resources: [pods, pods/*, nodes, nodes/*]`)},
		"every resource":              {"DenyPolicy", rule(`resources: ["*"]`), rule(`resources: ["*"]`)},
		"a subresource is only that":  {"DenyPolicy", rule("resources: [pods], subresources: [exec, attach]"), rule(`resources: [pods/exec, pods/attach]`)},
		"a subresource of everything": {"DenyPolicy", rule(`resources: ["*"], subresources: [scale]`), rule(`resources: ["*/scale"]`)},
		"every subresource":           {"DenyPolicy", rule(`resources: [pods], subresources: ["*"]`), rule(`resources: [pods, pods/*]`)},
		"the resource itself":         {"DenyPolicy", rule(`resources: [pods], subresources: ["", exec]`), rule(`resources: [pods, pods/exec]`)},
		"every namespace":             {"DenyPolicy", rule(`resources: [nodes], subresources: [proxy], namespaces: ["*"], resourceNames: []`), rule(`resources: [nodes/proxy]`)},
		"every namespace, long":       {"DenyPolicy", rule(`resources: [nodes], subresources: [proxy], namespaces: {patterns: [a, "*"]}`), rule(`resources: [nodes/proxy]`)},
		"namespaces":                  {"DenyPolicy", rule(`resources: [pods], subresources: [exec], namespaces: {patterns: [a], selectorTerms: []}`), rule(`resources: [pods/exec], namespaces: {patterns: [a]}`)},
		"a scope that says nothing":   {"DenyPolicy", `{appliesTo: {clusters: []}, podSecurityRules: {blockFactors: [hostPID], exemptions: {podLabels: {}}}}`, `{podSecurityRules: {blockFactors: [hostPID]}}`},
		"a reason": {"DenyPolicy", `{podSecurityRules: {riskFactors: {hostPID: 90}, thresholds: [{maxScore: 100, action: deny, reason: "Score {{.Score}} {{ .Factors }} of {{.pod}}"}]}}`,
			`{podSecurityRules: {riskFactors: {hostPID: 90}, thresholds: [{maxScore: 100, action: deny, reason: "Score {{.score}} {{ .factors }} of {{.pod}}"}]}}`},
		"proxies that lead to no pod": {"DenyPolicy", `{podSecurityRules: {blockFactors: [hostPID], appliesTo: {subresources: [exec, proxy]}}}`,
			`{podSecurityRules: {blockFactors: [hostPID], appliesTo: {subresources: [exec, proxy]}}, rules: [{verbs: ["*"], apiGroups: [""], resources: [services/proxy, nodes/proxy]}]}`},
		"proxies, failing open": {"DenyPolicy", `{podSecurityRules: {blockFactors: [hostPID], failMode: open, appliesTo: {subresources: [proxy]}}}`,
			`{podSecurityRules: {blockFactors: [hostPID], failMode: open, appliesTo: {subresources: [proxy]}}}`},
		"an escalation": {"BreakglassEscalation", `{allowed: {clusters: ["prod-*"], groups: [sre]}, approvers: {groups: [leads], hiddenFromUI: [duty, leads]}, escalatedGroup: ops, blockSelfApproval: true, mailProvider: m, disableNotifications: true, sessionLimitsOverride: {unlimited: true}}`,
			`{allowed: {clusters: ["prod-*"], groups: [sre]}, approvers: {groups: [leads, duty]}, escalatedGroup: ops}`},
		"self-approval": {"BreakglassEscalation", `{allowed: {clusters: [a], groups: [sre]}, approvers: {groups: [leads]}, blockSelfApproval: false}`,
			`{allowed: {clusters: [a], groups: [sre]}, approvers: {groups: [leads]}, allowSelfApproval: true}`},
		"a cluster": {"ClusterConfig", `{clusterID: prod-eu, tenant: t, site: s, location: l, qps: 5, burst: 9, blockSelfApproval: false, allowedApproverDomains: [], kubeconfigSecretRef: {name: k, namespace: n}}`,
			`{clusterID: prod-eu, tenant: t, kubeconfigSecretRef: {name: k, namespace: n}}`},
	} {
		t.Run(name, func(t *testing.T) {
			object, problems := ours(t, breakglassHead+"kind: "+tt.kind+"\nstatus: {a: b}\nspec: "+tt.spec)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			want := treeOf(t, "apiVersion: sallyport.io/v1alpha1\nkind: "+tt.kind+"\nmetadata: {name: p}\nspec: "+tt.want)
			got := map[string]any{}
			if err := yaml.Unmarshal(object.Raw, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestBreakglassRefused says what to write for what we lack.
func TestBreakglassRefused(t *testing.T) {
	for name, tt := range map[string]struct{ kind, spec, want string }{
		"a subresource among resources": {"DenyPolicy", `{rules: [{verbs: [get], apiGroups: [""], resources: [pods/exec]}]}`, `spec.rules[0].resources[0]: is "pods/exec", which matches nothing there: write resources: [pods] and subresources: [exec], or apiVersion: sallyport.io/v1alpha1 for the rule as it stands`},
		"a pattern of resources":        {"DenyPolicy", `{rules: [{verbs: [get], apiGroups: [""], resources: ["pod*"]}]}`, `spec.rules[0].resources[0]: is "pod*", which is a name there and matches nothing`},
		"a pattern of verbs":            {"DenyPolicy", `{rules: [{verbs: ["ge?"], apiGroups: [""], resources: [pods]}]}`, `spec.rules[0].verbs[0]: is "ge?", which is a name there`},
		"a pattern of subresources":     {"DenyPolicy", `{rules: [{verbs: [get], apiGroups: [""], resources: [pods], subresources: ["e*"]}]}`, `spec.rules[0].subresources[0]: is "e*"`},
		"connect":                       {"DenyPolicy", `{rules: [{verbs: [connect], apiGroups: [""], resources: [pods]}]}`, `spec.rules[0].verbs[0]: is not a verb of a SubjectAccessReview`},
		"a set of characters":           {"DenyPolicy", `{rules: [{verbs: [get], apiGroups: [""], resources: [pods], resourceNames: ["[ab]"]}]}`, `spec.rules[0].resourceNames[0]: is "[ab]", a pattern with a set of characters`},
		"rules about impersonation":     {"DenyPolicy", `{impersonationRules: [{}, {modes: [legacy]}]}`, `spec.impersonationRules: is not read: write a rule with verbs: [impersonate]`},
		"domains of approvers":          {"BreakglassEscalation", `{allowedApproverDomains: [example.com]}`, "spec.allowedApproverDomains: is not read: people are told apart by user and group here"},
		"providers of identities":       {"BreakglassEscalation", `{allowedIdentityProviders: [idp]}`, "spec.allowedIdentityProviders: is not read"},
		"groups by pattern":             {"BreakglassEscalation", `{allowed: {groups: ["sre-*"]}}`, `spec.allowed.groups[0]: is "sre-*", which is a name there`},
		"limits of sessions":            {"BreakglassEscalation", `{sessionLimitsOverride: {maxActiveSessionsPerUser: 1}}`, "spec.sessionLimitsOverride: is not read"},
		"clusters by object":            {"BreakglassEscalation", `{clusterConfigRefs: [a]}`, "spec.clusterConfigRefs: is not read: clusters are named by their clusterID here"},
		"providers of a cluster":        {"ClusterConfig", `{identityProviderRefs: [idp]}`, "spec.identityProviderRefs: is not read"},
		"a session":                     {"BreakglassSession", `{cluster: c, user: u, grantedGroup: g}`, "is kept by the system that it is of"},
		"a provider of identities":      {"IdentityProvider", "{}", "says who signs users in"},
		"mail":                          {"MailProvider", "{}", "says who sends mail"},
		"audit":                         {"AuditConfig", "{}", "says where events go"},
		"debug sessions":                {"DebugSession", "{}", "makes pods to debug with"},
		"another kind":                  {"ClusterAccessReview", "{}", "is a policy of another system"},
	} {
		t.Run(name, func(t *testing.T) {
			object, problems := ours(t, breakglassHead+"kind: "+tt.kind+"\nspec: "+tt.spec)
			if object != nil || len(problems) == 0 || !strings.HasPrefix(problems[0].At(), tt.want) {
				t.Errorf("got %v, want %s", problems, tt.want)
			}
			if len(problems) > 0 && (problems[0].Kind != tt.kind || problems[0].Name != "p") {
				t.Errorf("does not name the object: %s", problems[0].Error())
			}
		})
	}
}
