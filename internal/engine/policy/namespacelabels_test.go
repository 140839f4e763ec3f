package policy

import (
	"maps"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

type set = map[string]string

// relabelRequest is what the admission door is asked when the labels of namespace
// shop change; before nil: when it is made.
func relabelRequest(t testing.TB, state request.Cluster, user string, before, after set) *request.Request {
	t.Helper()
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	object := func(labels set) *pod.Object {
		all := maps.Clone(labels)
		if all == nil {
			all = set{}
		}
		all["kubernetes.io/metadata.name"] = "shop"
		raw, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop", "labels": all}})
		if err == nil {
			raw, err = yaml.YAMLToJSON(raw)
		}
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := pod.Default().Decode(gvk, raw)
		if err != nil {
			t.Fatal(err)
		}
		return decoded
	}
	r := &request.Request{
		Time: judgedAt, Door: request.Admission, UID: "1", Operation: request.Create, ClusterName: "prod-eu", User: request.User{Name: user},
		Kind: gvk, Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Namespace: "shop", Name: "shop",
		Object: object(after), Cluster: state,
	}
	if before != nil {
		r.Operation, r.OldObject = request.Update, object(before)
	}
	if authorizer, ok := state.(request.Authorizer); ok {
		r.Authorizer = authorizer
	}
	return r
}

func resultsAboutLabels(d decision.Decision) []decision.Result {
	var results []decision.Result
	for _, r := range d.Results {
		if r.Rule == stored.RuleNamespaceLabels {
			results = append(results, r)
		}
	}
	return results
}

const (
	exemptingTerms = `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: strict}
spec:
  podSecurityRules:
    riskFactors: {privilegedContainer: 50}
    thresholds: [{maxScore: 10, action: allow}]
    exemptions: {namespaces: {selectorTerms: [{matchLabels: {env: dev}}, {matchExpressions: [{key: guarded, operator: DoesNotExist}, {key: env, operator: In, values: [test]}]}]}}`
	plainRisk = `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: strict}
spec:
  podSecurityRules:
    riskFactors: {privilegedContainer: 50}
    thresholds: [{maxScore: 10, action: allow}]`
	denyRules = `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: no-exec}
spec:
  appliesTo: {clusters: [prod-eu]}
  rules:
  - {verbs: ["*"], apiGroups: [""], resources: [pods/exec], namespaces: {selectorTerms: [{matchExpressions: [{key: env, operator: NotIn, values: [dev]}]}]}}
  - {verbs: [create], apiGroups: [""], resources: [pods/exec], namespaces: {selectorTerms: [{matchLabels: {tier: gold}}]}}`
	selecting = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {"env*": "pro?"}}}}, {resources: {kinds: [Pod], namespaceSelector: {matchLabels: {tier: gold}}}}]}
    validate: {pattern: {metadata: {labels: {team: "?*"}}}}`
	excluding = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  validationFailureAction: Audit
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod]}}]}
    exclude: {any: [{resources: {kinds: [Pod, Deployment], namespaceSelector: {matchLabels: {skip: "yes"}}}}]}
    validate: {pattern: {metadata: {labels: {team: "?*"}}}}`
	aboutNamespaces = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: owners}
spec:
  rules:
  - name: owner
    match: {any: [{resources: {kinds: [Namespace], selector: {matchLabels: {tenant: "yes"}}}}]}
    validate: {pattern: {metadata: {=(annotations): {=(owner): "?*"}}}}`
	overriding = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  validationFailureAction: Enforce
  validationFailureActionOverrides:
  - {action: Audit, namespaceSelector: {matchLabels: {lax: "yes"}}}
  - {action: Warn, namespaceSelector: {matchLabels: {lax: some}}}
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {pattern: {metadata: {labels: {team: "?*"}}}}`
	ofItsOwn = `
apiVersion: sallyport.io/v1alpha1
kind: Policy
metadata: {name: labels, namespace: NAMESPACE}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {env: prod}}}}]}
    validate: {pattern: {metadata: {labels: {team: "?*"}}}}`
	byLabels = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: standards}
