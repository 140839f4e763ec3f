package e2e

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/test/lab"
)

// followedPolicies are about what no shipped webhook asks about.
const followedPolicies = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: follow-services}
spec:
  rules:
  - name: no-nodeport
    match: {any: [{resources: {kinds: [Service], namespaces: [follow]}}]}
    validate:
      message: NodePort services are not allowed
      pattern: {spec: {=(type): "!NodePort"}}
  - name: ns-owner
    match: {any: [{resources: {kinds: [Namespace], names: ["follow-*"]}}]}
    validate:
      message: namespaces need an owner
      pattern: {metadata: {labels: {owner: "?*"}}}
---
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: follow-scale}
spec:
  rules:
  - name: few
    match: {any: [{resources: {kinds: [Deployment/scale], namespaces: [follow]}}]}
    validate:
      message: at most 3 replicas
      cel: {expressions: [{expression: "object.spec.replicas <= 3"}]}
---
apiVersion: sallyport.io/v1alpha1
kind: Policy
metadata: {name: follow-own, namespace: follow}
spec:
  failurePolicy: Ignore
  rules:
  - name: no-plain
    match: {any: [{resources: {kinds: [ConfigMap], names: ["plain*"]}}]}
    validate:
      message: a plain one is not allowed
      pattern: {metadata: {labels: {reviewed: "yes"}}}
---
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: follow-widgets}
spec:
  rules:
  - name: small
    match: {any: [{resources: {kinds: [FollowWidget]}}]}
    validate:
      message: widgets are small
      pattern: {spec: {size: "<5"}}
`

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: followwidgets.follow.example.com}
spec:
  group: follow.example.com
  scope: Namespaced
  names: {plural: followwidgets, singular: followwidget, kind: FollowWidget, listKind: FollowWidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`

// TestWebhooksFollowPolicies has policies about what no shipped webhook asks about
// enforced by kubectl apply and nothing else, and says where one is not.
func TestWebhooksFollowPolicies(t *testing.T) {
	if err := shared.CreateNamespace(t.Context(), "follow", nil); err != nil {
		t.Fatal(err)
	}
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "following"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := shared.WireAdmission(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unwire(t, shared.UnwireAdmission) })
	deleteAfter(t, "clusterpolicy", "follow-services", "follow-scale", "follow-widgets")
	deleteAfter(t, "policies.sallyport.io", "follow-own", "-n", "follow")
	want(t, apply(t, root, followedPolicies), true)

	// Without the configurations that follow, each says what is not asked about.
	enforced(t, "clusterpolicy/follow-services", "False", "no webhook asks")
	enforced(t, "clusterpolicy/follow-scale", "False", "deployments.apps/scale")
	want(t, shared.Kubectl(t.Context(), root, "get", "clusterpolicies"), true, "ENFORCED")

	followRules(t)
	enforced(t, "clusterpolicy/follow-services", "True", "")
	enforced(t, "clusterpolicy/follow-scale", "True", "")
	enforced(t, "policies.sallyport.io/follow-own", "True", "", "-n", "follow")
	enforced(t, "clusterpolicy/follow-widgets", "False", "has no FollowWidget")

	refusedSoon(t, "NodePort services are not allowed", "create", "service", "nodeport", "np", "-n", "follow", "--tcp=80", "--dry-run=server")
	refusedSoon(t, "namespaces need an owner", "create", "namespace", "follow-unowned", "--dry-run=server")
	want(t, shared.Kubectl(t.Context(), root, "create", "service", "clusterip", "ip", "-n", "follow", "--tcp=80", "--dry-run=server"), true)
	refusedSoon(t, "a plain one is not allowed", "create", "configmap", "plain", "-n", "follow", "--dry-run=server")
	want(t, shared.Kubectl(t.Context(), root, "create", "deployment", "web", "-n", "follow", "--image=registry.example.com/app:1"), true)
	deleteAfter(t, "deployment", "web", "-n", "follow")
	refusedSoon(t, "at most 3 replicas", "scale", "deployment", "web", "-n", "follow", "--replicas=9")
	want(t, shared.Kubectl(t.Context(), root, "scale", "deployment", "web", "-n", "follow", "--replicas=2"), true)

	t.Run("a definition that comes after its policy", func(t *testing.T) {
		deleteAfter(t, "crd", "followwidgets.follow.example.com")
		want(t, apply(t, root, widgetDefinition), true)
		started := time.Now()
		enforced(t, "clusterpolicy/follow-widgets", "True", "")
		t.Logf("asked about %s after the definition", time.Since(started).Round(time.Millisecond))
		widget := "apiVersion: follow.example.com/v1\nkind: FollowWidget\nmetadata: {name: big, namespace: follow}\nspec: {size: 9}\n"
		awaitResult(t, func() lab.Result { return apply(t, root, widget) }, false, "widgets are small")
	})
	t.Run("labels that change with the status", func(t *testing.T) {
		rules := followingRules(t)
		if !strings.Contains(rules, "services/status") || strings.Contains(rules, "endpoints") {
			t.Errorf("the webhooks ask about %s", rules)
		}
	})
	t.Run("one that someone narrows is put right", func(t *testing.T) {
		hooks := shared.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		narrow := []byte(`[{"op":"replace","path":"/webhooks/0/objectSelector","value":{"matchLabels":{"guarded":"yes"}}}]`)
		if _, err := hooks.Patch(t.Context(), "sallyport-rules", types.JSONPatchType, narrow, metav1.PatchOptions{FieldManager: "someone"}); err != nil {
			t.Fatal(err)
		}
		refusedSoon(t, "NodePort services are not allowed", "create", "service", "nodeport", "np", "-n", "follow", "--tcp=80", "--dry-run=server")
	})
	t.Run("what is shipped and narrowed is said", func(t *testing.T) {
		hooks := shared.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		want(t, apply(t, root, strings.ReplaceAll(followedPods, "NAME", "follow-pods")), true)
		deleteAfter(t, "clusterpolicy/follow-pods")
		enforced(t, "clusterpolicy/follow-pods", "True", "")
		narrow := []byte(`[{"op":"add","path":"/webhooks/0/objectSelector","value":{"matchLabels":{"guarded":"yes"}}}]`)
		if _, err := hooks.Patch(t.Context(), "sallyport", types.JSONPatchType, narrow, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		// What it leaves out is asked about by what follows.
		awaitRules(t, `"pods"`)
		enforced(t, "clusterpolicy/follow-pods", "True", "")
	})
	t.Run("what no policy is about is not asked about", func(t *testing.T) {
		want(t, shared.Kubectl(t.Context(), root, "delete", "clusterpolicy", "follow-services", "follow-scale"), true)
		deadline := time.Now().Add(waitLimit)
		for strings.Contains(followingRules(t), `"services"`) {
			if time.Now().After(deadline) {
				t.Fatalf("asked about still: %s", followingRules(t))
			}
		}
		want(t, shared.Kubectl(t.Context(), root, "create", "service", "nodeport", "np", "-n", "follow", "--tcp=80", "--dry-run=server"), true)
	})
}

