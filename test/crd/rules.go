package crd

import "slices"

const (
	oneRule     = "{rules: [{name: r, match: {resources: {kinds: [Pod]}}, validate: {HERE}}]}"
	oneMatch    = "{rules: [{name: r, match: {HERE}, validate: {pattern: {a: b}}}]}"
	onePattern  = "{rules: [{name: r, match: {resources: {kinds: [Pod]}}, validate: {pattern: {a: b}}}], HERE}"
	oneStandard = "{rules: [{name: r, match: {resources: {kinds: [Pod]}}, validate: {podSecurity: {HERE}}}]}"
	oneExcluded = "{rules: [{name: r, match: {resources: {kinds: [Pod]}}, validate: {podSecurity: {level: restricted, exclude: [{HERE}]}}}]}"
	exemptFrom  = "{rules: [{name: r, match: {resources: {kinds: [Pod]}}, validate: {podSecurity: {level: namespace, exemptions: {HERE}}}}]}"
	oneVariable = "{rules: [{name: r, match: {resources: {kinds: [Pod]}}, validate: {cel: {variables: [HERE], expressions: [{expression: 'true'}]}}}]}"
	noNamespace = "selects no namespace; name one or more in namespaces"
)

var ofRules = slices.Concat(
	pairs("ClusterPolicy", "{rules: HERE}",
		row{"no rules", "[]", "[{name: r, match: {resources: {kinds: [Pod]}}, validate: {pattern: {a: b}}}]", "spec.rules"},
		row{"a rule without a name", "[{name: '', match: {resources: {kinds: [Pod]}}, validate: {pattern: {a: b}}}]", "[{name: r, match: {resources: {kinds: [Pod]}}, validate: {pattern: {a: b}}}]", "spec.rules[0].name"},
		row{"a name twice", "[{name: r, match: {resources: {kinds: [Pod]}}, validate: {pattern: {a: b}}}, {name: r, match: {resources: {kinds: [Pod]}}, validate: {pattern: {a: b}}}]", "[{name: r, match: {resources: {kinds: [Pod]}}, validate: {pattern: {a: b}}}, {name: s, match: {resources: {kinds: [Pod]}}, validate: {pattern: {a: b}}}]", "spec.rules[1]"},
	),
	pairs("ClusterPolicy", oneRule,
		row{"a pattern and a standard", "pattern: {a: b}, podSecurity: {level: baseline}", "podSecurity: {level: baseline}", "requires several things"},
		row{"a standard and expressions", "podSecurity: {level: baseline}, cel: {expressions: [{expression: 'true'}]}", "cel: {expressions: [{expression: 'true'}]}", "requires several things"},
		row{"a pattern and expressions", "pattern: {a: b}, cel: {expressions: [{expression: 'true'}]}", "pattern: {a: b}", "requires several things"},
		row{"a pattern that every object matches", "pattern: {}", "pattern: {a: b}", "spec.rules[0].validate.pattern"},
		row{"a pattern that is a list", "pattern: [{a: b}]", "anyPattern: [{a: b}]", "spec.rules[0].validate.pattern"},
		row{"an action that there is not", "pattern: {a: b}, failureAction: Deny", "pattern: {a: b}, failureAction: enforce", "spec.rules[0].validate.failureAction"},
		row{"an action for no namespace", "pattern: {a: b}, failureActionOverrides: [{action: Audit}]", "pattern: {a: b}, failureActionOverrides: [{action: Audit, namespaces: [a]}]", noNamespace},
		row{"no expressions", "cel: {expressions: []}", "cel: {expressions: [{expression: 'true'}]}", "spec.rules[0].validate.cel.expressions"},
		row{"an empty expression", "cel: {expressions: [{expression: ''}]}", "cel: {expressions: [{expression: 'true'}]}", "spec.rules[0].validate.cel.expressions[0].expression"},
	),
	pairs("Policy", onePattern,
		row{"an action for no namespace", "validationFailureActionOverrides: [{action: Audit}]", "validationFailureActionOverrides: [{action: Audit, namespaceSelector: {matchLabels: {a: b}}}]", noNamespace},
		row{"an action for an empty list", "validationFailureActionOverrides: [{action: Audit, namespaces: [], namespaceSelector: {matchLabels: {a: b}}}]", "validationFailureActionOverrides: [{action: Audit, namespaces: [a], namespaceSelector: {matchLabels: {a: b}}}]", "spec.validationFailureActionOverrides[0].namespaces"},
		row{"an action for every namespace", "validationFailureActionOverrides: [{action: Audit, namespaceSelector: {}}]", "validationFailureActionOverrides: [{action: Audit, namespaces: ['*']}]", "selects every namespace; give matchLabels or matchExpressions"},
		row{"an action for a variable", "validationFailureActionOverrides: [{action: Audit, namespaces: ['{{ns}}']}]", "validationFailureActionOverrides: [{action: Audit, namespaces: ['ns-?']}]", "spec.validationFailureActionOverrides[0].namespaces[0]"},
		row{"a failure policy that there is not", "failurePolicy: Deny", "failurePolicy: Ignore", "spec.failurePolicy"},
	),
	pairs("ClusterPolicy", oneVariable,
		row{"a variable with a hyphen", "{name: a-b, expression: 'true'}", "{name: a_b, expression: 'true'}", "spec.rules[0].validate.cel.variables[0].name"},
		row{"a variable with a reserved name", "{name: namespace, expression: 'true'}", "{name: namespaces, expression: 'true'}", "is a reserved word of CEL"},
		row{"a variable twice", "{name: a, expression: 'true'}, {name: a, expression: 'false'}", "{name: a, expression: 'true'}, {name: b, expression: 'false'}", "spec.rules[0].validate.cel.variables[1]"},
		row{"a variable without an expression", "{name: a, expression: ''}", "{name: a, expression: 'true'}", "spec.rules[0].validate.cel.variables[0].expression"},
	),
	pairs("ClusterPolicy", oneStandard,
		row{"a level that there is not", "level: strict", "level: restricted", "spec.rules[0].validate.podSecurity.level"},
		row{"a version that is none", "level: baseline, version: '1.34'", "level: baseline, version: v1.34", "spec.rules[0].validate.podSecurity.version"},
		row{"a version of the namespace's level", "level: namespace, version: latest", "level: namespace", "with level namespace the version is read from the namespace's labels"},
		row{"defaults of a level", "level: baseline, defaults: {enforce: baseline}", "level: namespace, defaults: {enforce: baseline}", "defaults and exemptions belong to level namespace"},
		row{"a default level that there is not", "level: namespace, defaults: {enforce: namespace}", "level: namespace, defaults: {enforce: baseline, enforce-version: v1.30}", "spec.rules[0].validate.podSecurity.defaults.enforce"},
		row{"hosts in another way", "level: baseline, probeHosts: any", "level: baseline, probeHosts: kubernetes", "spec.rules[0].validate.podSecurity.probeHosts"},
	),
	pairs("ClusterPolicy", oneExcluded,
		row{"values of no field", "controlName: Capabilities, images: [a], values: [NET_ADMIN]", "controlName: Capabilities, images: [a], values: []", "restrictedField and values go together"},
		row{"an image with a space", "controlName: Capabilities, images: ['a b']", "controlName: Capabilities, images: [a]", "spec.rules[0].validate.podSecurity.exclude[0].images[0]"},
		row{"no control", "controlName: ''", "controlName: Host Namespaces", "spec.rules[0].validate.podSecurity.exclude[0].controlName"},
	),
	pairs("ClusterPolicy", exemptFrom,
		row{"a user without a name", "usernames: ['']", "usernames: [eve]", "exemptions.usernames[0]"},
		row{"a user twice", "usernames: [eve, eve]", "usernames: [eve, joe]", "exemptions.usernames[1]"},
		row{"a pattern of namespaces", "namespaces: ['kube-*']", "namespaces: [kube-system]", "exemptions.namespaces[0]"},
		row{"a runtime class in capitals", "runtimeClasses: [Kata]", "runtimeClasses: [kata.io]", "exemptions.runtimeClasses[0]"},
	),
)