spec:
  rules:
  - name: standard
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {podSecurity: {level: namespace, defaults: {enforce: baseline, enforce-version: v1.30}, exemptions: {namespaces: [EXEMPT]}}}`
	selectingModule = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterAdmissionPolicy
metadata: {name: module}
spec:
  module: registry://registry.example.com/a:v1
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  namespaceSelector: {matchExpressions: [{key: env, operator: In, values: [prod]}]}`
	conditionalModule = `
apiVersion: sallyport.io/v1alpha1
kind: AdmissionPolicy
metadata: {name: module, namespace: shop}
spec:
  module: registry://registry.example.com/a:v1
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  matchConditions: [{name: prod, expression: "namespaceObject.metadata.labels[?'env'].orValue('') == 'prod'"}]`
	reading1 = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: cel}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {cel: {expressions: [{expression: "has(namespaceObject.metadata.labels.team) && object.metadata.name.startsWith(namespaceObject.metadata.labels.team)"}]}}`
	excusing = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicyException
metadata: {name: dev}
spec:
  reason: tests
  exceptions: [{policyName: strict}]
  match: {any: [{resources: {kinds: [Pod/exec, Pod], namespaceSelector: {matchLabels: {env: dev}}}}]}`
	excusingHere = `
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: dev, namespace: NAMESPACE}
spec:
  reason: tests
  exceptions: [{policyName: strict}]
  match: {any: [{resources: {kinds: [Pod/exec, Pod], namespaceSelector: {matchExpressions: [{key: guarded, operator: DoesNotExist}]}}}]}`
	conditionalException = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicyException
metadata: {name: dev}
spec:
  reason: tests
  exceptions: [{policyName: strict}]
  match: {any: [{resources: {kinds: [Pod]}}]}
  conditions: [{name: dev, expression: "namespaceObject.metadata.labels[?'env'].orValue('') == 'dev'"}]`
	identities = `
apiVersion: sallyport.io/v1alpha1
kind: IdentitySource
metadata: {name: strict}
spec: {key: kerberos, podAnnotation: {}}`
	escalating1 = `
apiVersion: sallyport.io/v1alpha1
kind: BreakglassEscalation
metadata: {name: debug}
spec:
  allowed: {clusters: [CLUSTER], groups: [sre]}
  approvers: {users: [bob]}
  podSecurityOverrides: {enabled: true, maxAllowedScore: 100, namespaceScope: {selectorTerms: [{matchLabels: {debug: "yes"}}]}}`
	approving = `
