package cluster

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// harmless are the roles that every cluster has and that reach none of the
// powers and no runtime of a pod.
var harmless = []string{
	"system:auth-delegator",
	"system:basic-user",
	"system:certificates.k8s.io:certificatesigningrequests:nodeclient",
	"system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
	"system:cluster-trust-bundle-discovery",
	"system:discovery",
	"system:heapster",
	"system:kube-aggregator",
	"system:kube-dns",
	"system:monitoring",
	"system:node-bootstrapper",
	"system:node-proxier",
	"system:persistent-volume-provisioner",
	"system:public-info-viewer",
	"system:service-account-issuer-discovery",
	"system:volume-scheduler",
}

// builtinClusterRoles are the cluster roles that every cluster has, with those
// of their rules that reach a power or the runtime of a pod: files rarely repeat them, and a binding to
// cluster-admin must not count as one to nothing. admin, edit and view are
// aggregated, so that roles in files that are labelled for them add to them.
func builtinClusterRoles() []*rbacv1.ClusterRole {
	const (
		toAdmin = "rbac.authorization.k8s.io/aggregate-to-admin"
		toEdit  = "rbac.authorization.k8s.io/aggregate-to-edit"
		toView  = "rbac.authorization.k8s.io/aggregate-to-view"
	)
	writes := []string{"create", "delete", "deletecollection", "patch", "update"}
	everyVerb := append([]string{"get", "list", "watch"}, writes...)
	named := func(name string, labelled string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
		if labelled != "" {
			role.Labels = map[string]string{labelled: "true"}
		}
		return role
	}
	aggregated := func(name, labelled, from string) *rbacv1.ClusterRole {
		role := named(name, labelled)
		role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{from: "true"}}}}
		return role
	}
	approver := func(name, signer string) *rbacv1.ClusterRole {
		approve := rule(certificatesGroup, "signers", "approve")
		approve.ResourceNames = []string{"kubernetes.io/" + signer}
		return named("system:certificates.k8s.io:"+name, "", approve)
	}
	roles := []*rbacv1.ClusterRole{
		named("cluster-admin", "", rule(rbacv1.APIGroupAll, rbacv1.ResourceAll, rbacv1.VerbAll)),
		aggregated("admin", "", toAdmin),
		aggregated("edit", toAdmin, toEdit),
		aggregated("view", toEdit, toView),
		named("system:aggregate-to-edit", toEdit,
			rules([]string{""}, []string{"secrets", "pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy"}, everyVerb),
			rules([]string{""}, []string{"pods", "replicationcontrollers", "serviceaccounts"}, writes),
			rules([]string{"apps"}, []string{"daemonsets", "deployments", "replicasets", "statefulsets"}, writes),
			rules([]string{"batch"}, []string{"cronjobs", "jobs"}, writes),
			rules([]string{"extensions"}, []string{"daemonsets", "deployments", "replicasets"}, writes),
			rule("", "serviceaccounts", "impersonate"),
			rule("", "serviceaccounts/token", "create"),
		),
		named("system:aggregate-to-admin", toAdmin),
		named("system:aggregate-to-view", toView),
		approver("kube-apiserver-client-approver", "kube-apiserver-client"),
		approver("kube-apiserver-client-kubelet-approver", "kube-apiserver-client-kubelet"),
		approver("kubelet-serving-approver", "kubelet-serving"),
		approver("legacy-unknown-approver", "legacy-unknown"),
		named("system:kube-controller-manager", "",
			rule("", "secrets", "get", "list", "watch", "create", "delete", "update"),
			rule("", "serviceaccounts/token", "create"),
		),
		named("system:kube-scheduler", "", rules([]string{""}, []string{"bindings", "pods/binding"}, []string{"create"})),
		named("system:kubelet-api-admin", "", rule("", "nodes/proxy", rbacv1.VerbAll)),
		named("system:node", "",
			rule("", "secrets", "get", "list", "watch"),
			rule("", "serviceaccounts/token", "create"),
			rule("", "pods", "create", "delete"),
			rule("", "nodes", "create", "patch", "update"),
			rule("", "nodes/status", "patch", "update"),
		),
		named("system:node-problem-detector", "", rule("", "nodes/status", "patch")),
	}
	for _, name := range harmless {
		roles = append(roles, named(name, ""))
	}
	return roles
}

// builtinRoles are the namespaced roles that every cluster has, in the same way.
func builtinRoles() []*rbacv1.Role {
	named := func(name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}, Rules: rules}
	}
	return []*rbacv1.Role{
		named("extension-apiserver-authentication-reader"),
		named("system::leader-locking-kube-controller-manager"),
		named("system::leader-locking-kube-scheduler"),
		named("system:controller:bootstrap-signer", rule("", "secrets", "get", "list", "watch")),
		named("system:controller:cloud-provider"),
		named("system:controller:token-cleaner", rule("", "secrets", "get", "list", "watch")),
	}
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rules([]string{group}, []string{resource}, verbs)
}

func rules(groups, resources, verbs []string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: groups, Resources: resources, Verbs: verbs}
}
