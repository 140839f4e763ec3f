package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestEnforcementActionOfDenyPolicies asks by each way in which a DenyPolicy refuses, and
// expects it to refuse only with deny, to warn only with warn, and to count as what would be
// refused with both others.
func TestEnforcementActionOfDenyPolicies(t *testing.T) {
	policyOf := func(spec string) string { return yamlOf("DenyPolicy", "p", "spec: {"+spec+"}") }
	risky := clusterOf(t, append(exemptObjects(), podNamed("shop", "root", privileged))...)
	atFrontDoor := func(subresource string) *request.Request {
		r := access1(risky, subresource, "shop", "root")
		r.Door, r.Operation, r.Verb = request.Admission, request.Connect, ""
		return r
	}
	for name, c := range map[string]struct {
		policy string
		of     *request.Request
		// status where it denies.
		status decision.Status
	}{
		"rules, at the side door":            {policyOf(`rules: [{verbs: ["*"], apiGroups: [""], resources: [pods/exec]}], ACTION`), exec(risky, "shop", "root"), decision.Fail},
		"rules, at the front door":           {policyOf(`rules: [{verbs: ["*"], apiGroups: [""], resources: [pods/attach]}], ACTION`), atFrontDoor("attach"), decision.Fail},
		"podSecurityRules":                   {policyOf(`podSecurityRules: {blockFactors: [privilegedContainer]}, ACTION`), exec(risky, "shop", "root"), decision.Fail},
		"podSecurityRules, at the front":     {policyOf(`podSecurityRules: {blockFactors: [privilegedContainer]}, ACTION`), atFrontDoor("exec"), decision.Fail},
		"a pod that cannot be read":          {policyOf(`podSecurityRules: {blockFactors: [privilegedContainer]}, ACTION`), exec(unreadable{}, "shop", "root"), decision.Error},
		"namespaces that cannot be read":     {policyOf(`rules: [{verbs: ["*"], apiGroups: [""], resources: [pods/exec], namespaces: {selectorTerms: [{matchLabels: {a: b}}]}}], ACTION`), exec(unreadable{}, "shop", "root"), decision.Error},
		"labels that exempt":                 {policyOf(`podSecurityRules: {blockFactors: [privilegedContainer], exemptions: {podLabels: {exempt: "yes"}}}, ACTION`), asked(t, risky, stranger, "pods", "", "", strings.Replace(podYAML("web", "", "app:1"), "annotations: {}", `labels: {exempt: "yes"}`, 1)), decision.Fail},
		"a policy that cannot work":          {policyOf(`rules: [{verbs: ["*"], apiGroups: [""], resources: [pods/exec, ""]}], ACTION`), exec(risky, "shop", "root"), decision.Error},
		"a risk that cannot work":            {policyOf(`podSecurityRules: {blockFactors: [nonsense]}, ACTION`), exec(risky, "shop", "root"), decision.Error},
		"one that cannot work, with a label": {policyOf(`podSecurityRules: {blockFactors: [nonsense], exemptions: {podLabels: {exempt: "yes"}}}, ACTION`), exec(risky, "shop", "root"), decision.Error},
	} {
		t.Run(name, func(t *testing.T) {
			for action, want := range map[string]decision.Action{"": decision.Enforce, "deny": decision.Enforce, "warn": decision.ActionWarn, "audit": decision.ActionAudit} {
				document := strings.Replace(c.policy, ", ACTION", "", 1)
				if action != "" {
					document = strings.Replace(c.policy, "ACTION", "enforcementAction: "+action, 1)
				}
				store, _ := started(t, document)
				d := store.Set().Decide(t.Context(), c.of)
				status := c.status
				if want == decision.ActionWarn && status == decision.Fail {
					status = decision.Warn
				}
				if len(d.Results) != 1 || d.Results[0].Status != status || d.Results[0].Action != want {
					t.Fatalf("with action %q: %+v", action, d.Results)
				}
				result := &d.Results[0]
				if enforces := want == decision.Enforce; d.Refuses() != enforces || result.WouldDeny == enforces || result.FailClosed != (enforces && status == decision.Error) {
					t.Errorf("with action %q: refuses %v, would deny %v, closed %v: %s", action, d.Refuses(), result.WouldDeny, result.FailClosed, result.Message)
				}
				if warns := want == decision.ActionWarn; (d.Verdict == decision.AllowWarning) != warns {
					t.Errorf("with action %q the verdict is %s", action, d.Verdict)
				}
				if says := "lets the request through"; want != decision.Enforce && status == decision.Error && !strings.Contains(result.Message, says) {
					t.Errorf("with action %q it does not say that it is let in: %s", action, result.Message)
				}
			}
		})
	}
}

