package contract

import (
	"encoding/json"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestAccessAnswers covers the SubjectAccessReviews of accesses to pods.
func TestAccessAnswers(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	attributes := func(a authorizationv1.ResourceAttributes) string { return accessReview(t, a) }
	tests := []struct {
		name   string
		review string
		denied []string
	}{
		{"exec by SPDY", enterPod(t, "create", "shop", "risky", "exec"), []string{"guard", "hostPID"}},
		{"exec by WebSocket", enterPod(t, "get", "shop", "risky", "exec"), []string{"guard", "hostPID"}},
		{"attach", enterPod(t, "create", "shop", "risky", "attach"), []string{"guard"}},
		{"portforward", enterPod(t, "get", "shop", "risky", "portforward"), []string{"guard"}},
		{"a pod that is gone", enterPod(t, "create", "shop", "gone", "exec"), []string{"guard"}},
		{"a safe pod", enterPod(t, "create", "shop", "safe", "exec"), nil},
		{"the pod itself", enterPod(t, "get", "shop", "risky", ""), nil},
		{"its log", enterPod(t, "get", "shop", "risky", "log"), nil},
		{"its proxy", enterPod(t, "get", "shop", "risky", "proxy"), nil},
		{"no pod named", enterPod(t, "create", "shop", "", "exec"), nil},
		{"a virtual machine", attributes(authorizationv1.ResourceAttributes{Group: "subresources.kubevirt.io", Version: "v1",
			Verb: "get", Resource: "virtualmachineinstances", Subresource: "portforward", Namespace: "shop", Name: "risky"}), nil},
		{"pods of another group", attributes(authorizationv1.ResourceAttributes{Group: "metrics.k8s.io", Version: "v1beta1",
			Verb: "get", Resource: "pods", Subresource: "exec", Namespace: "shop", Name: "risky"}), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status := s.authorize(t, "/authorize", tt.review)
			if tt.denied == nil {
				wantNoOpinion(t, status)
			} else {
				wantDenied(t, status, tt.denied...)
			}
		})
	}
}

// TestAccessProxyNames says that a port or a scheme in the name hides no pod.
func TestAccessProxyNames(t *testing.T) {
	t.Parallel()
	s := serve(t, files(t, map[string]string{
		"policy.yaml": denyPolicy("no-proxy", "{appliesTo: {subresources: [proxy]}, blockFactors: [hostPID], failMode: open}"),
		"pods.yaml":   documents(t, newPod("shop", "risky", hostPID), newPod("shop", "safe")),
	}))
	for _, name := range []string{"risky", "risky:18080", "risky:web", "http:risky:18080", "https:risky:18080", "https:risky:"} {
		wantDenied(t, s.authorize(t, "/authorize", enterPod(t, "get", "shop", name, "proxy")), "hostPID")
	}
	wantNoOpinion(t, s.authorize(t, "/authorize", enterPod(t, "get", "shop", "safe:18080", "proxy")))
}

// TestAccessNodesProxy says that a node's proxy is as risky as the riskiest of
// its pods.
func TestAccessNodesProxy(t *testing.T) {
	t.Parallel()
	on := func(node string) change { return func(p *corePod) { p.Spec.NodeName = node } }
	pods := documents(t, newPod("shop", "a", on("risky")), newPod("infra", "b", on("risky"), hostPID), newPod("shop", "c", on("risky")),
		newPod("shop", "d", on("safe")), newPod("shop", "e", on("safe")))
	guarded := serve(t, files(t, map[string]string{"pods.yaml": pods,
		"policy.yaml": denyPolicy("node-guard", "{appliesTo: {subresources: [nodes/proxy]}, riskFactors: {hostPID: 60, hostIPC: 60}, thresholds: [{maxScore: 50, action: allow}, {maxScore: 100, action: deny}]}")}))
	other := serve(t, files(t, map[string]string{"pods.yaml": pods,
		"policy.yaml": denyPolicy("pod-guard", "{appliesTo: {subresources: [exec, proxy]}, blockFactors: [hostPID]}")}))
	for _, tt := range []struct {
		name   string
		s      *server
		node   string
		denied bool
	}{
		{"a node with a risky pod", guarded, "risky", true},
		{"a node with safe pods", guarded, "safe", false},
		{"a policy that does not name it", other, "risky", false},
	} {
		for _, verb := range []string{"get", "create", "update", "delete"} {
			t.Run(tt.name+"/"+verb, func(t *testing.T) {
				status := tt.s.authorize(t, "/authorize", accessReview(t, authorizationv1.ResourceAttributes{
					Verb: verb, Version: "v1", Resource: "nodes", Subresource: "proxy", Name: tt.node}))
				if tt.denied {
					wantDenied(t, status, "node-guard", "hostPID")
				} else {
					wantNoOpinion(t, status)
				}
			})
		}
		t.Run(tt.name+"/admission", func(t *testing.T) {
			response := tt.s.admit(t, "/validate", admissionReview(t, admissionv1.AdmissionRequest{
				Kind:        metav1.GroupVersionKind{Version: "v1", Kind: "NodeProxyOptions"},
				Resource:    metav1.GroupVersionResource{Version: "v1", Resource: "nodes"},
				SubResource: "proxy", Name: tt.node, Operation: admissionv1.Connect,
				Object: runtime.RawExtension{Raw: []byte(`{"kind":"NodeProxyOptions","apiVersion":"v1","path":"/run/shop/a/app"}`)}}))
			if tt.denied {
				wantRefused(t, response, "node-guard", "hostPID")
			} else {
				wantAdmitted(t, response)
			}
		})
	}
}

