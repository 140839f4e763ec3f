package match_test

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestTableSelectors holds selector against the labels of the resource.
func TestTableSelectors(t *testing.T) {
	pod := tableTarget(kindPod, withLabels("app", "web", "tier", "front", "app.kubernetes.io/name", "shop", "blank", ""))
	bare := tableTarget(kindPod)

	runTable(t, []tableCase{
		{"a label", `resources: {selector: {matchLabels: {app: web}}}`, pod, hit},
		{"a label with another value", `resources: {selector: {matchLabels: {app: db}}}`, pod, miss},
		{"a label that is missing", `resources: {selector: {matchLabels: {zone: a}}}`, pod, miss},
		{"no labels at all", `resources: {selector: {matchLabels: {app: web}}}`, bare, miss},
		{"two labels", `resources: {selector: {matchLabels: {app: web, tier: front}}}`, pod, hit},
		{"two labels, one does not hold", `resources: {selector: {matchLabels: {app: web, tier: back}}}`, pod, miss},
		{"a label with a prefix", `resources: {selector: {matchLabels: {app.kubernetes.io/name: shop}}}`, pod, hit},
		{"a label that has to be blank", `resources: {selector: {matchLabels: {blank: ""}}}`, pod, hit},
		{"a blank value is not a missing label", `resources: {selector: {matchLabels: {zone: ""}}}`, pod, miss},
		{"values are case-sensitive", `resources: {selector: {matchLabels: {app: Web}}}`, pod, miss},
		{"a wildcard in the value", `resources: {selector: {matchLabels: {app: "w*"}}}`, pod, hit},
		{"a wildcard in the value that does not fit", `resources: {selector: {matchLabels: {app: "x*"}}}`, pod, miss},
		{"any value", `resources: {selector: {matchLabels: {app: "*"}}}`, pod, hit},
		{"any value takes in a blank one", `resources: {selector: {matchLabels: {blank: "*"}}}`, pod, hit},
		{"any value needs the label", `resources: {selector: {matchLabels: {zone: "*"}}}`, pod, miss},
		{"a value that is not blank", `resources: {selector: {matchLabels: {blank: "?*"}}}`, pod, miss},
		{"a question mark in the value", `resources: {selector: {matchLabels: {app: "we?"}}}`, pod, hit},
		{"a wildcard in the key", `resources: {selector: {matchLabels: {"*.kubernetes.io/name": shop}}}`, pod, hit},
		{"a wildcard in the key that fits no label", `resources: {selector: {matchLabels: {"*.example.com/name": shop}}}`, pod, miss},
		{"a wildcard key, the value is that of another label", `resources: {selector: {matchLabels: {"app.kubernetes.io/*": web}}}`, pod, miss},
		{"a wildcard key finds the label whose value fits", `resources: {selector: {matchLabels: {"*": front}}}`, pod, hit},
		{"a wildcard key, no label's value fits", `resources: {selector: {matchLabels: {"*": back}}}`, pod, miss},
		{"any key and any value need one label", `resources: {selector: {matchLabels: {"*": "*"}}}`, bare, miss},
		{"any key and any value", `resources: {selector: {matchLabels: {"*": "*"}}}`, pod, hit},
		{"a wildcard key and a plain one", `resources: {selector: {matchLabels: {"t*": front, app: web}}}`, pod, hit},
		{"a wildcard key and a plain one that does not hold", `resources: {selector: {matchLabels: {"t*": front, app: db}}}`, pod, miss},

		{"In, one of the values", `resources: {selector: {matchExpressions: [{key: app, operator: In, values: [db, web]}]}}`, pod, hit},
		{"In, none of the values", `resources: {selector: {matchExpressions: [{key: app, operator: In, values: [db]}]}}`, pod, miss},
		{"In, the label is missing", `resources: {selector: {matchExpressions: [{key: zone, operator: In, values: [a]}]}}`, pod, miss},
		{"NotIn, one of the values", `resources: {selector: {matchExpressions: [{key: app, operator: NotIn, values: [db, web]}]}}`, pod, miss},
		{"NotIn, none of the values", `resources: {selector: {matchExpressions: [{key: app, operator: NotIn, values: [db]}]}}`, pod, hit},
		{"NotIn, the label is missing", `resources: {selector: {matchExpressions: [{key: zone, operator: NotIn, values: [a]}]}}`, pod, hit},
		{"NotIn, no labels at all", `resources: {selector: {matchExpressions: [{key: zone, operator: NotIn, values: [a]}]}}`, bare, hit},
		{"Exists", `resources: {selector: {matchExpressions: [{key: app, operator: Exists}]}}`, pod, hit},
		{"Exists, blank", `resources: {selector: {matchExpressions: [{key: blank, operator: Exists}]}}`, pod, hit},
		{"Exists, missing", `resources: {selector: {matchExpressions: [{key: zone, operator: Exists}]}}`, pod, miss},
		{"DoesNotExist", `resources: {selector: {matchExpressions: [{key: zone, operator: DoesNotExist}]}}`, pod, hit},
		{"DoesNotExist, there", `resources: {selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}}`, pod, miss},
		{"DoesNotExist, blank", `resources: {selector: {matchExpressions: [{key: blank, operator: DoesNotExist}]}}`, pod, miss},
		{"two expressions", `resources: {selector: {matchExpressions: [{key: app, operator: Exists}, {key: tier, operator: In, values: [front]}]}}`, pod, hit},
		{"two expressions, one does not hold", `resources: {selector: {matchExpressions: [{key: app, operator: Exists}, {key: tier, operator: DoesNotExist}]}}`, pod, miss},
		{"labels and an expression", `resources: {selector: {matchLabels: {app: web}, matchExpressions: [{key: zone, operator: DoesNotExist}]}}`, pod, hit},
		{"labels and an expression that does not hold", `resources: {selector: {matchLabels: {app: web}, matchExpressions: [{key: zone, operator: Exists}]}}`, pod, miss},
		{"a wildcard label and an expression", `resources: {selector: {matchLabels: {app: "w*"}, matchExpressions: [{key: tier, operator: NotIn, values: [back]}]}}`, pod, hit},
		{"a selector and a kind that does not hold", `resources: {kinds: [Job], selector: {matchLabels: {app: web}}}`, pod, miss},
		{"a selector on a cluster-scoped resource", `resources: {selector: {matchLabels: {role: gpu}}}`, tableTarget(kindNode, withoutNamespace, withLabels("role", "gpu")), hit},
		{"a selector on a Namespace", `resources: {selector: {matchLabels: {env: prod}}}`, tableTarget(kindNamespace, withoutNamespace, withLabels("env", "prod")), hit},
		{"annotations are not labels", `resources: {selector: {matchLabels: {app: web}}}`, tableTarget(kindPod, withAnnotations("app", "web")), miss},
	})
}