// TestEnforcementActionThatThereIsNot is refused by name, and a policy that has it denies.
func TestEnforcementActionThatThereIsNot(t *testing.T) {
	_, problems := Compile(sourcesOf(t, yamlOf("DenyPolicy", "p", "spec: {podSecurityRules: {blockFactors: [hostPID]}, enforcementAction: Audit}")), pod.Default(), exception.Options{})
	if len(problems) != 1 || problems[0].Path != "spec.enforcementAction" || !strings.Contains(problems[0].Detail, `"deny", "warn", "audit"`) {
		t.Errorf("%v", problems)
	}
}

// TestEnforcementActionOfNamespaceLabels refuses labels by which a DenyPolicy does less no
// more than the policy itself refuses.
func TestEnforcementActionOfNamespaceLabels(t *testing.T) {
	state := clusterOf(t, exemptObjects()...)
	for action, refuses := range map[string]bool{"deny": true, "warn": false, "audit": false} {
		set := setOf(t, yamlOf("DenyPolicy", "p", "spec: {podSecurityRules: {blockFactors: [hostPID], exemptions: {namespaces: {selectorTerms: [{matchLabels: {exempt: \"yes\"}}]}}}, enforcementAction: "+action+"}"))
		r := asked(t, state, stranger, "namespaces", "", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {exempt: \"yes\"}}")
		r.Name = "shop"
		d := set.Decide(t.Context(), r)
		if got := only(t, d); got.Rule != stored.RuleNamespaceLabels || d.Refuses() != refuses || got.WouldDeny == refuses {
			t.Errorf("%s: %+v", action, got)
		}
	}
}

// TestMarksWhereNothingIsRefused gives the mark of a template that was judged only to those
// who would be let in if refusals counted, each part by itself: once they do, it is what
// lets controllers make pods.
func TestMarksWhereNothingIsRefused(t *testing.T) {
	state := clusterOf(t, exemptObjects()...)
	signature, exempt := identity.Signature(nil, "shop", []identity.Claim{frontend}), exemptStamp(nil, "shop")
	acting := func(action string) string {
		return strings.Replace(strict, "\nspec:\n", "\nspec:\n  enforcementAction: "+action+"\n", 1)
	}
	labelled := labelledYAML("apps/v1", "Deployment", "web", "", `exempt: "yes"`, "app:1")
	both := strings.Replace(labelled, "metadata: {labels", "metadata: {annotations: {"+claimed+"}, labels", 1)
	for name, c := range map[string]struct {
		policy    string
		observing bool
		document  string
		user      string
		identity  bool
		exemption bool
	}{
		"enforcing, by somebody who may not":   {acting("deny"), false, both, stranger, true, true},
		"observing, by somebody who may not":   {acting("deny"), true, both, stranger, false, false},
		"observing, by the holder":             {acting("deny"), true, both, holder, true, false},
		"observing, by one who may exempt":     {acting("deny"), true, both, "carol", false, true},
		"a policy that audits":                 {acting("audit"), false, both, holder, true, false},
		"a policy that audits, by one who may": {acting("audit"), false, both, "carol", true, false},
		"a policy that warns":                  {acting("warn"), false, labelled, stranger, false, false},
		"acknowledged by one who may not":      {acting("deny"), true, deploymentYAML(", annotations: {sallyport.io/template-judged: acknowledge}", claimed, "app:1"), stranger, false, false},
		"copied from another template":         {acting("deny"), true, deploymentYAML(marked(frontend), claimed, "app:1"), stranger, false, false},
		"copied from another by the holder":    {acting("deny"), true, deploymentYAML(marked(frontend), claimed, "app:1"), holder, true, false},
		"copied, of which nothing can be read": {acting("deny"), true, strings.Replace(deploymentYAML(marked(frontend), claimed, "app:1"), "serviceAccountName: app", "serviceAccountName: app, volumes: [{name: t, projected: {sources: [{serviceAccountToken: {audience: vault, path: t}}]}}]", 1), stranger, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, append([]string{c.policy}, identitySources...)...)
			r := asked(t, state, c.user, "deployments", "", "", c.document)
			r.Observing = c.observing
			if strings.Contains(name, "nothing can be read") {
				r.Cluster = unreadable{}
			}
			before := r.Object.Meta.Annotations["sallyport.io/template-judged"]
			patch := string(set.Mark(t.Context(), r))
			has := func(part string) bool {
				return strings.Contains(patch, part) || patch == "" && identity.Marked(before, part)
			}
			if has(signature) != c.identity || has(exempt) != c.exemption {
				t.Errorf("marked for the identity %v, for the labels %v: %s", has(signature), has(exempt), patch)
			}
		})
	}
}

