package policy

import (
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
				if enforces := want == decision.Enforce; d.Refuses() != enforces || result.WouldDeny() == enforces || result.FailClosed != (enforces && status == decision.Error) {
					t.Errorf("with action %q: refuses %v, would deny %v, closed %v: %s", action, d.Refuses(), result.WouldDeny(), result.FailClosed, result.Message)
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
	for kind, spec := range map[string]string{"DenyPolicy": "podSecurityRules: {blockFactors: [hostPID]}", "IdentitySource": "key: kerberos, podAnnotation: {}"} {
		_, problems := Compile(sourcesOf(t, yamlOf(kind, "p", "spec: {"+spec+", enforcementAction: Audit}")), pod.Default(), exception.Options{})
		if len(problems) != 1 || problems[0].Path != "spec.enforcementAction" || !strings.Contains(problems[0].Detail, `"deny", "warn", "audit"`) {
			t.Errorf("%s: %v", kind, problems)
		}
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
		if got := only(t, d); got.Rule != stored.RuleNamespaceLabels || d.Refuses() != refuses || got.WouldDeny() == refuses {
			t.Errorf("%s: %+v", action, got)
		}
	}
}

// sourceActing are the sources of the tests, that of kerberos with an enforcementAction.
func sourceActing(action string) []string {
	documents := append([]string{}, identitySources...)
	documents[0] = strings.Replace(documents[0], "podAnnotation: {}", "podAnnotation: {}, enforcementAction: "+action, 1)
	return documents
}

// TestEnforcementActionOfIdentities lets strangers act where their source does not deny, and
// of others only these.
func TestEnforcementActionOfIdentities(t *testing.T) {
	state := identityCluster(t)
	stranded := func(document string) *request.Request { return asked(t, state, stranger, "pods", "", "", document) }
	for action, want := range map[string]string{"deny": "kerberos/use fail", "warn": "kerberos/use warn", "audit": "kerberos/use fail"} {
		set := setOf(t, sourceActing(action)...)
		d := set.Decide(t.Context(), stranded(podYAML("web", claimed, "app:1")))
		if got := summary(d); got != want || d.Refuses() != (action == "deny") || d.Results[0].WouldDeny() == (action == "deny") {
			t.Errorf("%s: %s, %s", action, got, d.Verdict)
		}
		// An identity of another source is guarded as before.
		vault := "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop, annotations: {" + claimed + "}}\nspec: {serviceAccountName: app, containers: [{name: app, image: app}], volumes: [{name: t, projected: {sources: [{serviceAccountToken: {audience: vault, path: t}}]}}]}\n"
		if d := set.Decide(t.Context(), stranded(vault)); !d.Refuses() {
			t.Errorf("%s: an identity that another source guards is let in: %s", action, summary(d))
		}
		// What cannot be judged is let in as well, and says so.
		r := stranded(podYAML("web", claimed, "app:1"))
		r.Authorizer = unreadable{}
		d = set.Decide(t.Context(), r)
		if result := only(t, d); result.Status != decision.Error || d.Refuses() != (action == "deny") || result.WouldDeny() == (action == "deny") || strings.Contains(result.Message, "is refused") != (action == "deny") {
			t.Errorf("%s, not judged: %+v", action, result)
		}
		// One that cannot work answers by its action.
		broken, _ := started(t, strings.Replace(sourceActing(action)[0], "key: kerberos", `key: kerberos, cacheSeconds: -1`, 1))
		d = broken.Set().Decide(t.Context(), stranded(podYAML("web", claimed, "app:1")))
		if only(t, d).Policy != "kerberos" || d.Refuses() != (action == "deny") {
			t.Errorf("%s, broken: %+v", action, d.Results)
		}
	}
}

// TestMarksWhereNothingIsRefused gives the mark of a template that was judged only to those
// who would be let in if refusals counted: once they do, it is what lets controllers make
// pods.
func TestMarksWhereNothingIsRefused(t *testing.T) {
	state := clusterOf(t, exemptObjects()...)
	signature, exempt := identity.Signature(nil, "shop", []identity.Claim{frontend}), exemptStamp(nil, "shop")
	exempting := strings.Replace(strict, "\nspec:\n", "\nspec:\n  enforcementAction: ACTION\n", 1)
	for name, c := range map[string]struct {
		policies  []string
		observing bool
		document  string
		user      string
		// wants is the mark's part that is given.
		wants string
		given bool
	}{
		"deny, by somebody who may not":                {sourceActing("deny"), false, deploymentYAML("", claimed, "app:1"), stranger, signature, true},
		"audit, by somebody who may not":               {sourceActing("audit"), false, deploymentYAML("", claimed, "app:1"), stranger, signature, false},
		"warn, by somebody who may not":                {sourceActing("warn"), false, deploymentYAML("", claimed, "app:1"), stranger, signature, false},
		"audit, by the holder":                         {sourceActing("audit"), false, deploymentYAML("", claimed, "app:1"), holder, signature, true},
		"observing, by somebody who may not":           {sourceActing("deny"), true, deploymentYAML("", claimed, "app:1"), stranger, signature, false},
		"observing, by the holder":                     {sourceActing("deny"), true, deploymentYAML("", claimed, "app:1"), holder, signature, true},
		"a label, deny, by somebody who may not":       {[]string{strings.Replace(exempting, "ACTION", "deny", 1)}, false, labelledYAML("apps/v1", "Deployment", "web", "", `exempt: "yes"`, "app:1"), stranger, exempt, true},
		"a label, audit, by somebody who may not":      {[]string{strings.Replace(exempting, "ACTION", "audit", 1)}, false, labelledYAML("apps/v1", "Deployment", "web", "", `exempt: "yes"`, "app:1"), stranger, exempt, false},
		"a label, audit, by somebody who may":          {[]string{strings.Replace(exempting, "ACTION", "audit", 1)}, false, labelledYAML("apps/v1", "Deployment", "web", "", `exempt: "yes"`, "app:1"), "carol", exempt, true},
		"acknowledged, observing, by one who may not":  {sourceActing("deny"), true, deploymentYAML(", annotations: {sallyport.io/template-judged: acknowledge}", claimed, "app:1"), stranger, signature, false},
		"copied from another, observing":               {sourceActing("deny"), true, deploymentYAML(marked(frontend), claimed, "app:1"), stranger, signature, false},
		"copied from another, audit":                   {sourceActing("audit"), false, deploymentYAML(marked(frontend), claimed, "app:1"), stranger, signature, false},
		"copied from another by the holder, observing": {sourceActing("deny"), true, deploymentYAML(marked(frontend), claimed, "app:1"), holder, signature, true},
	} {
		t.Run(name, func(t *testing.T) {
			set := setOf(t, c.policies...)
			r := asked(t, state, c.user, "deployments", "", "", c.document)
			r.Observing = c.observing
			before := r.Object.Meta.Annotations["sallyport.io/template-judged"]
			patch := string(set.Mark(t.Context(), r))
			has := strings.Contains(patch, c.wants) || patch == "" && identity.Marked(before, c.wants)
			if has != c.given {
				t.Errorf("marked is %v: %s", has, patch)
			}
			// Whoever is refused a mark is not refused anything else.
			if d := set.Decide(t.Context(), r); c.observing && !c.given {
				if observed := d.Observed(); !d.Refuses() || observed.Refuses() || observed.Verdict != decision.WouldDeny {
					t.Errorf("%s, observed %s", d.Verdict, observed.Verdict)
				}
			}
		})
	}
}

// TestMarkOnceHeldIsKept leaves a template its mark where somebody who may not act as its
// identities changes something else, and takes the part away that somebody else would add.
func TestMarkOnceHeldIsKept(t *testing.T) {
	state, set := identityCluster(t), setOf(t, sourceActing("audit")...)
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
		patch := string(set.Mark(t.Context(), r))
		signature := identity.Signature(nil, "shop", []identity.Claim{frontend})
		has := strings.Contains(patch, signature) || patch == "" && identity.Marked(r.Object.Meta.Annotations["sallyport.io/template-judged"], signature)
		if has != c.keeps {
			t.Errorf("%s: marked is %v: %s", name, has, patch)
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
