package e2e

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/test/lab"
)

const doorsPolicies = `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: doors-exec}
spec: {podSecurityRules: {blockFactors: [hostPID], appliesTo: {subresources: [exec, attach, portforward, ephemeralcontainers]}}}
---
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: doors-log}
spec: {podSecurityRules: {blockFactors: [hostPID], appliesTo: {subresources: [log]}}}
---
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: doors-secrets}
spec: {rules: [{verbs: [get, list], apiGroups: [""], resources: [secrets], namespaces: {patterns: [doors-none]}}]}
---
apiVersion: sallyport.io/v1alpha1
kind: IdentitySource
metadata: {name: doors-identity}
spec: {key: doors, podAnnotation: {}}
`

// doorsPods is about pods, by webhooks only.
var doorsPods = strings.ReplaceAll(followedPods, "NAME", "doors-pods")

// TestEnforcedAtBothDoors has each policy say whether a door asks about it that is wired,
// and whether that reaches Sallyport.
func TestEnforcedAtBothDoors(t *testing.T) {
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "doors"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	deleteAfter(t, "denypolicy", "doors-exec", "doors-log", "doors-secrets")
	deleteAfter(t, "identitysource/doors-identity")
	deleteAfter(t, "clusterpolicy/doors-pods")
	want(t, apply(t, root, doorsPolicies+"---"+doorsPods), true)
	for policy, says := range map[string]string{
		"denypolicy/doors-exec":         "CONNECT of pods/exec: no webhook asks, and the authorizer does not ask about create of pods/exec",
		"denypolicy/doors-log":          "the authorizer does not ask about get of pods/log",
		"denypolicy/doors-secrets":      "the authorizer does not ask about get of secrets",
		"identitysource/doors-identity": "CREATE of pods: no webhook asks",
		"clusterpolicy/doors-pods":      "no webhook asks",
	} {
		enforced(t, policy, "False", says)
	}
	want(t, shared.Kubectl(t.Context(), root, "get", "denypolicies,identitysources"), true, "ENFORCED")

	t.Run("the side door", func(t *testing.T) {
		if err := shared.WireAccess(t.Context(), s, wiring.Authorizer{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unwire(t, shared.UnwireAccess) })
		enforced(t, "denypolicy/doors-exec", "True", "by its authorizer only")
		enforced(t, "denypolicy/doors-log", "True", "at least one API server asks")
		enforced(t, "denypolicy/doors-secrets", "False", "the authorizer does not ask about get of secrets")
		if err := shared.WireAccess(t.Context(), s, wiring.Authorizer{Everything: true}); err != nil {
			t.Fatal(err)
		}
		enforced(t, "denypolicy/doors-secrets", "True", "at least one API server asks")
		enforced(t, "identitysource/doors-identity", "False", "no webhook asks")
	})
	t.Run("the front door", func(t *testing.T) {
		if err := shared.WireAdmission(t.Context(), s, nil); err != nil {
			t.Fatal(err)
		}
		enforced(t, "denypolicy/doors-exec", "True", "the API server asks about all that the policy is about; its webhooks reach Sallyport; every replica has it in force")
		enforced(t, "identitysource/doors-identity", "True", "its webhooks reach Sallyport")
		enforced(t, "clusterpolicy/doors-pods", "True", "its webhooks reach Sallyport")
		enforced(t, "denypolicy/doors-log", "False", "the front door hears of no such request")
	})
	t.Cleanup(func() { unwire(t, shared.UnwireAdmission) })
	for _, c := range []struct {
		name, webhook  string
		change         func(*admissionregistrationv1.ValidatingWebhook)
		policy, status string
		says           string
	}{
		{"narrowed by a selector", "access.sallyport.io", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"guarded": "yes"}}
		}, "denypolicy/doors-exec", "False", "its namespaceSelector leaves namespaces out"},
		{"about another scope", "access.sallyport.io", func(w *admissionregistrationv1.ValidatingWebhook) {
			scope := admissionregistrationv1.ClusterScope
			w.Rules[0].Scope = &scope
		}, "denypolicy/doors-exec", "False", "CONNECT of pods/exec: no webhook asks"},
		{"letting in while it cannot ask", "tokens.sallyport.io", func(w *admissionregistrationv1.ValidatingWebhook) {
			ignore := admissionregistrationv1.Ignore
			w.FailurePolicy = &ignore
		}, "identitysource/doors-identity", "False", "failurePolicy: Ignore"},
		{"another condition", "bindings.sallyport.io", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.MatchConditions = append(w.MatchConditions, admissionregistrationv1.MatchCondition{Name: "mine", Expression: "request.userInfo.username != 'carol'"})
		}, "identitysource/doors-identity", "False", `its match condition "mine" leaves requests out`},
		{"without its CA", "pods.sallyport.io", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ClientConfig.CABundle = nil
		}, "clusterpolicy/doors-pods", "False", "its caBundle is another than that of the webhook for exceptions"},
		{"all without their CA", "", func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ClientConfig.CABundle = nil
		}, "clusterpolicy/doors-pods", "False", "a webhook does not reach Sallyport"},
	} {
		t.Run(c.name, func(t *testing.T) {
			hooks := shared.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
			live, err := hooks.Get(t.Context(), "sallyport", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			before := live.DeepCopy()
			for i := range live.Webhooks {
				if w := &live.Webhooks[i]; (c.webhook == "" || w.Name == c.webhook) && strings.HasSuffix(w.Name, ".sallyport.io") && !strings.Contains(w.Name, ".lab.") {
					c.change(w)
				}
			}
			if live, err = hooks.Update(t.Context(), live, metav1.UpdateOptions{FieldManager: "someone"}); err != nil {
				t.Fatal(err)
			}
			enforced(t, c.policy, c.status, c.says)
			before.ResourceVersion = live.ResourceVersion
			if _, err := hooks.Update(t.Context(), before, metav1.UpdateOptions{FieldManager: "someone"}); err != nil {
				t.Fatal(fmt.Errorf("it could not be put back: %w", err))
			}
			enforced(t, c.policy, "True", "its webhooks reach Sallyport")
		})
	}
}
