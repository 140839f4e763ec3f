package match_test

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// TestTableSubjects holds subjects of each kind against who asks.
func TestTableSubjects(t *testing.T) {
	alice := tableTarget(kindPod)
	builder := tableTarget(kindPod, withUser("system:serviceaccount:ci:builder", "system:serviceaccounts", "system:serviceaccounts:ci"))
	loner := tableTarget(kindPod, withUser("loner"))

	runTable(t, []tableCase{
		{"a user", `subjects: [{kind: User, name: alice}]`, alice, hit},
		{"another user", `subjects: [{kind: User, name: bob}]`, alice, miss},
		{"a user with the group of the API", `subjects: [{kind: User, name: alice, apiGroup: rbac.authorization.k8s.io}]`, alice, hit},
		{"a user's name is not a prefix", `subjects: [{kind: User, name: ali}]`, alice, miss},
		{"a user's name is case-sensitive", `subjects: [{kind: User, name: Alice}]`, alice, miss},
		{"a wildcard in a user's name", `subjects: [{kind: User, name: "al*"}]`, alice, hit},
		{"a wildcard in a user's name that does not fit", `subjects: [{kind: User, name: "b*"}]`, alice, miss},
		{"a question mark in a user's name", `subjects: [{kind: User, name: "alic?"}]`, alice, hit},
		{"every user", `subjects: [{kind: User, name: "*"}]`, loner, hit},
		{"a user is not a group", `subjects: [{kind: User, name: developers}]`, alice, miss},
		{"a service account's user name as a user", `subjects: [{kind: User, name: "system:serviceaccount:ci:builder"}]`, builder, hit},
		{"service accounts of a namespace as users", `subjects: [{kind: User, name: "system:serviceaccount:ci:*"}]`, builder, hit},
		{"service accounts of another namespace as users", `subjects: [{kind: User, name: "system:serviceaccount:cd:*"}]`, builder, miss},

		{"a group", `subjects: [{kind: Group, name: developers}]`, alice, hit},
		{"a group that is not the first", `subjects: [{kind: Group, name: "system:authenticated"}]`, alice, hit},
		{"another group", `subjects: [{kind: Group, name: admins}]`, alice, miss},
		{"a group is not a user", `subjects: [{kind: Group, name: alice}]`, alice, miss},
		{"a wildcard in a group", `subjects: [{kind: Group, name: "dev*"}]`, alice, hit},
		{"a wildcard in a group that does not fit", `subjects: [{kind: Group, name: "ops-*"}]`, alice, miss},
		{"every group", `subjects: [{kind: Group, name: "*"}]`, alice, hit},
		{"every group, but the user is in none", `subjects: [{kind: Group, name: "*"}]`, loner, miss},
		{"a group of service accounts", `subjects: [{kind: Group, name: "system:serviceaccounts:ci"}]`, builder, hit},
		{"a group that is case-sensitive", `subjects: [{kind: Group, name: Developers}]`, alice, miss},

		{"a service account", `subjects: [{kind: ServiceAccount, namespace: ci, name: builder}]`, builder, hit},
		{"a service account of another namespace", `subjects: [{kind: ServiceAccount, namespace: cd, name: builder}]`, builder, miss},
		{"another service account of the namespace", `subjects: [{kind: ServiceAccount, namespace: ci, name: deployer}]`, builder, miss},
		{"a service account with the empty group of the API", `subjects: [{kind: ServiceAccount, apiGroup: "", namespace: ci, name: builder}]`, builder, hit},
		{"a user who is called like a service account's name", `subjects: [{kind: ServiceAccount, namespace: ci, name: builder}]`, tableTarget(kindPod, withUser("builder")), miss},
		{"a user who is called like namespace and name", `subjects: [{kind: ServiceAccount, namespace: ci, name: builder}]`, tableTarget(kindPod, withUser("ci:builder")), miss},
		{"a user with more behind a service account's name", `subjects: [{kind: ServiceAccount, namespace: ci, name: builder}]`, tableTarget(kindPod, withUser("system:serviceaccount:ci:builder:x")), miss},
		{"a service account's name in a group", `subjects: [{kind: ServiceAccount, namespace: ci, name: builder}]`, tableTarget(kindPod, withUser("eve", "system:serviceaccount:ci:builder")), miss},
		{"where the resource is says nothing of the service account", `subjects: [{kind: ServiceAccount, namespace: dev, name: builder}]`, builder, miss},

		{"one of several subjects", `subjects: [{kind: User, name: bob}, {kind: Group, name: developers}]`, alice, hit},
		{"the last of several subjects", `subjects: [{kind: User, name: bob}, {kind: Group, name: admins}, {kind: ServiceAccount, namespace: ci, name: builder}]`, builder, hit},
		{"none of several subjects", `subjects: [{kind: User, name: bob}, {kind: Group, name: admins}]`, alice, miss},
		{"a bare subject is about every kind", `subjects: [{kind: User, name: alice}]`, tableTarget(kindRollout), hit},
		{"a bare subject is about cluster-scoped resources", `subjects: [{kind: User, name: alice}]`, tableTarget(kindNode, withoutNamespace), hit},
		{"a subject and a resource", `{resources: {kinds: [Pod]}, subjects: [{kind: User, name: alice}]}`, alice, hit},
		{"a subject that holds and a resource that does not", `{resources: {kinds: [Job]}, subjects: [{kind: User, name: alice}]}`, alice, miss},
		{"a resource that holds and a subject that does not", `{resources: {kinds: [Pod]}, subjects: [{kind: User, name: bob}]}`, alice, miss},

		{"a subject where no user is known", `subjects: [{kind: User, name: alice}]`, tableTarget(kindPod, withoutUser), noUser},
		{"every user where none is known", `subjects: [{kind: User, name: "*"}]`, tableTarget(kindPod, withoutUser), noUser},
		{"a group where no user is known", `subjects: [{kind: Group, name: "*"}]`, tableTarget(kindPod, withoutUser), noUser},
		{"a service account where no user is known", `subjects: [{kind: ServiceAccount, namespace: ci, name: builder}]`, tableTarget(kindPod, withoutUser), noUser},
		{"a subject and a resource that holds, no user known", `{resources: {kinds: [Pod]}, subjects: [{kind: User, name: alice}]}`, tableTarget(kindPod, withoutUser), noUser},
		{"a subject and a kind that does not hold, no user known", `{resources: {kinds: [Job]}, subjects: [{kind: User, name: alice}]}`, tableTarget(kindPod, withoutUser), miss},
		{"a subject and a name that does not hold, no user known", `{resources: {names: [db]}, subjects: [{kind: User, name: alice}]}`, tableTarget(kindPod, withoutUser), miss},
		{"a subject and an operation, neither known", `{resources: {operations: [CREATE]}, subjects: [{kind: User, name: alice}]}`, tableTarget(kindPod, withoutUser), miss},
		{"no condition on the user, no user known", `resources: {kinds: [Pod]}`, tableTarget(kindPod, withoutUser), hit},
	})
}

