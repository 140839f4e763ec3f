package contract

import (
	"testing"
)

// TestLoaderRefusesFactors covers factor names and weights.
func TestLoaderRefusesFactors(t *testing.T) {
	t.Parallel()
	const tail = ", thresholds: [{maxScore: 10, action: allow}]}"
	const factors = "spec.podSecurityRules.riskFactors"
	weight := func(name, text string, names ...string) badPolicy {
		return badPolicy{name, risky("{riskFactors: " + text + tail), append([]string{"wrong"}, names...)}
	}
	block := func(name, text string, names ...string) badPolicy {
		return badPolicy{name, risky("{blockFactors: " + text + "}"), append([]string{"wrong", "spec.podSecurityRules.blockFactors"}, names...)}
	}
	refuseAll(t, []badPolicy{
		weight("unknown factor", "{hostNetwrok: 10}", factors, "hostNetwrok"),
		weight("factor in lower case", "{hostnetwork: 10}", factors, "hostnetwork"),
		weight("factor in upper case", "{HostNetwork: 10}", factors, "HostNetwork"),
		weight("a capability among the factors", "{SYS_ADMIN: 10}", factors, "SYS_ADMIN"),
		weight("negative weight", "{hostPID: -1}", factors+".hostPID", "-1", "100"),
		weight("weight over 100", "{hostPID: 101}", factors+".hostPID", "101", "100"),
		weight("huge weight", "{hostPID: 99999999999999999999}", "hostPID"),
		weight("weight that wraps", "{hostPID: 4294967296}", "hostPID"),
		weight("weight as text", `{hostPID: "80"}`, "hostPID"),
		weight("fractional weight", "{hostPID: 1.5}", "hostPID"),
		weight("weight is true", "{hostPID: true}", "hostPID"),
		weight("weight is a list", "{hostPID: [1]}", "hostPID"),
		weight("weight not a number", "{hostPID: .nan}", "hostPID"),
		weight("factors as a list", "[hostPID]", "riskFactors"),
		weight("capability that does not exist", "{capabilities: {SYS_ADMNI: 10}}", factors+".capabilities", "SYS_ADMNI"),
		weight("capability: negative weight", "{capabilities: {SYS_ADMIN: -5}}", factors+".capabilities", "SYS_ADMIN", "-5"),
		weight("capability: weight over 100", "{capabilities: {SYS_ADMIN: 500}}", factors+".capabilities", "SYS_ADMIN", "500"),
		weight("capability: weight as text", `{capabilities: {SYS_ADMIN: "9"}}`, "capabilities"),
		weight("capabilities as a list", "{capabilities: [SYS_ADMIN]}", "capabilities"),

		block("unknown block factor", "[hostPID, hostNetwrok]", "blockFactors[1]", "hostNetwrok"),
		block("block factor in lower case", "[hostnetwork]", "blockFactors[0]", "hostnetwork"),
		block("bare capability", "[SYS_ADMIN]", "blockFactors[0]", "SYS_ADMIN"),
		block("capability: typo in the prefix", `["capabilty:SYS_ADMIN"]`, "blockFactors[0]", "capabilty"),
		block("capability: prefix in upper case", `["Capability:SYS_ADMIN"]`, "blockFactors[0]", "Capability"),
		block("capability: typo in the name", `["capability:SYS_ADMNI"]`, "blockFactors[0]", "SYS_ADMNI"),
		block("capability: no name", `["capability:"]`, "blockFactors[0]"),
		block("capability: blank in it", `["capability: SYS_ADMIN"]`, "blockFactors[0]"),
		block("empty block factor", `[""]`, "blockFactors[0]"),
		block("block factor with blanks", `["hostPID "]`, "blockFactors[0]"),
		block("wildcard", `["*"]`, "blockFactors[0]"),
		block("block factors as text", "hostPID"),
		block("block factors as a map", "{hostPID: true}"),
		block("a number", "[5]"),
	})
}

