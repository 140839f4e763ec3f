package match_test

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// TestTableNamespaces holds namespaces against resources of each scope.
func TestTableNamespaces(t *testing.T) {
	pod := tableTarget(kindPod)
	node := tableTarget(kindNode, withoutNamespace, withName("dev"))
	namespace := tableTarget(kindNamespace, withoutNamespace, withName("dev"))
	// At the admission door a Namespace comes with its own name as the namespace.
	asAdmitted := tableTarget(kindNamespace, withNamespace("dev"), withName("dev"))

	runTable(t, []tableCase{
		{"a namespace", `resources: {namespaces: [dev]}`, pod, hit},
		{"another namespace", `resources: {namespaces: [prod]}`, pod, miss},
		{"one of several namespaces", `resources: {namespaces: [prod, dev]}`, pod, hit},
		{"a namespace is not a prefix", `resources: {namespaces: [dev]}`, tableTarget(kindPod, withNamespace("dev-2")), miss},
		{"a namespace with a wildcard", `resources: {namespaces: ["dev-*"]}`, tableTarget(kindPod, withNamespace("dev-2")), hit},
		{"a wildcard needs what is before it", `resources: {namespaces: ["dev-*"]}`, pod, miss},
		{"a question mark in a namespace", `resources: {namespaces: ["de?"]}`, pod, hit},
		{"every namespace", `resources: {namespaces: ["*"]}`, pod, hit},
		{"a namespace and a kind, both hold", `resources: {kinds: [Pod], namespaces: [dev]}`, pod, hit},
		{"a namespace and a kind, the namespace does not", `resources: {kinds: [Pod], namespaces: [prod]}`, pod, miss},
		{"a namespace and a name, the name does not", `resources: {names: [db], namespaces: [dev]}`, pod, miss},
		{"a name is not taken for a namespace", `resources: {namespaces: [web]}`, pod, miss},
		{"a namespace is not taken for a name", `resources: {names: [dev]}`, pod, miss},

		{"a cluster-scoped resource is in no namespace", `resources: {namespaces: [dev]}`, node, miss},
		{"a cluster-scoped resource is not in every namespace", `resources: {namespaces: ["*"]}`, node, miss},
		{"a cluster-scoped resource without namespaces given", `resources: {kinds: [Node]}`, node, hit},
		{"a cluster-scoped resource only by its name", `resources: {names: [dev]}`, node, hit},
		{"a cluster-scoped resource of a kind that is named, with namespaces", `resources: {kinds: [Node], namespaces: ["*"]}`, node, miss},

		{"a Namespace by its own name", `resources: {namespaces: [dev]}`, namespace, hit},
		{"a Namespace by its own name with a wildcard", `resources: {kinds: [Namespace], namespaces: ["d*"]}`, namespace, hit},
		{"a Namespace by another name", `resources: {namespaces: [prod]}`, namespace, miss},
		{"a Namespace is in every namespace", `resources: {namespaces: ["*"]}`, namespace, hit},
		{"a Namespace by names", `resources: {kinds: [Namespace], names: [dev]}`, namespace, hit},
		{"a Namespace by names and namespaces", `resources: {names: [dev], namespaces: ["de*"]}`, namespace, hit},
		{"a Namespace by names and namespaces that differ", `resources: {names: [dev], namespaces: [prod]}`, namespace, miss},
		{"a Namespace of another kind", `resources: {kinds: [Pod], namespaces: [dev]}`, namespace, miss},
		{"a Namespace as it is admitted", `resources: {namespaces: [dev]}`, asAdmitted, hit},
		{"a Namespace as it is admitted, by another name", `resources: {namespaces: [prod]}`, asAdmitted, miss},
		{"the name of a Namespace counts, not where it says to be", `resources: {namespaces: [dev]}`, tableTarget(kindNamespace, withNamespace("dev"), withName("prod")), miss},
		{"a custom kind Namespace is in its namespace", `resources: {namespaces: [dev]}`, tableTarget(kindOtherNamespace, withName("prod")), hit},
		{"a custom kind Namespace is not what it is called", `resources: {namespaces: [prod]}`, tableTarget(kindOtherNamespace, withName("prod")), miss},
		{"a custom cluster-scoped kind Namespace is in none", `resources: {namespaces: [prod]}`, tableTarget(kindOtherNamespace, withoutNamespace, withName("prod")), miss},
		{"a status of a Namespace goes by its name", `resources: {kinds: [Namespace/status], namespaces: [dev]}`, tableTarget(kindNamespace, withoutNamespace, withName("dev"), withSubresource("status")), hit},
	})
}