// TestAccessRules covers the rules of a DenyPolicy, which deny requests by
// their attributes.
func TestAccessRules(t *testing.T) {
	t.Parallel()
	attributes := func(verb, group, resource, subresource, namespace, name string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Verb: verb, Group: group, Version: "v1", Resource: resource, Subresource: subresource, Namespace: namespace, Name: name}
	}
	deleteNamespace := attributes("delete", "", "namespaces", "", "shop", "shop")
	exec := attributes("create", "", "pods", "exec", "shop", "web")
	tests := []struct {
		name   string
		rule   string
		about  authorizationv1.ResourceAttributes
		denied bool
	}{
		{"the document's", `{verbs: [delete], apiGroups: [""], resources: [namespaces]}`, deleteNamespace, true},
		{"another verb", `{verbs: [delete], apiGroups: [""], resources: [namespaces]}`, attributes("get", "", "namespaces", "", "shop", "shop"), false},
		{"another group", `{verbs: [delete], apiGroups: [example.com], resources: [namespaces]}`, deleteNamespace, false},
		{"another resource", `{verbs: [delete], apiGroups: [""], resources: [pods]}`, deleteNamespace, false},
		{"all verbs", `{verbs: ["*"], apiGroups: [""], resources: [namespaces]}`, deleteNamespace, true},
		{"all groups and resources", `{verbs: [delete], apiGroups: ["*"], resources: ["*"]}`, deleteNamespace, true},
		{"a named object", `{verbs: [delete], apiGroups: [""], resources: [namespaces], resourceNames: [shop]}`, deleteNamespace, true},
		{"another object", `{verbs: [delete], apiGroups: [""], resources: [namespaces], resourceNames: [other]}`, deleteNamespace, false},
		{"a subresource", `{verbs: [create], apiGroups: [""], resources: [pods/exec]}`, exec, true},
		{"every subresource", `{verbs: [create], apiGroups: [""], resources: ["pods/*"]}`, exec, true},
		{"a subresource in its own list", `{verbs: [create], apiGroups: [""], resources: [pods], subresources: [exec]}`, exec, true},
		{"another subresource in its own list", `{verbs: [create], apiGroups: [""], resources: [pods], subresources: [attach]}`, exec, false},
		{"only the resource", `{verbs: [create], apiGroups: [""], resources: [pods]}`, exec, false},
		{"a namespace", `{verbs: [create], apiGroups: [""], resources: [pods/exec], namespaces: [shop]}`, exec, true},
		{"a namespace by pattern", `{verbs: [create], apiGroups: [""], resources: [pods/exec], namespaces: {patterns: ["sh*"]}}`, exec, true},
		{"another namespace", `{verbs: [create], apiGroups: [""], resources: [pods/exec], namespaces: [other]}`, exec, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{
				"p/policy.yaml": denyPolicySpec("ruled", "rules: ["+tt.rule+"]"),
				"review.json":   accessReview(t, tt.about),
			})
			out := run(t, "review", dir+"/review.json", "-p", dir+"/p")
			var answer authorizationv1.SubjectAccessReview
			if err := json.Unmarshal([]byte(out.stdout), &answer); err != nil {
				t.Fatalf("no answer: %v\n%s", err, clip(out.all()))
			}
			if tt.denied {
				wantDenied(t, answer.Status, "ruled")
			} else {
				wantNoOpinion(t, answer.Status)
			}
		})
	}
}

// TestAccessScopedRules denies the document's first example on its clusters.
func TestAccessScopedRules(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"policy.yaml": examplePolicy(t, "high-risk-pod-exec-blocking", apiVersions[1])})
	production, development := serve(t, dir, "--cluster-name", "prod-eu"), serve(t, dir, "--cluster-name", "dev-eu")
	review := accessReview(t, authorizationv1.ResourceAttributes{Verb: "delete", Version: "v1", Resource: "namespaces", Namespace: "shop", Name: "shop"})
	for _, path := range []string{"/authorize", "/authorize/prod-eu"} {
		wantDenied(t, production.authorize(t, path, review), "high-risk-pod-exec-blocking")
	}
	for _, path := range []string{"/authorize", "/authorize/dev-eu"} {
		wantNoOpinion(t, development.authorize(t, path, review))
	}
}
