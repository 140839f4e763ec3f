package policyserver

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestWebhook writes the webhooks of one policy down.
func TestWebhook(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("hosts", "s", `
  mutating: true
  failurePolicy: Ignore
  timeoutSeconds: 7
  namespaceSelector: {matchLabels: {team: shop}}
  objectSelector: {matchExpressions: [{key: skip, operator: DoesNotExist}]}
  matchConditions: [{name: not-root, expression: "request.userInfo.username != 'root'"}]
`))
	l.sweep()
	l.rollOut("s")
	l.sweep()
	v, _ := read[admissionregistrationv1.ValidatingWebhookConfiguration](l, "", WebhooksName("s"))
	m, _ := read[admissionregistrationv1.MutatingWebhookConfiguration](l, "", WebhooksName("s"))
	if len(v.Webhooks) != 1 || len(m.Webhooks) != 1 {
		t.Fatalf("%d validating and %d mutating webhooks", len(v.Webhooks), len(m.Webhooks))
	}
	if !strings.HasPrefix(string(v.Webhooks[0].ClientConfig.CABundle), "-----BEGIN CERTIFICATE-----") {
		t.Errorf("the CA is %q", v.Webhooks[0].ClientConfig.CABundle)
	}
	v.Webhooks[0].ClientConfig.CABundle, m.Webhooks[0].ClientConfig.CABundle = nil, nil
	const want = `name: clusterwide-hosts.policies.sallyport.io
admissionReviewVersions: [v1]
clientConfig:
  service: {namespace: sallyport-system, name: policy-server-s, port: 443, path: /ignore/policy/clusterwide-hosts/WHAT}
rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
failurePolicy: Ignore
matchPolicy: Equivalent
sideEffects: None
timeoutSeconds: 7
namespaceSelector:
  matchLabels: {team: shop}
  matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [sallyport-system]}]
objectSelector: {matchExpressions: [{key: skip, operator: DoesNotExist}]}
matchConditions: [{name: not-root, expression: "request.userInfo.username != 'root'"}]
`
	var validating admissionregistrationv1.ValidatingWebhook
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(want, "WHAT", "validate")), &validating); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(validating, v.Webhooks[0]); diff != "" {
		t.Errorf("validating (-want +got):\n%s", diff)
	}
	var mutating admissionregistrationv1.MutatingWebhook
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(want, "WHAT", "mutate")+"reinvocationPolicy: IfNeeded\n"), &mutating); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mutating, m.Webhooks[0]); diff != "" {
		t.Errorf("mutating (-want +got):\n%s", diff)
	}
}

// TestOfNamespaces are policies of namespaces: where they reach, and what they are
// called.
func TestOfNamespaces(t *testing.T) {
	narrow := func(namespace, name string) string {
		return "apiVersion: sallyport.io/v1alpha1\nkind: AdmissionPolicy\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec:\n  module: registry://ghcr.io/org/a:v1\n  policyServer: s\n  rules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*']}]\n"
	}
	l := newLab(t, serverOf("s", ""), narrow("shop", "front-a"))
	l.clock.Step(1e9)
	l.create(narrow("shop-front", "a"))
	l.create(narrow(own, "a"))
	l.sweep()
	l.rollOut("s")
	l.sweep()
	v, _ := read[admissionregistrationv1.ValidatingWebhookConfiguration](l, "", WebhooksName("s"))
	if len(v.Webhooks) != 1 {
		t.Fatalf("%d webhooks", len(v.Webhooks))
	}
	w := v.Webhooks[0]
	if got := w.NamespaceSelector.MatchExpressions; len(got) != 2 || got[0].Values[0] != "shop" || got[0].Operator != "In" || got[1].Values[0] != own {
		t.Errorf("namespaces %+v", got)
	}
	if len(w.MatchConditions) != 1 || w.MatchConditions[0].Expression != "request.resource.group != 'sallyport.io'" {
		t.Errorf("conditions %+v", w.MatchConditions)
	}
	for namespace, want := range map[string]string{"shop": "True InForce", "shop-front": "False NameTaken: is called namespaced-shop-front-a at its server, which AdmissionPolicy/shop/front-a is too", own: "False OwnNamespace"} {
		name := "a"
		if namespace == "shop" {
			name = "front-a"
		}
		p, _ := read[v1alpha1.AdmissionPolicy](l, namespace, name)
		if got := says(p.Status.Conditions, v1alpha1.ConditionReady); !strings.HasPrefix(got, want) {
			t.Errorf("%s/%s is %q, want %q", namespace, name, got, want)
		}
	}
}

// TestNotOurs lists when a policy is kept off Sallyport's own objects.
func TestNotOurs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		groups [][]string
		want   bool
	}{
		{"every group", [][]string{{"*"}}, true},
		{"every group beside one", [][]string{{"apps"}, {"*"}}, true},
		{"others", [][]string{{"", "apps"}}, false},
		{"ours by name", [][]string{{"sallyport.io"}}, false},
		{"ours by name, and every one", [][]string{{"*"}, {"sallyport.io"}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &hosted{spec: &v1alpha1.AdmissionPolicySpec{}}
			for _, groups := range tt.groups {
				p.spec.Rules = append(p.spec.Rules, admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{APIGroups: groups}})
			}
			if got := len(conditions(p)) == 1; got != tt.want {
				t.Errorf("got %v", conditions(p))
			}
		})
	}
}

// TestLongNames has a policy whose webhook could not be called after it.
func TestLongNames(t *testing.T) {
	long := "clusterwide-" + strings.Repeat("a", 253)
	if got := webhookName(long); len(got) > longestWebhook || !strings.HasSuffix(got, webhookSuffix) || got == webhookName(long+"b") {
		t.Errorf("%s", got)
	}
	if got := webhookName("clusterwide-a"); got != "clusterwide-a.policies.sallyport.io" {
		t.Errorf("%s", got)
	}
}
