package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

func TestDenyRules(t *testing.T) {
	state := clusterOf(t, namespace("shop", map[string]string{"team": "a"}), namespace("bank", nil))
	policyWith := func(rule string) *Set {
		return setOf(t, "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: rules}\nspec:\n  rules:\n  - "+rule)
	}
	ask := func(verb, group, resource, subresource, namespace, name string) *request.Request {
		return &request.Request{
			Door: request.Access, Verb: verb, User: request.User{Name: "alice"}, Cluster: state,
			Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, Subresource: subresource,
			Namespace: namespace, Name: name,
		}
	}
	admit := func(operation request.Operation, resource, subresource string) *request.Request {
		r := ask("", "", resource, subresource, "shop", "web")
		r.Door, r.Operation = request.Admission, operation
		return r
	}
	cases := []struct {
		name, rule string
		request    *request.Request
		denied     bool
	}{
		{"the document's example", `{verbs: [delete], apiGroups: [""], resources: [namespaces]}`, ask("delete", "", "namespaces", "", "prod", "prod"), true},
		{"another verb", `{verbs: [delete], apiGroups: [""], resources: [namespaces]}`, ask("get", "", "namespaces", "", "prod", "prod"), false},
		{"another group", `{verbs: ["*"], apiGroups: [apps], resources: [deployments]}`, ask("get", "", "deployments", "", "shop", "web"), false},
		{"every group", `{verbs: ["*"], apiGroups: ["*"], resources: [deployments]}`, ask("get", "apps", "deployments", "", "shop", "web"), true},
		{"a resource is not its subresource", `{verbs: ["*"], apiGroups: [""], resources: [pods]}`, ask("create", "", "pods", "exec", "shop", "web"), false},
		{"a subresource is not its resource", `{verbs: ["*"], apiGroups: [""], resources: [pods/exec]}`, ask("create", "", "pods", "", "shop", "web"), false},
		{"a subresource by slash", `{verbs: ["*"], apiGroups: [""], resources: [pods/exec]}`, ask("create", "", "pods", "exec", "shop", "web"), true},
		{"a subresource by field", `{verbs: ["*"], apiGroups: [""], resources: [pods], subresources: [exec]}`, ask("create", "", "pods", "exec", "shop", "web"), true},
		{"every subresource", `{verbs: ["*"], apiGroups: [""], resources: ["pods/*"]}`, ask("create", "", "pods", "attach", "shop", "web"), true},
		{"the star stands for subresources", `{verbs: [create], apiGroups: ["*"], resources: ["*"]}`, ask("create", "", "pods", "exec", "shop", "web"), true},
		{"a namespace by pattern", `{verbs: ["*"], apiGroups: [""], resources: [pods], namespaces: ["sh*"]}`, ask("get", "", "pods", "", "shop", "web"), true},
		{"another namespace", `{verbs: ["*"], apiGroups: [""], resources: [pods], namespaces: ["sh*"]}`, ask("get", "", "pods", "", "bank", "web"), false},
		{"a namespace by label", `{verbs: ["*"], apiGroups: [""], resources: [pods], namespaces: {selectorTerms: [{matchLabels: {team: a}}]}}`, ask("get", "", "pods", "", "shop", "web"), true},
		{"a namespace without the label", `{verbs: ["*"], apiGroups: [""], resources: [pods], namespaces: {selectorTerms: [{matchLabels: {team: a}}]}}`, ask("get", "", "pods", "", "bank", "web"), false},
		{"a name by pattern", `{verbs: ["*"], apiGroups: [""], resources: [secrets], resourceNames: ["db-*"]}`, ask("get", "", "secrets", "", "shop", "db-root"), true},
		{"another name", `{verbs: ["*"], apiGroups: [""], resources: [secrets], resourceNames: ["db-*"]}`, ask("get", "", "secrets", "", "shop", "web"), false},
		{"a name with a port", `{verbs: ["*"], apiGroups: [""], resources: [pods/proxy], resourceNames: [web]}`, ask("get", "", "pods", "proxy", "shop", "web:80"), true},
		{"a name with a scheme", `{verbs: ["*"], apiGroups: [""], resources: [services/proxy], resourceNames: [web]}`, ask("get", "", "services", "proxy", "shop", "https:web:443"), true},
		{"another name with a port", `{verbs: ["*"], apiGroups: [""], resources: [pods/proxy], resourceNames: [web]}`, ask("get", "", "pods", "proxy", "shop", "db:80"), false},
		{"no resource at all", `{verbs: [get], apiGroups: ["*"], resources: ["*"]}`, &request.Request{Door: request.Access, Verb: "get", NonResourcePath: "/healthz", Cluster: state}, false},
		{"admission: delete", `{verbs: [delete], apiGroups: [""], resources: [pods]}`, admit(request.Delete, "pods", ""), true},
		{"admission: a patch is an update", `{verbs: [patch], apiGroups: [""], resources: [pods]}`, admit(request.Update, "pods", ""), true},
		{"admission: create", `{verbs: [update], apiGroups: [""], resources: [pods]}`, admit(request.Create, "pods", ""), false},
		{"admission: connect", `{verbs: [get], apiGroups: [""], resources: [pods/exec]}`, admit(request.Connect, "pods", "exec"), true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := policyWith(c.rule).Decide(t.Context(), c.request)
			if got := d.Verdict == decision.Deny; got != c.denied {
				t.Errorf("denied %v, want %v: %+v", got, c.denied, d.Results)
			}
		})
	}
}

