package policy

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestModuleSelectors holds selectors to what those of webhooks select.
func TestModuleSelectors(t *testing.T) {
	state := clusterOf(t, namespace("shop", map[string]string{"env": "prod"}), namespace("dev", nil))
	pod := func(operation request.Operation, namespace, labels, before string) asking {
		a := asking{operation: operation, resource: "pods", kind: "Pod", namespace: namespace}
		if labels != "" {
			a.object = strings.Replace(labelled("Pod", labels), "shop", namespace, 1)
		}
		if before != "" {
			a.old = strings.Replace(labelled("Pod", before), "shop", namespace, 1)
		}
		return a
	}
	space := func(operation request.Operation, labels, before string) asking {
		a := asking{operation: operation, resource: "namespaces", kind: "Namespace", namespace: "web"}
		for into, text := range map[*string]string{&a.object: labels, &a.old: before} {
			if text != "" {
				*into = `{apiVersion: v1, kind: Namespace, metadata: {name: web, labels: ` + text + `}}`
			}
		}
		return a
	}
	outside := func(a asking) asking { a.namespace = ""; return a }
	node := asking{operation: request.Create, resource: "nodes", kind: "Node", object: `{apiVersion: v1, kind: Node, metadata: {name: web}}`}
	exec := asking{operation: request.Connect, resource: "pods", sub: "exec", kind: "PodExecOptions", namespace: "shop"}
	const (
		rules     = `rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], operations: ["*"]}]`
		prod      = `namespaceSelector: {matchLabels: {env: prod}}`
		notProd   = `namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [prod]}]}`
		web       = `objectSelector: {matchLabels: {app: web}}`
		elsewhere = `{apiVersion: example.com/v1, kind: Namespace, metadata: {name: web, namespace: dev, labels: {env: prod}}}`
		notWeb    = `objectSelector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}`
	)
	for _, tt := range []struct {
		name, selector string
		asked          asking
		want           bool
	}{
		{"the namespace has the label", prod, pod(request.Create, "shop", "{}", ""), true},
		{"the namespace has it not", prod, pod(request.Create, "dev", "{env: prod}", ""), false},
		{"the namespace has it not, and need not", notProd, pod(request.Create, "dev", "{}", ""), true},
		{"an exec goes by the namespace", prod, exec, true},
		{"a deletion goes by the namespace", prod, pod(request.Delete, "shop", "", "{}"), true},
		{"what is in no namespace", prod, node, true},
		{"what is in no namespace, whatever is selected", notProd, node, true},
		{"every namespace", `namespaceSelector: {}`, pod(request.Create, "dev", "{}", ""), true},
		{"a Namespace that is to have the label", prod, space(request.Create, "{env: prod}", ""), true},
		{"a Namespace without", prod, space(request.Create, "{env: dev}", ""), false},
		{"a Namespace that loses the label", prod, space(request.Update, "{}", "{env: prod}"), true},
		{"a Namespace that gets the label", prod, space(request.Update, "{env: prod}", "{}"), true},
		{"a Namespace that never had it", prod, space(request.Update, "{a: b}", "{}"), false},
		{"a Namespace that gets the label, where the review names no namespace", prod, outside(space(request.Create, "{env: prod}", "")), true},
		{"a Namespace without it, where the review names no namespace", prod, outside(space(request.Create, "{}", "")), false},
		{"a pod that had the label that its namespace has not", prod, pod(request.Update, "dev", "{env: prod}", "{env: prod}"), false},
		{"what is called a Namespace elsewhere", prod, asking{operation: request.Update, group: "example.com", resource: "namespaces", kind: "Namespace", namespace: "dev", object: elsewhere, old: elsewhere}, false},
		{"a Namespace that goes", prod, space(request.Delete, "", "{env: prod}"), true},
		{"the object has the label", web, pod(request.Create, "shop", "{app: web}", ""), true},
		{"the object has it not", web, pod(request.Create, "shop", "{app: db}", ""), false},
		{"the object has none", web, pod(request.Create, "shop", "{}", ""), false},
		{"the object gets it", web, pod(request.Update, "shop", "{app: web}", "{}"), true},
		{"the object loses it", web, pod(request.Update, "shop", "{}", "{app: web}"), true},
		{"the object had it not", web, pod(request.Update, "shop", "{}", "{}"), false},
		{"the object goes", web, pod(request.Delete, "shop", "", "{app: web}"), true},
		{"the object need not have it", notWeb, pod(request.Create, "shop", "{}", ""), true},
		{"the object had it, and need not have it now", notWeb, pod(request.Update, "shop", "{}", "{app: web}"), true},
		{"options have no labels", web, exec, false},
		{"options have no labels, and need them not either", notWeb, exec, false},
		{"every object, options as well", `objectSelector: {}`, exec, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := about(t, setOf(t, cap0("p", rules, tt.selector)), tt.asked.request(t, state)) == "p"; got != tt.want {
				t.Errorf("asked: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestModuleNamespaces(t *testing.T) {
	everything := `rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], operations: ["*"]}]`
	set := setOf(t, ap0("shop", "p", everything))
	for namespace, want := range map[string]string{"shop": "p", "dev": "", "": "", "Shop": ""} {
		asked := asking{operation: request.Create, resource: "pods", kind: "Pod", namespace: namespace, object: labelled("Pod", "{}")}
		if got := about(t, set, asked.request(t, clusterOf(t))); got != want {
			t.Errorf("in %q asked %q, want %q", namespace, got, want)
		}
	}
	both := setOf(t, ap0("shop", "p", everything), ap0("dev", "p", everything))
	if got := both.Counts().AdmissionPolicies; got != 2 {
		t.Errorf("%d of two policies of one name in two namespaces are there", got)
	}
	space := asking{operation: request.Update, resource: "namespaces", kind: "Namespace", namespace: "shop", object: `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`, old: `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`}
	if got := about(t, set, space.request(t, clusterOf(t))); got != "" {
		t.Error("an AdmissionPolicy judges its Namespace")
	}
}

// TestModuleUnreadable says that what cannot be found out counts as an error, and
// not as no.
func TestModuleUnreadable(t *testing.T) {
	asked := asking{operation: request.Create, resource: "pods", kind: "Pod", namespace: "shop", object: labelled("Pod", "{}")}
	for name, line := range map[string]string{
		"connection refused": `namespaceSelector: {matchLabels: {env: prod}}`,
		`namespace "shop" cannot be read: connection refused`: `matchConditions: [{name: prod, expression: "namespaceObject.metadata.name == 'shop'"}]`,
		"no such key: team": `matchConditions: [{name: team, expression: "object.metadata.labels.team == 'a'"}]`,
	} {
		for _, ignore := range []bool{false, true} {
			more := []string{line}
			if ignore {
				more = append(more, "failurePolicy: Ignore")
			}
			r := asked.request(t, clusterOf(t))
			r.Cluster = unreadable{}
			d := setOf(t, cap0("p", more...)).Run(&modules{}).Decide(t.Context(), r)
			if got := only(t, d); got.Status != decision.Error || d.Refuses() == ignore || !strings.Contains(got.Message, name) {
				t.Errorf("%s, ignoring %v: %+v", name, ignore, got)
			}
		}
	}
}

func TestModuleConditions(t *testing.T) {
	state := clusterOf(t, namespace("shop", nil))
	create := asking{operation: request.Create, resource: "pods", kind: "Pod", namespace: "shop", object: labelled("Pod", "{team: a}")}
	for expression, want := range map[string]bool{
		"true": true, "false": false,
		"object.metadata.labels.team == 'a'":                  true,
		"object.metadata.labels.team == 'b'":                  false,
		"request.userInfo.username == 'alice'":                true,
		"request.operation == 'DELETE' || oldObject != null":  false,
		"request.resource.resource == 'pods'":                 true,
		"!has(object.spec.hostNetwork)":                       true,
		"request.namespace == 'shop' && request.name == 'no'": false,
	} {
		set := setOf(t, cap0("p", `matchConditions: [{name: first, expression: "true"}, {name: second, expression: "`+expression+`"}]`))
		if got := about(t, set, create.request(t, state)) == "p"; got != want {
			t.Errorf("%s: asked %v", expression, got)
		}
	}
}
