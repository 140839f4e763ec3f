package match_test

import "testing"

// TestTableNames holds name, names and the name that is still to be generated.
func TestTableNames(t *testing.T) {
	pod := tableTarget(kindPod)
	runTable(t, []tableCase{
		{"a name", `resources: {names: [web]}`, pod, hit},
		{"another name", `resources: {names: [db]}`, pod, miss},
		{"a name is not a prefix", `resources: {names: [we]}`, pod, miss},
		{"a name is not a suffix", `resources: {names: [eb]}`, pod, miss},
		{"one of several names", `resources: {names: [db, web]}`, pod, hit},
		{"none of several names", `resources: {names: [db, cache]}`, pod, miss},
		{"names are case-sensitive", `resources: {names: [admin]}`, tableTarget(kindClusterRole, withoutNamespace, withName("Admin")), miss},
		{"the single name", `resources: {name: web}`, pod, hit},
		{"the single name, another", `resources: {name: db}`, pod, miss},
		{"the single name with a wildcard", `resources: {name: "w*"}`, pod, hit},
		{"a wildcard at the end", `resources: {names: ["web-*"]}`, tableTarget(kindPod, withName("web-7d9f")), hit},
		{"a wildcard at the end needs what is before it", `resources: {names: ["web-*"]}`, pod, miss},
		{"a wildcard at the beginning", `resources: {names: ["*-canary"]}`, tableTarget(kindPod, withName("web-canary")), hit},
		{"wildcards on both sides", `resources: {names: ["*debug*"]}`, tableTarget(kindPod, withName("a-debug-b")), hit},
		{"wildcards need all that is between them", `resources: {names: ["a*b*c"]}`, tableTarget(kindPod, withName("acb")), miss},
		{"a question mark in a name", `resources: {names: ["we?"]}`, pod, hit},
		{"two question marks are two characters", `resources: {names: ["we??"]}`, pod, miss},
		{"every name", `resources: {names: ["*"]}`, pod, hit},
		{"a dot in a name is a dot", `resources: {names: [a.b]}`, tableTarget(kindPod, withName("axb")), miss},
		{"a name without kind is about every kind", `resources: {names: [web]}`, tableTarget(kindRollout), hit},
		{"a name and a kind, both hold", `resources: {kinds: [Pod], names: [web]}`, pod, hit},
		{"a name and a kind, the name does not", `resources: {kinds: [Pod], names: [db]}`, pod, miss},
		{"a name and a kind, the kind does not", `resources: {kinds: [Job], names: [web]}`, pod, miss},
		{"a name of a cluster-scoped resource", `resources: {kinds: [Node], names: ["worker-*"]}`, tableTarget(kindNode, withoutNamespace, withName("worker-1")), hit},

		{"a generated name as it stands", `resources: {names: [web-]}`, tableTarget(kindPod, withGenerateName("web-")), hit},
		{"a generated name with a wildcard", `resources: {names: ["web-*"]}`, tableTarget(kindPod, withGenerateName("web-")), hit},
		{"a generated name that does not fit", `resources: {names: ["web-*"]}`, tableTarget(kindPod, withGenerateName("db-")), miss},
		{"what may come of a generated name does not count", `resources: {names: [web-1]}`, tableTarget(kindPod, withGenerateName("web-")), miss},
		{"a question mark needs a character of the generated name", `resources: {names: ["web-?*"]}`, tableTarget(kindPod, withGenerateName("web-")), miss},
		{"the single name and a generated one", `resources: {name: "web-*"}`, tableTarget(kindPod, withGenerateName("web-")), hit},
		{"a name wins over the prefix that it came from", `resources: {names: [web-]}`, tableTarget(kindPod, withGenerateName("web-"), withName("web-1")), miss},
		{"a prefix does not help a name that does not fit", `resources: {names: ["trusted-*"]}`, tableTarget(kindPod, withGenerateName("trusted-"), withName("evil")), miss},
		{"a target with neither name nor prefix", `resources: {names: [web]}`, tableTarget(kindPod, withName("")), miss},
	})
}