// TestMarkOnceHeldIsKept leaves a template its mark where somebody who may not act as its
// identities changes something else while nothing is refused, and takes it away where it is
// another template.
func TestMarkOnceHeldIsKept(t *testing.T) {
	state, set := identityCluster(t), setOf(t, identitySources...)
	old := deploymentYAML(marked(frontend), claimed, "app:1")
	for name, c := range map[string]struct {
		document string
		keeps    bool
	}{
		"replicas":        {strings.Replace(old, "replicas: 1", "replicas: 2", 1), true},
		"without it":      {strings.Replace(deploymentYAML("", claimed, "app:1"), "replicas: 1", "replicas: 2", 1), true},
		"another image":   {deploymentYAML(marked(frontend), claimed, "app:2"), false},
		"no other change": {old, true},
	} {
		r := asked(t, state, stranger, "deployments", "", old, c.document)
		r.Observing = true
		patch := string(set.Mark(t.Context(), r))
		signature := identity.Signature(nil, "shop", []identity.Claim{frontend})
		has := strings.Contains(patch, signature) || patch == "" && identity.Marked(r.Object.Meta.Annotations["sallyport.io/template-judged"], signature)
		if has != c.keeps {
			t.Errorf("%s: marked is %v: %s", name, has, patch)
		}
	}
}

// TestManyThatAuditHideNoneThatDenies refuses labels of a namespace however many policies
// that only audit do less by them as well, and however little is known of these.
func TestManyThatAuditHideNoneThatDenies(t *testing.T) {
	state := clusterOf(t, exemptObjects()...)
	policyOf := func(name, action string) string {
		return yamlOf("DenyPolicy", name, "spec: {podSecurityRules: {blockFactors: [hostPID], exemptions: {namespaces: {selectorTerms: [{matchLabels: {exempt: \"yes\"}}]}}}, enforcementAction: "+action+"}")
	}
	documents := []string{policyOf("z", "deny")}
	for i := range 2 * mostRefused {
		documents = append(documents, policyOf(fmt.Sprintf("a%02d", i), "audit"))
	}
	for _, authorizer := range []request.Authorizer{state, unreadable{}} {
		r := asked(t, state, stranger, "namespaces", "", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {exempt: \"yes\"}}")
		r.Name, r.Authorizer = "shop", authorizer
		d := setOf(t, documents...).Decide(t.Context(), r)
		if !d.Refuses() || d.Results[0].Policy != "z" {
			t.Errorf("%s: %+v", d.Verdict, d.Results[0])
		}
		if got := len(d.Results) - 1; got > mostRefused {
			t.Errorf("%d were asked about that refuse nothing", got)
		}
		for i := range d.Results[1:] {
			if result := &d.Results[1+i]; !result.WouldDeny || result.FailClosed {
				t.Errorf("%+v", result)
			}
		}
	}
}

// TestWhatOnlyAuditsClosesNothing says that a way stays open which no policy refuses.
func TestWhatOnlyAuditsClosesNothing(t *testing.T) {
	guarding := func(name, subresources, action string) string {
		return yamlOf("DenyPolicy", name, "spec: {podSecurityRules: {blockFactors: [hostPID], appliesTo: {subresources: ["+subresources+"]}}, enforcementAction: "+action+"}")
	}
	const others = "attach, portforward, ephemeralcontainers, proxy, nodes/proxy"
	for beside, open := range map[string]bool{"deny": false, "warn": true, "audit": true} {
		said := strings.Join(setOf(t, guarding("one", "exec", "deny"), guarding("two", others, beside), guarding("three", "exec", beside)).OpenBeside("prod-eu"), "\n")
		if got := strings.Contains(said, "DenyPolicy one judges exec, and no policy judges attach"); got != open {
			t.Errorf("beside one that has the action %s: %s", beside, said)
		}
	}
}