// TestLoaderRefusesThresholds covers order, actions and reasons.
func TestLoaderRefusesThresholds(t *testing.T) {
	t.Parallel()
	const field = "spec.podSecurityRules.thresholds"
	bad := func(name, thresholds string, names ...string) badPolicy {
		return badPolicy{name, risky("{riskFactors: {hostPID: 50}, thresholds: " + thresholds + "}"), append([]string{"wrong", field}, names...)}
	}
	reason := func(name, text string, names ...string) badPolicy {
		return bad(name, "[{maxScore: 10, action: allow}, {maxScore: 100, action: deny, reason: '"+text+"'}]", append(names, "thresholds[1].reason")...)
	}
	refuseAll(t, []badPolicy{
		bad("descending", "[{maxScore: 80, action: allow}, {maxScore: 30, action: deny}]", "thresholds[1]", "30"),
		bad("equal", "[{maxScore: 30, action: allow}, {maxScore: 30, action: deny}]", "thresholds[1]", "30"),
		bad("the third out of order", "[{maxScore: 10, action: allow}, {maxScore: 50, action: warn}, {maxScore: 40, action: deny}]", "thresholds[2]", "40"),
		bad("milder as scores rise", "[{maxScore: 10, action: deny}, {maxScore: 100, action: allow}]", "thresholds[1].action", "thresholds[0]", "milder"),
		bad("negative", "[{maxScore: -1, action: allow}]", "thresholds[0]", "-1"),
		bad("score as text", `[{maxScore: "30", action: allow}]`),
		bad("no score", "[{action: deny}]", "thresholds[0]", "maxScore"),
		bad("no action", "[{maxScore: 10}]", "thresholds[0]", "action"),
		bad("empty action", `[{maxScore: 10, action: ""}]`, "thresholds[0].action"),
		bad("unknown action", "[{maxScore: 10, action: block}]", "thresholds[0].action", "block", "deny"),
		bad("action in another case", "[{maxScore: 10, action: Deny}]", "thresholds[0].action", "Deny"),
		bad("unknown field", "[{maxScore: 10, action: deny, message: no}]", "message"),
		bad("field in another case", "[{maxscore: 10, action: deny}]", "maxscore"),
		bad("a map", "{maxScore: 10, action: deny}"),
		bad("a number in the list", "[10]"),
		reason("does not end", "score {{.score"),
		reason("unknown value", "{{.scor}}", "scor"),
		reason("value in another case", "{{.Score}}", "Score"),
		reason("unknown function", "{{shout .score}}", "shout"),
		reason("no end of if", "{{if .score}}yes"),
		reason("unknown template", `{{template "other"}}`),
		reason("stray end", "{{end}}"),
	})
}

// TestLoaderRefusesPodSecurityRules covers what is left of them.
func TestLoaderRefusesPodSecurityRules(t *testing.T) {
	t.Parallel()
	const field = "spec.podSecurityRules"
	bad := func(name, rules string, names ...string) badPolicy {
		return badPolicy{name, risky(rules), append([]string{"wrong", field}, names...)}
	}
	with := func(name, more string, names ...string) badPolicy {
		return bad(name, "{blockFactors: [hostPID], "+more+"}", names...)
	}
	refuseAll(t, []badPolicy{
		bad("empty", "{}"),
		{"null", risky("null"), []string{"wrong", "spec", "podSecurityRules"}},
		bad("text", "strict"),
		bad("weights that lead to nothing", "{riskFactors: {hostPID: 50}}", "thresholds"),
		bad("empty lists", "{riskFactors: {hostPID: 50}, thresholds: [], blockFactors: []}"),
		with("unknown field", "riskFactor: {hostPID: 1}", "riskFactor"),
		with("field in lower case", "failmode: open", "failmode"),
		with("field in upper case", "FailMode: open", "FailMode"),
		with("unknown fail mode", "failMode: ajar", "failMode", "ajar", "closed"),
		with("fail mode in another case", "failMode: Open", "failMode", "Open"),
		with("fail mode is false", "failMode: false", "failMode"),
		with("unknown scope", "scope: node", "scope", "node"),
		with("unknown subresource", "appliesTo: {subresources: [execs]}", "appliesTo.subresources[0]", "execs"),
		with("subresource with its resource", "appliesTo: {subresources: [pods/exec]}", "appliesTo.subresources[0]", "pods/exec"),
		with("subresource in another case", "appliesTo: {subresources: [exec, Attach]}", "appliesTo.subresources[1]", "Attach"),
		with("subresources as text", "appliesTo: {subresources: exec}", "appliesTo"),
		with("unknown field of appliesTo", "appliesTo: {subresource: [exec]}", "subresource"),
		with("exempt namespaces as text", "exemptions: {namespaces: kube-system}", "exemptions.namespaces"),
		with("exempt namespaces with an unknown field", "exemptions: {namespaces: {pattern: [kube-system]}}", "exemptions.namespaces", "pattern"),
		with("exempt namespaces: a number", "exemptions: {namespaces: [5]}", "exemptions.namespaces"),
		with("exempt labels as a list", "exemptions: {podLabels: [trusted]}", "exemptions"),
		with("exempt label that is true", "exemptions: {podLabels: {trusted: true}}", "podLabels"),
		with("unknown exemption", "exemptions: {users: [alice]}", "users"),
		with("selector with an unknown operator", "exemptions: {namespaces: {selectorTerms: [{matchExpressions: [{key: a, operator: Inn, values: [b]}]}]}}", "selectorTerms[0]", "Inn"),
		with("selector In without values", "exemptions: {namespaces: {selectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}", "selectorTerms[0]"),
		with("selector Exists with values", "exemptions: {namespaces: {selectorTerms: [{matchExpressions: [{key: a, operator: Exists, values: [b]}]}]}}", "selectorTerms[0]"),
		with("selector with a key that is none", "exemptions: {namespaces: {selectorTerms: [{matchLabels: {'a b': c}}]}}", "selectorTerms[0]"),
	})
}

