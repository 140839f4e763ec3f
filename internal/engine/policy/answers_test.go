package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/cluster/clusterconfig"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestDescribe words what a request wants.
func TestDescribe(t *testing.T) {
	for want, r := range map[string]*request.Request{
		"get of pods":                               {Door: request.Access, Verb: "get", Resource: schema.GroupVersionResource{Resource: "pods"}},
		"get of pods/log web in namespace shop":     {Door: request.Access, Verb: "get", Resource: schema.GroupVersionResource{Resource: "pods"}, Subresource: "log", Name: "web", Namespace: "shop"},
		"delete of namespaces shop":                 {Door: request.Access, Verb: "delete", Resource: schema.GroupVersionResource{Resource: "namespaces"}, Name: "shop", Namespace: "shop"},
		"CONNECT of pods/exec web in namespace a":   {Door: request.Admission, Operation: request.Connect, Resource: schema.GroupVersionResource{Resource: "pods"}, Subresource: "exec", Name: "web", Namespace: "a"},
		"CREATE of nodes n1":                        {Door: request.Admission, Operation: request.Create, Resource: schema.GroupVersionResource{Resource: "nodes"}, Name: "n1"},
		"deletecollection of pods in namespace dev": {Door: request.Access, Verb: "deletecollection", Resource: schema.GroupVersionResource{Resource: "pods"}, Namespace: "dev"},
	} {
		if got := deny.Describe(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestResourcesOfResults names what a result is about.
func TestResourcesOfResults(t *testing.T) {
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	shopPod := created(t, unreadable{}, call.PodGVK, "pods", shopPod)
	for _, c := range []struct {
		name   string
		r      *request.Request
		access *call.Access
		want   decision.Resource
	}{
		{"a pod that is entered", &request.Request{Resource: pods}, &call.Access{Resource: "pods", Namespace: "shop", Pod: "web"}, decision.Resource{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "web"}},
		{"a node that is entered", &request.Request{Resource: pods}, &call.Access{Resource: "nodes", Node: "n1"}, decision.Resource{APIVersion: "v1", Kind: "Node", Name: "n1"}},
		{"an object", shopPod, nil, decision.Resource{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "web"}},
		{"an object, where the request names no kind", func() *request.Request { r := *shopPod; r.Kind = schema.GroupVersionKind{}; return &r }(), nil, decision.Resource{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "web"}},
		{"no object, of a known kind", &request.Request{Resource: deployments, Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "a", Name: "b"}, nil, decision.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a", Name: "b"}},
		{"no object, of no kind", &request.Request{Resource: deployments, Namespace: "a", Name: "b"}, nil, decision.Resource{APIVersion: "apps/v1", Kind: "deployments", Namespace: "a", Name: "b"}},
	} {
		if got := (&call.Call{Request: c.r, Access: c.access}).Resource(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestNothingIsJudgedWithoutAnObject passes over what carries none, and what is not an
// object of its own.
func TestNothingIsJudgedWithoutAnObject(t *testing.T) {
	state := clusterOf(t, namespace("dev", nil))
	set := setOf(t, rulePolicy("", "match: {any: [{resources: {kinds: [Pod]}}]}"+never))
	r := created(t, state, call.PodGVK, "pods", "apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: dev}\nspec: {containers: [{name: c, image: nginx}]}\n")
	if d := set.Decide(t.Context(), r); !d.Refuses() {
		t.Fatal("the pod is let in")
	}
	for name, change := range map[string]func(*request.Request){
		"a creation that carries nothing": func(r *request.Request) { r.Object = nil },
		"an update that carries nothing":  func(r *request.Request) { r.Operation, r.Object = request.Update, nil },
		"a deletion":                      func(r *request.Request) { r.Operation, r.Object, r.OldObject = request.Delete, nil, r.Object },
	} {
		changed := *r
		change(&changed)
		if d := set.Decide(t.Context(), &changed); len(d.Results) > 0 {
			t.Errorf("%s: %s", name, messages(d))
		}
	}
	ours := created(t, state, schema.GroupVersionKind{Group: "sallyport.io", Version: "v1alpha1", Kind: stored.KindDenyPolicy}, "denypolicies", yamlOf("DenyPolicy", "x", "spec: {}"))
	if d := set.Decide(t.Context(), ours); !d.Refuses() || !strings.Contains(messages(d), "denies nothing") {
		t.Errorf("a policy that cannot work is let in: %s", messages(d))
	}
	// Its status can be written, or no one could say that it cannot work.
	ours.Operation, ours.Subresource, ours.OldObject = request.Update, "status", ours.Object
	if d := set.Decide(t.Context(), ours); len(d.Results) > 0 {
		t.Errorf("its status is judged: %s", messages(d))
	}
}

// TestRiskOfWhatUpdatesCarry judges the pod that an update of ephemeral containers
// carries, and nothing else in its place.
func TestRiskOfWhatUpdatesCarry(t *testing.T) {
	state := clusterOf(t, namespace("shop", nil), podNamed("shop", "web", nil))
	set := setOf(t, strict)
	update := func(object *request.Request) *request.Request {
		object.Operation, object.Subresource, object.Name = request.Update, "ephemeralcontainers", "web"
		object.Resource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
		object.OldObject = object.Object
		return object
	}
	risky := created(t, state, call.PodGVK, "pods", "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {containers: [{name: app, image: a, securityContext: {privileged: true}}]}\n")
	for _, c := range []struct {
		name string
		r    *request.Request
		want decision.Status
		says string
	}{
		{"a pod without risk", update(created(t, state, call.PodGVK, "pods", shopPod)), decision.Pass, ""},
		{"a pod with it, whatever runs", update(risky), decision.Fail, "score 90"},
		{"what is not a pod", update(created(t, state, configMapKind, "configmaps", configMaps)), decision.Error, call.ErrNoPodInRequest.Error()},
	} {
		d := set.Decide(t.Context(), c.r)
		found := false
		for i := range d.Results {
			if r := &d.Results[i]; r.Rule == stored.RulePodSecurity {
				found = true
				if r.Status != c.want || !strings.Contains(r.Message, c.says) {
					t.Errorf("%s: %s %q", c.name, r.Status, r.Message)
				}
			}
		}
		if !found {
			t.Errorf("%s: it is not judged: %+v", c.name, d.Results)
		}
	}
	container := call.Entered{Container: "default"}
	for name, c := range map[string]struct {
		door         request.Door
		asked, want  string
		wantedByName string
	}{
		"named at the front door":     {request.Admission, "other", "other", "other"},
		"not named at the front door": {request.Admission, "", "default", "default"},
		"named at the side door":      {request.Access, "other", "", "other"},
		"not named at the side door":  {request.Access, "", "", "any"},
	} {
		in, called := container.ContainerFor(&call.Call{Request: &request.Request{Door: c.door}, Access: &call.Access{Container: c.asked}})
		if in != c.want || called != c.wantedByName {
			t.Errorf("%s: %q, called %q", name, in, called)
		}
	}
}

// TestOverridesNeedANamespace gives what has none the policy's own action.
func TestOverridesNeedANamespace(t *testing.T) {
	set := setOf(t, yamlOf("ClusterPolicy", "p", `spec: {validationFailureActionOverrides: [{action: Audit, namespaces: ["*"]}], rules: [{name: r, match: {any: [{resources: {kinds: [ClusterRole]}}]}, validate: {pattern: {metadata: {labels: {never: "?*"}}}}}]}`))
	role := schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}
	d := set.Decide(t.Context(), created(t, unreadable{}, role, "clusterroles", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: x}\n"))
	if got := only(t, d); got.Action != decision.Enforce || !d.Refuses() {
		t.Errorf("%s %s: %s", got.Action, got.Status, got.Message)
	}
}

// TestOwnObjectsAreNamed says policy of what is one, and knows a name that is still to
// be made.
func TestOwnObjectsAreNamed(t *testing.T) {
	for kind, want := range map[string]bool{
		stored.KindDenyPolicy: true, stored.KindClusterPolicy: true, stored.KindPolicyServer: true,
		identity.KindSource: false, stored.KindPodKind: false, clusterconfig.Kind: false, exception.KindException: false, exception.KindRequest: false, exception.KindExceptionPolicy: false,
	} {
		if got := isPolicy(kind); got != want {
			t.Errorf("%s is a policy: %v", kind, got)
		}
	}
	document := strings.Replace(yamlOf("DenyPolicy", "x", `spec: {rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}`), "name: x", "generateName: x-", 1)
	var sources Sources
	if _, problems := addObject(&sources, asStored(t, document)[0]); len(problems) > 0 {
		t.Errorf("a name that the API server makes is missed: %v", problems)
	}
	if problems := addYAML(t, &sources, document); len(problems) != 1 || problems[0].Path != "metadata.name" {
		t.Errorf("a file has no one who makes the name: %v", problems)
	}
}