// TestTableAnnotations holds annotations: all of them, with wildcards.
func TestTableAnnotations(t *testing.T) {
	pod := tableTarget(kindPod, withAnnotations("team", "payments", "example.com/owner", "alice@example.com", "note", "", "long", "one\ntwo"))

	runTable(t, []tableCase{
		{"an annotation", `resources: {annotations: {team: payments}}`, pod, hit},
		{"an annotation with another value", `resources: {annotations: {team: search}}`, pod, miss},
		{"an annotation that is missing", `resources: {annotations: {zone: a}}`, pod, miss},
		{"no annotations at all", `resources: {annotations: {team: payments}}`, tableTarget(kindPod), miss},
		{"two annotations", `resources: {annotations: {team: payments, example.com/owner: alice@example.com}}`, pod, hit},
		{"two annotations, one does not hold", `resources: {annotations: {team: payments, example.com/owner: bob@example.com}}`, pod, miss},
		{"two annotations, one is missing", `resources: {annotations: {team: payments, zone: a}}`, pod, miss},
		{"a wildcard in an annotation's value", `resources: {annotations: {example.com/owner: "*@example.com"}}`, pod, hit},
		{"a wildcard in an annotation's value that does not fit", `resources: {annotations: {example.com/owner: "*@example.org"}}`, pod, miss},
		{"a wildcard in an annotation's key", `resources: {annotations: {"example.com/*": alice@example.com}}`, pod, hit},
		{"a wildcard in an annotation's key, value of another", `resources: {annotations: {"example.com/*": payments}}`, pod, miss},
		{"wildcards in key and value of an annotation", `resources: {annotations: {"*/owner": "alice@*"}}`, pod, hit},
		{"a wildcard key and a missing annotation", `resources: {annotations: {"*/owner": "alice@*", zone: "*"}}`, pod, miss},
		{"a question mark in an annotation's key", `resources: {annotations: {"tea?": payments}}`, pod, hit},
		{"any value of an annotation", `resources: {annotations: {note: "*"}}`, pod, hit},
		{"a value of an annotation that is not blank", `resources: {annotations: {note: "?*"}}`, pod, miss},
		{"a blank value of an annotation", `resources: {annotations: {note: ""}}`, pod, hit},
		{"a blank value is not a missing annotation", `resources: {annotations: {zone: ""}}`, pod, miss},
		{"a wildcard goes over the end of a line", `resources: {annotations: {long: "one*two"}}`, pod, hit},
		{"a value on one line is not one of two lines", `resources: {annotations: {long: one}}`, pod, miss},
		{"labels are not annotations", `resources: {annotations: {app: web}}`, tableTarget(kindPod, withLabels("app", "web")), miss},
		{"annotations and a kind that does not hold", `resources: {kinds: [Job], annotations: {team: payments}}`, pod, miss},
	})
}