// followRules installs the configurations that follow policies, until the test ends.
func followRules(t *testing.T) {
	t.Helper()
	file := filepath.Join(repository(t), "config", "wiring", "ruleswebhookconfigurations.yaml")
	deleteAfter(t, "-f", file)
	want(t, shared.Kubectl(t.Context(), root, "apply", "-f", file), true)
}

const followedPods = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: NAME}
spec:
  rules:
  - name: labelled
    match: {any: [{resources: {kinds: [Pod], namespaces: [follow]}}]}
    validate: {pattern: {metadata: {name: "?*"}}}
`

// followingRules are the rules of the webhooks that follow policies, as JSON.
func followingRules(t *testing.T) string {
	t.Helper()
	live, err := shared.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(context.WithoutCancel(t.Context()), "sallyport-rules", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var rules []admissionregistrationv1.RuleWithOperations
	for _, w := range live.Webhooks {
		rules = append(rules, w.Rules...)
	}
	text, err := json.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func awaitRules(t *testing.T, says string) {
	t.Helper()
	deadline := time.Now().Add(waitLimit)
	for !strings.Contains(followingRules(t), says) {
		if time.Now().After(deadline) {
			t.Fatalf("%s are not asked about: %s", says, followingRules(t))
		}
	}
}

// enforced waits until the condition Enforced of a policy has a status, and says
// something.
func enforced(t *testing.T, object, status, says string, more ...string) {
	t.Helper()
	args := append([]string{"get", object}, more...)
	args = append(args, "-o", `jsonpath={.status.conditions[?(@.type=="Enforced")].status} {.status.conditions[?(@.type=="Enforced")].message}`)
	awaitResult(t, func() lab.Result { return shared.Kubectl(t.Context(), root, args...) }, true, status+" ", says)
}

// refusedSoon waits until a command is refused: API servers take webhooks over a
// moment after they are written.
func refusedSoon(t *testing.T, says string, args ...string) {
	t.Helper()
	awaitResult(t, func() lab.Result { return shared.Kubectl(t.Context(), root, args...) }, false, says)
}

func awaitResult(t *testing.T, do func() lab.Result, ok bool, says ...string) {
	t.Helper()
	deadline := time.Now().Add(waitLimit)
	for {
		r := do()
		fine := r.OK() == ok
		for _, s := range says {
			fine = fine && strings.Contains(r.String(), s)
		}
		if fine {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("want %v with %q: %s", ok, says, r)
		}
	}
}