apiVersion: sallyport.io/v1alpha1
kind: ExceptionPolicy
metadata: {name: automatic}
spec:
  policies: ["str*"]
  approvalPolicy: Automatic
  approvalCondition: "namespaceObject.metadata.labels[?'trusted'].orValue('') == 'yes'"`
)

func TestLabelsOfNamespacesAreARight(t *testing.T) {
	const psa = "pod-security.kubernetes.io/"
	tests := []struct {
		name          string
		policies      []string
		before, after set
		// weaker names the policies that do less, as kinds and names; says what.
		weaker []string
		says   string
	}{
		{"an exemption, set", []string{exemptingTerms}, set{}, set{"env": "dev"}, []string{"DenyPolicy strict"}, "exempts the pods of the namespace"},
		{"an exemption, at creation", []string{exemptingTerms}, nil, set{"env": "dev"}, []string{"DenyPolicy strict"}, "the label env=dev of namespace shop"},
		{"an exemption by a label that is taken away", []string{exemptingTerms}, set{"env": "test", "guarded": ""}, set{"env": "test"}, []string{"DenyPolicy strict"}, "the label guarded (removed)"},
		{"an exemption by a label without a value", []string{strings.Replace(exemptingTerms, "{matchLabels: {env: dev}}", "{matchExpressions: [{key: lax, operator: Exists}]}", 1)}, set{}, set{"lax": ""}, []string{"DenyPolicy strict"}, "the label lax"},
		{"an exemption, taken away", []string{exemptingTerms}, set{"env": "dev"}, set{}, nil, ""},
		{"an exemption by another label", []string{exemptingTerms}, set{"env": "dev"}, set{"env": "test"}, nil, ""},
		{"a label that nothing goes by", []string{exemptingTerms, denyRules, selecting}, set{"a": "b"}, set{"a": "c"}, nil, ""},
		{"a rule that denies, left", []string{denyRules}, set{"env": "prod"}, set{"env": "dev"}, []string{"DenyPolicy no-exec"}, "rules[0] is not about the namespace any more"},
		{"a rule that denies, come under", []string{denyRules}, set{"env": "dev"}, set{"tier": "gold"}, nil, ""},
		{"a rule that denies, covered by a wider one", []string{denyRules}, set{"tier": "gold"}, set{}, nil, ""},
		{"a policy of another cluster", []string{strings.Replace(denyRules, "prod-eu", "test-*", 1)}, set{"env": "prod"}, set{"env": "dev"}, nil, ""},
		{"a selector with wildcards, left", []string{selecting}, set{"env1": "prod"}, set{"env1": "test"}, []string{"ClusterPolicy labels"}, "it is about less in the namespace"},
		{"a selector, left for another of the rule", []string{selecting}, set{"env1": "prod"}, set{"tier": "gold"}, nil, ""},
		{"a selector, come under", []string{selecting}, set{}, set{"env": "prod"}, nil, ""},
		{"a selector, at creation", []string{selecting}, nil, set{"env": "prod"}, nil, ""},
		{"an exclusion from an audit, set", []string{excluding}, set{}, set{"skip": "yes"}, []string{"ClusterPolicy labels"}, "it is about less in the namespace"},
		{"an exclusion, taken away", []string{excluding}, set{"skip": "yes"}, set{}, nil, ""},
		{"a rule only about what makes pods", []string{strings.Replace(excluding, "[Pod, Deployment]", "[Deployment]", 1)}, set{}, set{"skip": "yes"}, []string{"ClusterPolicy labels"}, "it is about less in the namespace"},
		{"an exclusion of what the rule is not about", []string{strings.Replace(excluding, "[Pod, Deployment]", "[ConfigMap]", 1)}, set{}, set{"skip": "yes"}, nil, ""},
		{"a rule about namespaces", []string{aboutNamespaces}, set{"tenant": "yes"}, set{}, []string{"ClusterPolicy owners"}, "it is about less in the namespace"},
		{"a milder action", []string{overriding}, set{}, set{"lax": "yes"}, []string{"ClusterPolicy labels"}, "its action becomes Audit, which was Enforce"},
		{"a milder action, from a warning", []string{overriding}, set{"lax": "some"}, set{"lax": "yes"}, []string{"ClusterPolicy labels"}, "its action becomes Audit, which was Warn"},
		{"a stricter action", []string{overriding}, set{"lax": "yes"}, set{"lax": "some"}, nil, ""},
		{"a Policy of the namespace", []string{strings.Replace(ofItsOwn, "NAMESPACE", "shop", 1)}, set{"env": "prod"}, set{}, []string{"Policy labels"}, `policies.sallyport.io "labels" in namespace shop`},
		{"a Policy of another one", []string{strings.Replace(ofItsOwn, "NAMESPACE", "ops", 1)}, set{"env": "prod"}, set{}, nil, ""},
		{"a standard, lowered", []string{byLabels}, set{psa + "enforce": "restricted"}, set{psa + "enforce": "baseline"}, []string{"ClusterPolicy standards"}, "enforce becomes baseline:v1.30, which was restricted:v1.30"},
		{"a standard, raised over the default", []string{byLabels}, set{}, set{psa + "enforce": "restricted"}, nil, ""},
		{"a standard, back to the default", []string{byLabels}, set{psa + "enforce": "restricted"}, set{}, []string{"ClusterPolicy standards"}, "enforce becomes baseline:v1.30"},
		{"a standard below the default, at creation", []string{byLabels}, nil, set{psa + "enforce": "privileged"}, []string{"ClusterPolicy standards"}, "enforce becomes privileged:v1.30, which was baseline:v1.30"},
		{"an earlier version", []string{byLabels}, set{psa + "enforce-version": "latest"}, set{psa + "enforce-version": "v1.29"}, []string{"ClusterPolicy standards"}, "enforce becomes baseline:v1.29, which was baseline:latest"},
		{"a later version", []string{byLabels}, set{psa + "enforce-version": "v1.29"}, set{psa + "enforce-version": "latest"}, nil, ""},
		{"a level that is wrong counts as restricted", []string{byLabels}, set{psa + "enforce": "baseline", psa + "warn": "baseline"}, set{psa + "enforce": "none", psa + "warn": "baseline"}, nil, ""},
		{"a warning, taken away", []string{byLabels}, set{psa + "warn": "restricted"}, set{}, []string{"ClusterPolicy standards"}, "warn becomes privileged:latest, which was restricted:latest"},
		{"the standard of an exempt namespace", []string{strings.Replace(byLabels, "EXEMPT", "shop", 1)}, set{psa + "enforce": "restricted"}, set{}, nil, ""},
		{"a module, left", []string{selectingModule}, set{"env": "prod"}, set{"env": "dev"}, []string{"ClusterAdmissionPolicy module"}, "namespaceSelector does not select the namespace any more"},
		{"a module, come under", []string{selectingModule}, set{}, set{"env": "prod"}, nil, ""},
		{"a module's condition, left", []string{conditionalModule}, set{"env": "prod"}, set{}, []string{"AdmissionPolicy module"}, "matchConditions read the label"},
		{"a module's condition, come under", []string{conditionalModule}, set{}, set{"env": "prod"}, nil, ""},
		{"an expression that reads the label", []string{reading1}, set{"team": "a"}, set{"team": "b"}, []string{"ClusterPolicy cel"}, "its expressions read the label"},
		{"an expression that reads others", []string{reading1}, set{"team": "a"}, set{"team": "a", "other": "b"}, nil, ""},
		{"an exception, come to cover", []string{plainRisk, identities, excusing}, set{}, set{"env": "dev"}, []string{"DenyPolicy strict", "IdentitySource strict"}, "ClusterPolicyException dev excuses more in the namespace"},
		{"an exception, left", []string{plainRisk, excusing}, set{"env": "dev"}, set{}, nil, ""},
		{"an exception of the namespace", []string{plainRisk, strings.Replace(excusingHere, "NAMESPACE", "shop", 1)}, set{"guarded": ""}, set{}, []string{"DenyPolicy strict"}, "PolicyException shop/dev excuses more"},
		{"an exception of another one", []string{plainRisk, strings.Replace(excusingHere, "NAMESPACE", "ops", 1)}, set{"guarded": ""}, set{}, nil, ""},
		{"an exception that is over", []string{plainRisk, strings.Replace(excusing, "spec:", "spec:\n  expiresAt: 2026-11-01T00:00:00Z", 1)}, set{}, set{"env": "dev"}, nil, ""},
		{"an exception's condition", []string{plainRisk, conditionalException}, set{}, set{"env": "dev"}, []string{"DenyPolicy strict"}, "ClusterPolicyException dev excuses more"},
		{"an exception's condition, left", []string{plainRisk, conditionalException}, set{"env": "dev"}, set{}, nil, ""},
		{"an escalation, come to cover", []string{plainRisk, strings.Replace(escalating1, "CLUSTER", "prod-eu", 1)}, set{}, set{"debug": "yes"}, []string{"DenyPolicy strict"}, "BreakglassEscalation debug excuses pods of the namespace"},
		{"an escalation, left", []string{plainRisk, strings.Replace(escalating1, "CLUSTER", "prod-eu", 1)}, set{"debug": "yes"}, set{}, nil, ""},
		{"an escalation of another cluster", []string{plainRisk, strings.Replace(escalating1, "CLUSTER", "test", 1)}, set{}, set{"debug": "yes"}, nil, ""},
		{"an automatic approval", []string{plainRisk, approving}, set{}, set{"trusted": "yes"}, []string{"DenyPolicy strict"}, "ExceptionPolicy automatic may approve exceptions"},
		{"an automatic approval, left", []string{plainRisk, approving}, set{"trusted": "yes"}, set{}, nil, ""},
		{"the label that is named, of several", []string{exemptingTerms}, set{"a": "b"}, set{"a": "c", "env": "dev", "z": ""}, []string{"DenyPolicy strict"}, "the label env=dev of namespace shop would make DenyPolicy strict do less"},
		{"its own name", []string{strings.Replace(exemptingTerms, "{env: dev}", `{kubernetes.io/metadata.name: shop}`, 1)}, nil, set{"a": "b"}, nil, ""},
	}
	allExempt := rbacv1.PolicyRule{APIGroups: []string{"sallyport.io"}, Resources: []string{"*"}, Verbs: []string{"exempt"}}
	state := clusterOf(t, namespace("shop", nil), clusterRole("exempter", allExempt), boundTo("carol", "exempter"))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			policies := make([]string, len(test.policies))
			for i, p := range test.policies {
				policies[i] = strings.Replace(p, "[EXEMPT]", "[exempt]", 1)
			}
			compiled := setOf(t, policies...)
			d := compiled.Decide(t.Context(), relabelRequest(t, state, "alice", test.before, test.after))
			results := resultsAboutLabels(d)
			var weaker []string
			for _, r := range results {
				weaker = append(weaker, r.Kind+" "+r.Policy)
				if r.Status != decision.Fail || r.Action != decision.Enforce || len(r.Findings) == 0 {
					t.Errorf("not a refusal with findings: %+v", r)
				}
				if !strings.Contains(r.Message, test.says) || !strings.Contains(r.Message, "alice may not bring that about: it needs the verb exempt on "+resourceOf(r.Kind)+".sallyport.io") {
					t.Errorf("message: %s", r.Message)
				}
			}
			if strings.Join(weaker, ", ") != strings.Join(test.weaker, ", ") {
				t.Errorf("does less: %q, want %q\n%+v", weaker, test.weaker, results)
			}
			for _, r := range resultsAboutLabels(compiled.Decide(t.Context(), relabelRequest(t, state, "carol", test.before, test.after))) {
				if r.Status != decision.Pass {
					t.Errorf("with the right: %+v", r)
				}
			}
			if found := resultsAboutLabels(compiled.Decide(t.Context(), relabelRequest(t, state, "", test.before, test.after))); len(found) > 0 {
				t.Errorf("nobody is known to ask: %+v", found)
			}
		})
	}
}