// TestLoaderRefusesDenyPolicySpec covers scope and rules.
func TestLoaderRefusesDenyPolicySpec(t *testing.T) {
	t.Parallel()
	const guard = "\npodSecurityRules: {blockFactors: [hostPID]}"
	bad := func(name, text string, names ...string) badPolicy {
		return badPolicy{name, spec(text), append([]string{"wrong", "spec"}, names...)}
	}
	rule := func(name, text string, names ...string) badPolicy {
		return bad(name, "rules: ["+text+"]", append(names, "spec.rules[0]")...)
	}
	refuseAll(t, []badPolicy{
		bad("empty", "{}"),
		bad("no rules at all", "rules: []", "rules"),
		bad("only a scope", `appliesTo: {clusters: ["*"]}`),
		bad("unknown field", "podSecurityRule: {blockFactors: [hostPID]}", "podSecurityRule"),
		bad("field in another case", "podsecurityrules: {blockFactors: [hostPID]}", "podsecurityrules"),
		bad("empty scope", "appliesTo: {}"+guard, "appliesTo"),
		bad("empty clusters", "appliesTo: {clusters: []}"+guard, "appliesTo.clusters"),
		bad("empty escalationRefs", "appliesTo: {escalationRefs: []}"+guard, "appliesTo.escalationRefs"),
		bad("clusters as text", "appliesTo: {clusters: prod-*}"+guard, "clusters"),
		bad("unknown scope", "appliesTo: {cluster: [prod]}"+guard, "cluster"),
		bad("precedence as text", `precedence: "5"`+guard, "precedence"),
		bad("precedence too large", "precedence: 3000000000"+guard, "precedence"),
		rule("no verbs", `{apiGroups: [""], resources: [pods]}`, "verbs"),
		rule("empty verbs", `{verbs: [], apiGroups: [""], resources: [pods]}`, "verbs"),
		rule("no API groups", "{verbs: [get], resources: [pods]}", "apiGroups"),
		rule("no resources", `{verbs: [get], apiGroups: [""]}`, "resources"),
		rule("unknown field", `{verbs: [get], apiGroups: [""], resources: [pods], users: [a]}`, "users"),
		rule("verb as text", `{verbs: get, apiGroups: [""], resources: [pods]}`, "verbs"),
		rule("empty rule", "{}"),
		rule("a subresource for a verb", `{verbs: [exec], apiGroups: [""], resources: [pods]}`, "verbs[0]", "resources: [pods/exec]"),
		rule("a verb in upper case", `{verbs: [DELETE], apiGroups: [""], resources: [pods]}`, "verbs[0]", "delete"),
		rule("a resource in the singular", `{verbs: [get], apiGroups: [""], resources: [pod]}`, "resources[0]", "pods"),
		rule("a kind for a resource", `{verbs: [get], apiGroups: [""], resources: [Secret]}`, "resources[0]", "secrets"),
		rule("a resource of another group", `{verbs: [get], apiGroups: [""], resources: [deployments]}`, "resources[0]", "apps"),
		rule("a version for a group", `{verbs: [get], apiGroups: [v1], resources: [pods]}`, "apiGroups[0]"),
	})
}