func TestExemptLabelsAreARight(t *testing.T) {
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	bindings := schema.GroupVersionKind{Version: "v1", Kind: "Binding"}
	const binding = `{apiVersion: v1, kind: Binding, metadata: {name: web, namespace: shop, labels: {exempt: "yes"}}, target: {kind: Node, name: n}}`
	deployments := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	const labelled = `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, labels: {exempt: "yes"}}, spec: {containers: [{name: app, image: a}]}}`
	const plain = `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, labels: {exempt: "no"}}, spec: {containers: [{name: app, image: a}]}}`
	const template = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template: {metadata: {labels: {exempt: "yes"}}, spec: {containers: [{name: app, image: a}]}}}}`
	const owned = `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, labels: {exempt: "yes"}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u, controller: true}]}, spec: {containers: [{name: app, image: a}]}}`
	files := clusterOf(t, namespace("shop", nil), clusterRole("exempter", exemptRule), boundTo("carol", "exempter"))
	set := setOf(t, strict)
	by := func(user string, r *request.Request) *request.Request {
		r.User.Name, r.Authorizer = user, files
		return r
	}
	update := func(r *request.Request, before string) *request.Request {
		r.Operation, r.OldObject = request.Update, created(t, files, pods, "pods", before).Object
		return r
	}
	cases := []struct {
		name    string
		request *request.Request
		want    decision.Verdict
	}{
		{"a pod with the label", by("alice", created(t, files, pods, "pods", labelled)), decision.Deny},
		{"a pod with another value", by("alice", created(t, files, pods, "pods", plain)), decision.Allow},
		{"a template with the label", by("alice", created(t, files, deployments, "deployments", template)), decision.Deny},
		{"a binding with the label", by("alice", created(t, files, bindings, "bindings", binding)), decision.Deny},
		{"a binding by somebody who may", by("carol", created(t, files, bindings, "bindings", binding)), decision.Allow},
		{"a binding without the label", by("alice", created(t, files, bindings, "bindings", strings.Replace(binding, "yes", "no", 1))), decision.Allow},
		{"by somebody who may", by("carol", created(t, files, pods, "pods", labelled)), decision.Allow},
		{"the label is added", by("alice", update(created(t, files, pods, "pods", labelled), plain)), decision.Deny},
		{"the label was there", by("alice", update(created(t, files, pods, "pods", labelled), labelled)), decision.Allow},
		{"made by the controller of an owner that is not there", by("system:serviceaccount:kube-system:replicaset-controller", created(t, files, pods, "pods", owned)), decision.Deny},
		{"made by another controller", by("system:serviceaccount:kube-system:job-controller", created(t, files, pods, "pods", owned)), decision.Deny},
		{"an owner that a user made up", by("alice", created(t, files, pods, "pods", owned)), decision.Deny},
		{"a controller, but no owner", by("system:serviceaccount:kube-system:replicaset-controller", created(t, files, pods, "pods", labelled)), decision.Deny},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if d := set.Decide(t.Context(), c.request); d.Verdict != c.want {
				t.Errorf("%s, want %s: %+v", d.Verdict, c.want, d.Results)
			}
		})
	}
	t.Run("nobody can be asked", func(t *testing.T) {
		r := created(t, files, pods, "pods", labelled)
		r.Authorizer = unreadable{}
		if d := set.Decide(t.Context(), r); d.Verdict != decision.Deny || !strings.Contains(d.Results[0].Message, "failMode closed") {
			t.Errorf("%s: %+v", d.Verdict, d.Results)
		}
	})
}

func TestPrecedence(t *testing.T) {
	state := clusterOf(t, namespace("shop", nil), podNamed("shop", "root", privileged))
	named := func(name, precedence string) string {
		return strings.Replace(strings.Replace(strict, "name: strict", "name: "+name, 1), "spec:\n", "spec:\n  precedence: "+precedence+"\n", 1)
	}
	set := setOf(t, named("b", "5"), named("a", "5"), named("last", "200"), strict, named("first", "-1"))
	d := set.Decide(t.Context(), exec(state, "shop", "root"))
	var got []string
	for _, r := range d.Results {
		got = append(got, r.Policy)
	}
	if want := "first a b strict last"; strings.Join(got, " ") != want {
		t.Errorf("results in the order %v, want %s", got, want)
	}
}