// TestTableRoles holds roles and clusterRoles against what is bound to who asks.
func TestTableRoles(t *testing.T) {
	bound := tableTarget(kindPod, withRoles(
		[]string{"dev:admin", "kube-system:system:controller:bootstrap-signer", "ops:team:admin"},
		[]string{"view", "system:discovery"}))
	none := tableTarget(kindPod, withRoles(nil, nil))

	runTable(t, []tableCase{
		{"a role", `roles: [dev:admin]`, bound, hit},
		{"a role of another namespace", `roles: [prod:admin]`, bound, miss},
		{"another role of the namespace", `roles: [dev:edit]`, bound, miss},
		{"one of several roles", `roles: [dev:edit, dev:admin]`, bound, hit},
		{"none of several roles", `roles: [dev:edit, prod:admin]`, bound, miss},
		{"a role, nothing bound", `roles: [dev:admin]`, none, miss},
		{"every role of a namespace", `roles: ["dev:*"]`, bound, hit},
		{"every role of another namespace", `roles: ["prod:*"]`, bound, miss},
		{"a role of every namespace", `roles: ["*:admin"]`, bound, hit},
		{"another role of every namespace", `roles: ["*:edit"]`, bound, miss},
		{"every role of every namespace", `roles: ["*:*"]`, bound, hit},
		{"every role of every namespace, nothing bound", `roles: ["*:*"]`, none, miss},
		{"a question mark in a role", `roles: ["de?:admi?"]`, bound, hit},
		{"a role with colons in its name", `roles: ["kube-system:system:controller:bootstrap-signer"]`, bound, hit},
		{"a wildcard after a colon in a role's name", `roles: ["kube-system:system:*"]`, bound, hit},
		{"a wildcard in the namespace does not reach into the role's name", `roles: ["o*:admin"]`, bound, miss},
		{"a role's name counts from its beginning", `roles: ["*:controller:bootstrap-signer"]`, bound, miss},
		{"a role is not a cluster role", `roles: ["dev:view"]`, bound, miss},
		{"where the resource is says nothing of the role", `roles: ["dev:admin"]`, tableTarget(kindPod, withRoles([]string{"prod:admin"}, nil)), miss},

		{"a cluster role", `clusterRoles: [view]`, bound, hit},
		{"another cluster role", `clusterRoles: [edit]`, bound, miss},
		{"one of several cluster roles", `clusterRoles: [edit, view]`, bound, hit},
		{"a wildcard in a cluster role", `clusterRoles: ["system:*"]`, bound, hit},
		{"a wildcard in a cluster role that does not fit", `clusterRoles: ["cluster-*"]`, bound, miss},
		{"every cluster role", `clusterRoles: ["*"]`, bound, hit},
		{"every cluster role, nothing bound", `clusterRoles: ["*"]`, none, miss},
		{"a cluster role is not a role", `clusterRoles: [admin]`, bound, miss},
		{"a cluster role is not a role with its namespace", `clusterRoles: ["dev:admin"]`, bound, miss},
		{"a cluster role is case-sensitive", `clusterRoles: [View]`, bound, miss},

		{"a role and a cluster role", `{roles: [dev:admin], clusterRoles: [view]}`, bound, hit},
		{"a role that holds and a cluster role that does not", `{roles: [dev:admin], clusterRoles: [edit]}`, bound, miss},
		{"a cluster role that holds and a role that does not", `{roles: [dev:edit], clusterRoles: [view]}`, bound, miss},
		{"a subject, a role and a cluster role", `{subjects: [{kind: User, name: alice}], roles: [dev:admin], clusterRoles: [view]}`, bound, hit},
		{"a role that holds and a subject that does not", `{subjects: [{kind: User, name: bob}], roles: [dev:admin]}`, bound, miss},
		{"a subject that holds and a role that does not", `{subjects: [{kind: User, name: alice}], roles: [dev:edit]}`, bound, miss},
		{"a role and a resource that does not hold", `{resources: {kinds: [Job]}, roles: [dev:admin]}`, bound, miss},
		{"a role and a resource", `{resources: {kinds: [Pod]}, roles: [dev:admin]}`, bound, hit},

		{"roles that cannot be read", `roles: [dev:admin]`, tableTarget(kindPod, withUnreadRoles), unread},
		{"cluster roles that cannot be read", `clusterRoles: [view]`, tableTarget(kindPod, withUnreadRoles), unread},
		{"nobody to read roles", `roles: [dev:admin]`, tableTarget(kindPod, func(t *match.Target) { t.Roles = nil }), failed},
		{"nobody to read roles, and none needed", `subjects: [{kind: User, name: alice}]`, tableTarget(kindPod, func(t *match.Target) { t.Roles = nil }), hit},
		{"unread roles behind a subject that does not hold", `{subjects: [{kind: User, name: bob}], roles: [dev:admin]}`, tableTarget(kindPod, withUnreadRoles), miss},
		{"unread roles behind a subject that holds", `{subjects: [{kind: User, name: alice}], roles: [dev:admin]}`, tableTarget(kindPod, withUnreadRoles), unread},
		{"unread roles behind a kind that does not hold", `{resources: {kinds: [Job]}, clusterRoles: [view]}`, tableTarget(kindPod, withUnreadRoles), miss},
		{"unread roles behind a namespace selector that does not hold", `{resources: {namespaceSelector: {matchLabels: {env: prod}}}, roles: [dev:admin]}`, tableTarget(kindPod, withNamespaceLabels("env", "dev"), withUnreadRoles), miss},
		{"unread labels before roles that do not hold", `{resources: {namespaceSelector: {matchLabels: {env: prod}}}, roles: [dev:admin]}`, tableTarget(kindPod, withUnreadNamespace, withRoles(nil, nil)), miss},
		{"unread labels before roles that hold", `{resources: {namespaceSelector: {matchLabels: {env: prod}}}, roles: [dev:admin]}`, tableTarget(kindPod, withUnreadNamespace, withRoles([]string{"dev:admin"}, nil)), unread},
		{"unread labels before a subject that does not hold", `{resources: {namespaceSelector: {matchLabels: {env: prod}}}, subjects: [{kind: User, name: bob}]}`, tableTarget(kindPod, withUnreadNamespace), miss},
		{"unread labels before a subject that holds", `{resources: {namespaceSelector: {matchLabels: {env: prod}}}, subjects: [{kind: User, name: alice}]}`, tableTarget(kindPod, withUnreadNamespace), unread},
		{"neither labels nor roles can be read", `{resources: {namespaceSelector: {matchLabels: {env: prod}}}, roles: [dev:admin]}`, tableTarget(kindPod, withUnreadNamespace, withUnreadRoles), unread},

		{"a role where no user is known", `roles: [dev:admin]`, tableTarget(kindPod, withoutUser), noUser},
		{"a role where no user is known, though roles can be read", `roles: [dev:admin]`, tableTarget(kindPod, withoutUser, withRoles([]string{"dev:admin"}, nil)), noUser},
		{"a cluster role where no user is known", `clusterRoles: ["*"]`, tableTarget(kindPod, withoutUser), noUser},
		{"a role behind another kind, no user known", `{resources: {kinds: [Job]}, roles: [dev:admin]}`, tableTarget(kindPod, withoutUser), miss},
		{"a subject behind a namespace selector that does not hold, no user known", `{resources: {namespaceSelector: {matchLabels: {env: prod}}}, subjects: [{kind: User, name: alice}]}`, tableTarget(kindPod, withoutUser, withNamespaceLabels("env", "dev")), miss},
		{"neither labels nor user", `{resources: {namespaceSelector: {matchLabels: {env: prod}}}, subjects: [{kind: User, name: alice}]}`, tableTarget(kindPod, withoutUser, withUnreadNamespace), either},
	})
}