// TestTableOperations holds operations, which never take in a target that has
// none.
func TestTableOperations(t *testing.T) {
	runTable(t, []tableCase{
		{"an operation", `resources: {operations: [CREATE]}`, tableTarget(kindPod), hit},
		{"another operation", `resources: {operations: [CREATE]}`, tableTarget(kindPod, withOperation(request.Update)), miss},
		{"one of several operations", `resources: {operations: [CREATE, UPDATE]}`, tableTarget(kindPod, withOperation(request.Update)), hit},
		{"none of several operations", `resources: {operations: [CREATE, UPDATE]}`, tableTarget(kindPod, withOperation(request.Delete)), miss},
		{"a deletion", `resources: {operations: [DELETE]}`, tableTarget(kindPod, withOperation(request.Delete)), hit},
		{"a connection", `resources: {kinds: [Pod/exec], operations: [CONNECT]}`, tableTarget(kindPod, withSubresource("exec"), withOperation(request.Connect)), hit},
		{"a connection is not a creation", `resources: {kinds: [Pod/exec], operations: [CREATE]}`, tableTarget(kindPod, withSubresource("exec"), withOperation(request.Connect)), miss},
		{"all four operations", `resources: {operations: [CREATE, UPDATE, DELETE, CONNECT]}`, tableTarget(kindPod, withOperation(request.Delete)), hit},
		{"no operation", `resources: {operations: [CREATE]}`, tableTarget(kindPod, withOperation("")), miss},
		{"no operation, though all are given", `resources: {operations: [CREATE, UPDATE, DELETE, CONNECT]}`, tableTarget(kindPod, withOperation("")), miss},
		{"no operation, and none asked for", `resources: {kinds: [Pod]}`, tableTarget(kindPod, withOperation("")), hit},
		{"operations not given take in a deletion", `resources: {kinds: [Pod]}`, tableTarget(kindPod, withOperation(request.Delete)), hit},
		{"an operation and a kind that does not hold", `resources: {kinds: [Job], operations: [CREATE]}`, tableTarget(kindPod), miss},
		{"a bare operation is about every kind", `resources: {operations: [CREATE]}`, tableTarget(kindRollout), hit},
		{"an operation is case-sensitive in the target", `resources: {operations: [CREATE]}`, tableTarget(kindPod, withOperation("create")), miss},
	})
}

// TestTableUnshown has labels and annotations that are not known be just those that
// are asked for, and none that are missing.
func TestTableUnshown(t *testing.T) {
	pod := tableTarget(kindPod, withUnshown)
	runTable(t, []tableCase{
		{"a label that has to be missing", `resources: {selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}}`, pod, unread},
		{"an annotation", `resources: {annotations: {note: "*"}}`, pod, unread},
		{"neither is asked for", `resources: {kinds: [Pod]}`, pod, hit},
		{"another name", `resources: {names: [db], selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}}`, pod, miss},
		{"another user", `{resources: {selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}}, subjects: [{kind: User, name: bob}]}`, pod, miss},
		{"labels of a namespace beside them that do not hold", `resources: {selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}, namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindPod, withUnshown, withNamespaceLabels("env", "dev")), miss},
		{"labels of a namespace beside them that hold", `resources: {selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}, namespaceSelector: {matchLabels: {env: prod}}}`, tableTarget(kindPod, withUnshown, withNamespaceLabels("env", "prod")), unread},
		{"those of a namespace itself", `resources: {namespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}}`, tableTarget(kindNamespace, withoutNamespace, withName("dev"), withUnshown), unread},
	})
}