// TestTableNamespaceSelectors holds namespaceSelector, which reads the labels of
// the namespace only where there is one to be read.
func TestTableNamespaceSelectors(t *testing.T) {
	prod := tableTarget(kindPod, withNamespaceLabels("env", "prod", "team", "payments"))
	bare := tableTarget(kindPod, withNamespaceLabels())
	node := tableTarget(kindNode, withoutNamespace, withLabels("env", "prod"))
	namespace := tableTarget(kindNamespace, withoutNamespace, withName("shop"), withLabels("env", "prod"))
	nothing := func(t *match.Target) { t.NamespaceLabels = nil }

	runTable(t, []tableCase{
		{"a label of the namespace", `resources: {namespaceSelector: {matchLabels: {env: prod}}}`, prod, hit},
		{"a label of the namespace with another value", `resources: {namespaceSelector: {matchLabels: {env: dev}}}`, prod, miss},
		{"a label that the namespace lacks", `resources: {namespaceSelector: {matchLabels: {tier: a}}}`, prod, miss},
		{"two labels of the namespace", `resources: {namespaceSelector: {matchLabels: {env: prod, team: payments}}}`, prod, hit},
		{"two labels of the namespace, one does not hold", `resources: {namespaceSelector: {matchLabels: {env: prod, team: other}}}`, prod, miss},
		{"wildcards in a label of the namespace", `resources: {namespaceSelector: {matchLabels: {"t*": "pay*"}}}`, prod, hit},
		{"an expression on the namespace", `resources: {namespaceSelector: {matchExpressions: [{key: env, operator: In, values: [prod, stage]}]}}`, prod, hit},
		{"an expression on the namespace that does not hold", `resources: {namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [prod]}]}}`, prod, miss},
		{"labels of the resource are not those of its namespace", `resources: {namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindPod, withLabels("env", "prod"), withNamespaceLabels("env", "dev")), miss},
		{"a namespace without labels", `resources: {namespaceSelector: {matchLabels: {env: prod}}}`, bare, miss},
		{"a namespace without labels lacks a label", `resources: {namespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}}`, bare, hit},
		{"namespaces and namespaceSelector both hold", `resources: {namespaces: [dev], namespaceSelector: {matchLabels: {env: prod}}}`, prod, hit},
		{"namespaces holds, namespaceSelector does not", `resources: {namespaces: [dev], namespaceSelector: {matchLabels: {env: stage}}}`, prod, miss},
		{"namespaceSelector holds, namespaces does not", `resources: {namespaces: [prod], namespaceSelector: {matchLabels: {env: prod}}}`, prod, miss},
		{"selector and namespaceSelector each have their own labels", `resources: {selector: {matchLabels: {app: web}}, namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindPod, withLabels("app", "web"), withNamespaceLabels("env", "prod")), hit},

		{"a cluster-scoped resource has no labels of a namespace", `resources: {namespaceSelector: {matchLabels: {env: prod}}}`, node, miss},
		{"a cluster-scoped resource does not lack a label of its namespace", `resources: {namespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}}`, node, miss},
		{"a cluster-scoped resource, though labels can be read", `resources: {kinds: [Node], namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindNode, withoutNamespace, withNamespaceLabels("env", "prod")), miss},
		{"a Namespace by its own labels", `resources: {namespaceSelector: {matchLabels: {env: prod}}}`, namespace, hit},
		{"a Namespace by its own labels, another value", `resources: {namespaceSelector: {matchLabels: {env: dev}}}`, namespace, miss},
		{"a Namespace lacks a label", `resources: {namespaceSelector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}}`, namespace, hit},
		{"a Namespace by the labels that it is to have, not by those that are stored", `resources: {namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindNamespace, withNamespace("shop"), withName("shop"), withLabels("env", "dev"), withNamespaceLabels("env", "prod")), miss},
		{"a Namespace without any labels", `resources: {namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindNamespace, withoutNamespace), miss},
		{"a Namespace by name and labels", `resources: {namespaces: [shop], namespaceSelector: {matchLabels: {env: prod}}}`, namespace, hit},
		{"a custom kind Namespace goes by the labels of its namespace", `resources: {namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindOtherNamespace, withLabels("env", "dev"), withNamespaceLabels("env", "prod")), hit},

		{"labels of the namespace that cannot be read", `resources: {namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindPod, withUnreadNamespace), unread},
		{"labels that cannot be read are not labels that are missing", `resources: {namespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}}`, tableTarget(kindPod, withUnreadNamespace), unread},
		{"nobody to read labels of the namespace", `resources: {namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindPod, nothing), failed},
		{"nobody to read labels, and none needed", `resources: {namespaces: [dev]}`, tableTarget(kindPod, nothing), hit},
		{"unread labels behind another kind", `resources: {kinds: [Job], namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindPod, withUnreadNamespace), miss},
		{"unread labels behind another name", `resources: {names: [db], namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindPod, withUnreadNamespace), miss},
		{"unread labels behind another namespace", `resources: {namespaces: [prod], namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindPod, withUnreadNamespace), miss},
		{"unread labels behind labels of the resource", `resources: {selector: {matchLabels: {app: web}}, namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindPod, withUnreadNamespace), miss},
		{"unread labels behind annotations", `resources: {annotations: {a: b}, namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindPod, withUnreadNamespace), miss},
		{"unread labels behind another operation", `resources: {operations: [DELETE], namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindPod, withUnreadNamespace), miss},
		{"unread labels of a namespace that is the right one", `resources: {kinds: [Pod], namespaces: [dev], namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindPod, withUnreadNamespace), unread},
		{"unread labels do not concern a Namespace", `resources: {namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindNamespace, withoutNamespace, withLabels("env", "prod"), withUnreadNamespace), hit},
		{"unread labels do not concern a cluster-scoped resource", `resources: {namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindNode, withoutNamespace, withUnreadNamespace), miss},
	})
}