const subjects = "resources: {kinds: [Pod]}, subjects: "

var ofMatches = slices.Concat(
	pairs("ClusterPolicy", oneMatch,
		row{"any and all", "any: [{resources: {kinds: [Pod]}}], all: [{resources: {kinds: [Pod]}}]", "all: [{resources: {kinds: [Pod]}}]", "any and all cannot be used together"},
		row{"any beside a filter", "any: [{resources: {kinds: [Pod]}}], resources: {kinds: [Pod]}", "any: [{resources: {kinds: [Pod]}}]", "any and all cannot stand beside a filter of the short form"},
		row{"all beside roles", "all: [{resources: {kinds: [Pod]}}], clusterRoles: [admin]", "all: [{resources: {kinds: [Pod]}, clusterRoles: [admin]}]", "any and all cannot stand beside a filter of the short form"},
		row{"no filters", "any: []", "any: [{resources: {kinds: [Pod]}}]", "spec.rules[0].match.any"},
		row{"a filter about nothing", "any: [{resources: {}}]", "any: [{resources: {kinds: [Pod]}}]", "spec.rules[0].match.any[0].resources"},
		row{"no kinds", "resources: {kinds: []}", "resources: {kinds: ['*']}", "spec.rules[0].match.resources.kinds"},
		row{"a kind with a space", "resources: {kinds: ['Pod, Job']}", "resources: {kinds: [Pod, batch/v1/Job, '*/*/Pod/*']}", "spec.rules[0].match.resources.kinds[0]"},
		row{"a kind of five parts", "resources: {kinds: [a/b/C/d/e]}", "resources: {kinds: [apps/v1/Deployment/scale, Pod]}", "spec.rules[0].match.resources.kinds[0]"},
		row{"a name with a slash", "resources: {kinds: [Pod], names: [a/b]}", "resources: {kinds: [Pod], names: ['a?b']}", "spec.rules[0].match.resources.names[0]"},
		row{"a set of characters", "resources: {kinds: [Pod], names: ['a[bc]']}", "resources: {kinds: [Pod], names: [ab, ac]}", "spec.rules[0].match.resources.names[0]"},
		row{"an empty name", "resources: {kinds: [Pod], names: ['']}", "resources: {kinds: [Pod], names: ['*']}", "spec.rules[0].match.resources.names[0]"},
		row{"a namespace that cannot be", "resources: {kinds: [Pod], namespaces: [Shop]}", "resources: {kinds: [Pod], namespaces: ['shop-*']}", "spec.rules[0].match.resources.namespaces[0]"},
		row{"an operation that there is not", "resources: {kinds: [Pod], operations: [PATCH]}", "resources: {kinds: [Pod], operations: [UPDATE]}", "spec.rules[0].match.resources.operations[0]"},
		row{"no annotations", "resources: {kinds: [Pod], annotations: {}}", "resources: {kinds: [Pod], annotations: {a: b}}", "spec.rules[0].match.resources.annotations"},
		row{"no roles", "resources: {kinds: [Pod]}, roles: []", "resources: {kinds: [Pod]}, roles: ['a:b']", "spec.rules[0].match.roles"},
		row{"a role of no namespace", "resources: {kinds: [Pod]}, roles: [b]", "resources: {kinds: [Pod]}, roles: ['*:b']", "spec.rules[0].match.roles[0]"},
		row{"a role with a slash", "resources: {kinds: [Pod]}, clusterRoles: [a/b]", "resources: {kinds: [Pod]}, clusterRoles: ['a:b']", "spec.rules[0].match.clusterRoles[0]"},
		row{"no subjects", subjects + "[]", subjects + "[{kind: User, name: eve}]", "spec.rules[0].match.subjects"},
		row{"a kind of subject that there is not", subjects + "[{kind: Team, name: eve}]", subjects + "[{kind: Group, name: eve}]", "kind is User, Group or ServiceAccount"},
		row{"a subject without a name", subjects + "[{kind: User, name: ''}]", subjects + "[{kind: User, name: '*'}]", "an empty name matches nobody"},
		row{"an account of no namespace", subjects + "[{kind: ServiceAccount, name: a}]", subjects + "[{kind: ServiceAccount, name: a, namespace: b}]", "a ServiceAccount is in a namespace"},
		row{"a user in a namespace", subjects + "[{kind: User, name: eve, namespace: a}]", subjects + "[{kind: User, name: eve, namespace: ''}]", "a User and a Group are in none"},
		row{"the group of an account", subjects + "[{kind: ServiceAccount, name: a, namespace: b, apiGroup: rbac.authorization.k8s.io}]", subjects + "[{kind: Group, name: a, apiGroup: rbac.authorization.k8s.io}]", "apiGroup is rbac.authorization.k8s.io for a User and a Group"},
	),
	pairs("ClusterPolicyException", "{exceptions: [{policyName: p}], expiresAt: '2030-01-01T00:00:00Z', match: {HERE}}",
		row{"any beside a filter, of an exception", "any: [{resources: {kinds: [Pod]}}], resources: {kinds: [Pod]}", "any: [{resources: {kinds: [Pod]}}]", "any and all cannot stand beside a filter of the short form"},
		row{"a subject of an exception", "any: [{resources: {kinds: [Pod]}, subjects: [{kind: user, name: eve}]}]", "any: [{resources: {kinds: [Pod]}, subjects: [{kind: User, name: eve}]}]", "kind is User, Group or ServiceAccount"},
	),
)
