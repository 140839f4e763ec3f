package crd

import "slices"

const (
	excused   = "{match: {resources: {kinds: [Pod]}}, exceptions: [{policyName: p}], HERE}"
	excusedBy = "{match: {resources: {kinds: [Pod]}}, expiresAt: '2030-01-01T00:00:00Z', exceptions: HERE}"
	together  = "duration and expiresAt cannot be used together"
	unread    = "write whole numbers with the units w, d, h, m and s"
)

var ofExceptions = slices.Concat(
	pairs("PolicyException", excused,
		row{"a duration and an end", "duration: 1d, expiresAt: '2030-01-01T00:00:00Z'", "expiresAt: '2030-01-01T00:00:00Z'", together},
		row{"an end before the beginning", "notBefore: '2030-01-01T00:00:00Z', expiresAt: '2029-01-01T00:00:00Z'", "notBefore: '2030-01-01T00:00:00Z', expiresAt: '2031-01-01T00:00:00Z'", "notBefore is not before the exception ends"},
		row{"an end at the beginning", "notBefore: '2030-01-01T00:00:00Z', expiresAt: '2030-01-01T00:00:00Z'", "notBefore: '2030-01-01T00:00:00Z', expiresAt: '2030-01-01T00:00:01Z'", "notBefore is not before the exception ends"},
		row{"no controls", "podSecurity: []", "podSecurity: [{controlName: Host Namespaces}]", "spec.podSecurity"},
		row{"an empty condition", "conditions: [{expression: ''}]", "conditions: [{expression: 'true'}]", "spec.conditions[0].expression"},
	),
	pairs("ClusterPolicyException", excused, durations("duration", "spec.")...),
	pairs("PolicyException", excusedBy,
		row{"no policies", "[]", "[{policyName: p}]", "spec.exceptions"},
		row{"no policy", "[{policyName: ''}]", "[{policyName: p}]", "spec.exceptions[0].policyName"},
		row{"a policy in a namespace without a name", "[{policyName: a/}]", "[{policyName: a/p}]", "spec.exceptions[0].policyName"},
		row{"two namespaces", "[{policyName: a/b/p}]", "[{policyName: b/p}]", "spec.exceptions[0].policyName"},
		row{"a kind that cannot be excused", "[{policyName: p, policyKind: PodKind}]", "[{policyName: p, policyKind: ''}]", "spec.exceptions[0].policyKind"},
		row{"no rules", "[{policyName: p, ruleNames: []}]", "[{policyName: p, ruleNames: ['*']}]", "spec.exceptions[0].ruleNames"},
		row{"a rule without a name", "[{policyName: p, ruleNames: ['']}]", "[{policyName: p, ruleNames: [r]}]", "spec.exceptions[0].ruleNames[0]"},
		row{"a space behind a rule", "[{policyName: p, ruleNames: ['r ']}]", "[{policyName: p, ruleNames: ['r s']}]", "spec.exceptions[0].ruleNames[0]"},
	),
	pairs("ExceptionPolicy", "{policies: HERE}",
		row{"no policies", "[]", "['*']", "spec.policies"},
		row{"an empty policy", "['']", "[a/b]", "spec.policies[0]"},
		row{"a set of characters", "['a[bc]']", "['a?']", "spec.policies[0]"},
	),
	pairs("ExceptionPolicy", "{policies: [p], HERE}",
		row{"no namespaces", "namespaces: []", "namespaces: [a]", "spec.namespaces"},
		row{"two namespaces in one", "namespaces: ['a b']", "namespaces: [a, b]", "spec.namespaces[0]"},
		row{"alternatives of namespaces", "trustedNamespaces: ['{a,b}']", "trustedNamespaces: [a, b]", "spec.trustedNamespaces[0]"},
		row{"a kind that cannot be excused", "policyKinds: [PodKind]", "policyKinds: [Policy]", "spec.policyKinds[0]"},
		row{"a kind twice", "policyKinds: [Policy, Policy]", "policyKinds: [Policy, DenyPolicy]", "spec.policyKinds[1]"},
		row{"a way of writing that there is not", "writing: ask", "writing: approve", "spec.writing"},
		row{"a condition of nothing", "approvalCondition: 'true'", "approvalPolicy: Automatic, approvalCondition: 'true'", "approvalCondition belongs to approvalPolicy Automatic"},
		row{"an empty condition", "approvalPolicy: automatic", "approvalPolicy: Manual, approvalCondition: ''", "spec.approvalPolicy"},
		row{"a kind of subject that there is not", "allowedSubjects: [{kind: Team, name: a}]", "allowedSubjects: [{kind: Group, name: a}]", "kind is User, Group or ServiceAccount"},
		row{"a subject without a name", "allowedSubjects: [{kind: Group, name: ''}]", "allowedSubjects: []", "an empty name matches nobody"},
		row{"an account of no namespace", "allowedSubjects: [{kind: ServiceAccount, name: a}]", "allowedSubjects: [{kind: ServiceAccount, name: a, namespace: b}]", "a ServiceAccount is in a namespace"},
		row{"another group of subjects", "allowedSubjects: [{kind: User, name: a, apiGroup: v1}]", "allowedSubjects: [{kind: User, name: a, apiGroup: ''}]", "apiGroup is rbac.authorization.k8s.io for a User and a Group"},
	),
	pairs("ExceptionPolicy", "{policies: [p], HERE}", durations("maxDuration", "spec.")...),
)

const asked = "{apiVersion: sallyport.io/v1alpha1, kind: PolicyExceptionRequest, metadata: {name: a, namespace: shop}, spec: {exclude: {resources: {kinds: [Pod]}}, exceptions: [{policyName: p, duration: 1d}]}}"

var ofRequests = slices.Concat(
	pairs("PolicyExceptionRequest", "{exclude: {resources: {kinds: [Pod]}}, HERE}",
		row{"a duration and an end for one", "exceptions: [{policyName: p, duration: 1d, expiresAt: '2030-01-01T00:00:00Z'}]", "exceptions: [{policyName: p, duration: 1d}]", together},
		row{"a duration and an end for all", "exceptions: [{policyName: p, duration: 1d}, {policyName: q}], duration: 1d, expiresAt: '2030-01-01T00:00:00Z'", "exceptions: [{policyName: p, duration: 1d}, {policyName: q, duration: 2d}], duration: 1d, expiresAt: '2030-01-01T00:00:00Z'", together},
		row{"a duration of one that cannot be read", "exceptions: [{policyName: p, duration: 1y}]", "exceptions: [{policyName: p, duration: 1w}]", "spec.exceptions[0].duration"},
		row{"a duration of all that cannot be read", "exceptions: [{policyName: p}], duration: 1y", "exceptions: [{policyName: p}], duration: 1w", unread},
		row{"a duration of none", "exceptions: [{policyName: p}], duration: 0d", "exceptions: [{policyName: p, duration: 1d}], duration: 0d", unread},
		row{"no policies", "exceptions: [], duration: 1d", "exceptions: [{policyName: p}], duration: 1d", "spec.exceptions"},
	),
	beside(asked, pairs("PolicyExceptionResponse", "{HERE}",
		row{"no request", "name: '', status: Denied", "name: a, status: Denied", "spec.name"},
		row{"an answer that is none", "name: a, status: Maybe", "name: a, status: Approved", "spec.status"},
		row{"a way to approve that there is not", "name: a, status: Denied, approvalPolicy: Both", "name: a, status: Denied, approvalPolicy: manual", "spec.approvalPolicy"},
	)),
)
