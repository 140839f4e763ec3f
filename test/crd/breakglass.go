package crd

import "slices"

const escalation = "{allowed: {clusters: [a], groups: [dev]}, approvers: {groups: [sre]}, HERE}"

// durations are rows about a field that holds one.
func durations(field, path string) []row {
	says := "write whole numbers with the units w, d, h, m and s"
	return []row{
		{field + " in a unit that there is not", field + ": 1y", field + ": 52w", says},
		{field + " without a unit", field + ": '90'", field + ": 90s", path + field},
		{field + " of no time", field + ": 0h0m", field + ": 0h1m", says},
		{field + " with a fraction", field + ": 1.5h", field + ": 1h30m", says},
	}
}

var ofEscalations = slices.Concat(
	pairs("BreakglassEscalation", "{allowed: {HERE}, approvers: {groups: [sre]}}",
		row{"no clusters", "clusters: [], groups: [dev]", "clusters: ['*'], groups: [dev]", "spec.allowed.clusters"},
		row{"an empty cluster", "clusters: [''], groups: [dev]", "clusters: ['a b'], groups: [dev]", "spec.allowed.clusters[0]"},
		row{"a set of characters", "clusters: ['prod-[ab]'], groups: [dev]", "clusters: ['prod-?'], groups: [dev]", "spec.allowed.clusters[0]"},
		row{"a space behind a group", "clusters: [a], groups: ['dev ']", "clusters: [a], groups: [dev]", "spec.allowed.groups[0]"},
		row{"alternatives of groups", "clusters: [a], groups: ['{dev,ops}']", "clusters: [a], groups: [dev, ops]", "spec.allowed.groups[0]"},
	),
	pairs("BreakglassEscalation", "{allowed: {clusters: [a], groups: [dev]}, approvers: {HERE}}",
		row{"no approvers", "", "users: [eve]", "spec.approvers"},
		row{"lists of approvers that are empty", "users: [], groups: []", "users: [], groups: [sre]", "names nobody, so nothing could be approved"},
		row{"a pattern of users", "users: ['eve*']", "users: [eve]", "spec.approvers.users[0]"},
		row{"a user twice", "users: [eve, eve]", "users: [eve, joe]", "spec.approvers.users[1]"},
		row{"a group twice", "groups: [sre, sre]", "groups: [sre, ops]", "spec.approvers.groups[1]"},
		row{"an empty group", "groups: ['']", "groups: [sre]", "spec.approvers.groups[0]"},
		row{"a space ahead of a group", "groups: [' sre']", "groups: ['my sre']", "spec.approvers.groups[0]"},
	),
	pairs("BreakglassEscalation", "{allowed: {clusters: [a], groups: [dev]}, HERE}",
		row{"more approvals than approvers", "approvers: {users: [eve]}, requiredApprovals: 2", "approvers: {users: [eve, joe]}, requiredApprovals: 2", "can never be met"},
		row{"approvals of no group", "approvers: {users: [eve], groups: []}, requiredApprovals: 2", "approvers: {users: [eve], groups: [sre]}, requiredApprovals: 2", "can never be met"},
	),
	pairs("BreakglassEscalation", escalation,
		row{"the group above all", "escalatedGroup: 'system:masters'", "escalatedGroup: 'system:masters-of-none'", "system:masters is given to nobody"},
		row{"no approvals", "requiredApprovals: 0", "requiredApprovals: 1", "spec.requiredApprovals"},
		row{"a pattern of policies", "denyPolicyRefs: ['a*']", "denyPolicyRefs: [a]", "spec.denyPolicyRefs[0]"},
		row{"a policy twice", "denyPolicyRefs: [a, a]", "denyPolicyRefs: [a, b]", "spec.denyPolicyRefs[1]"},
		row{"an idleness that there is not", "idle: never", "idle: authorizer", "spec.idle"},
		row{"an action that there is not", "afterUse: {action: delete}", "afterUse: {action: evict}", "spec.afterUse.action"},
		row{"a score below 0", "podSecurityOverrides: {maxAllowedScore: -1}", "podSecurityOverrides: {maxAllowedScore: 0}", "spec.podSecurityOverrides.maxAllowedScore"},
		row{"an unknown factor", "podSecurityOverrides: {exemptFactors: [root]}", "podSecurityOverrides: {exemptFactors: [runAsRoot]}", "spec.podSecurityOverrides.exemptFactors[0]"},
		row{"a factor twice", "podSecurityOverrides: {exemptFactors: [hostPID, hostPID]}", "podSecurityOverrides: {exemptFactors: [hostPID, hostIPC]}", "spec.podSecurityOverrides.exemptFactors[1]"},
		row{"approvers that do not count", "podSecurityOverrides: {approvers: {users: [eve]}}", "podSecurityOverrides: {requireApproval: true, approvers: {users: [eve]}}", "approvers count only with requireApproval"},
	),
	pairs("BreakglassEscalation", escalation, durations("maxValidFor", "spec.")...),
	pairs("BreakglassEscalation", escalation, durations("idleTimeout", "spec.")...),
	pairs("BreakglassEscalation", escalation, durations("approvalTimeout", "spec.")...),
	pairs("BreakglassEscalation", escalation, durations("retainFor", "spec.")...),
	pairs("BreakglassEscalation", "{allowed: {clusters: [a], groups: [dev]}, approvers: {groups: [sre]}, afterUse: {action: mark, HERE}}", durations("grace", "spec.afterUse.")...),
)

const session = "{cluster: a, user: eve, escalationRef: debug, HERE}"

var ofSessions = slices.Concat(
	pairs("BreakglassSession", "{cluster: a, HERE}",
		row{"nobody who asks", "user: '', escalationRef: debug", "user: eve, escalationRef: debug", "spec.user"},
		row{"no escalation", "user: eve, escalationRef: ''", "user: eve, escalationRef: debug", "spec.escalationRef"},
	),
	pairs("BreakglassSession", session,
		row{"the group above all", "grantedGroup: 'system:masters'", "grantedGroup: debuggers", "system:masters is given to nobody"},
	),
	pairs("BreakglassSession", session, durations("maxValidFor", "spec.")...),
	pairs("BreakglassSession", session, durations("idleTimeout", "spec.")...),
	pairs("BreakglassSession", session, durations("retainFor", "spec.")...),
)

var ofClusters = pairs("ClusterConfig", "{kubeconfigSecretRef: {name: a}, HERE}",
	row{"an ID with a slash", "clusterID: a/b", "clusterID: a.b", "spec.clusterID"},
	row{"a tenant that begins with a dot", "tenant: .a", "tenant: a", "spec.tenant"},
	row{"an environment with a space", "environment: a b", "environment: ''", "spec.environment"},
	row{"a door that there is not", "doors: [side]", "doors: [access]", "spec.doors[0]"},
	row{"a door twice", "doors: [access, access]", "doors: [access, admission]", "spec.doors[1]"},
	row{"an empty name", "callers: {commonNames: ['']}", "callers: {commonNames: [a]}", "spec.callers.commonNames[0]"},
	row{"a name twice", "callers: {commonNames: [a, a]}", "callers: {commonNames: [a, b]}", "spec.callers.commonNames[1]"},
	row{"a pattern of names", "callers: {commonNames: ['a*']}", "callers: {commonNames: [a]}", "is compared as it stands, and is not a pattern"},
	row{"a character of names left open", "callers: {commonNames: ['a?']}", "callers: {commonNames: [a]}", "is compared as it stands, and is not a pattern"},
)
