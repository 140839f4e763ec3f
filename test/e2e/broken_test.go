package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/test/lab"
)

// brokenCase is a policy that the API server stores and that cannot work, with what
// it is about and what it is not about.
type brokenCase struct {
	kind, name   string
	broken, good string
	// about and beside are kubectl commands: of what the policy is about, and of
	// something else. Both are let in by the version that is mended.
	about, beside func(t *testing.T) lab.Result
	// says is what the refusal names beside the object.
	says string
}

func brokenObject(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: sallyport.io/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec: %s\n", kind, name, spec)
}

const brokenPods = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: broken}
spec: {containers: [{name: app, image: registry.example.com/web:1}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: broken-else}
spec: {containers: [{name: app, image: registry.example.com/web:1}]}
`

// creates asks, without making anything, for an object to be created.
func creates(manifest string) func(t *testing.T) lab.Result {
	return func(t *testing.T) lab.Result {
		t.Helper()
		return shared.Run(t.Context(), lab.Kubectl{User: root, Args: []string{"create", "--dry-run=server", "-f", "-"}, Stdin: strings.NewReader(manifest)})
	}
}

func podIn(namespace, annotations string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: fresh, namespace: %s, annotations: {%s}}\nspec: {containers: [{name: app, image: registry.example.com/web:1}]}\n", namespace, annotations)
}

func entersPod(namespace string) func(t *testing.T) lab.Result {
	return func(t *testing.T) lab.Result {
		t.Helper()
		return execInto(t, bob, namespace, "web")
	}
}

var brokenCases = []brokenCase{
	{
		kind: "DenyPolicy", name: "broken-deny",
		broken: `{podSecurityRules: {exemptions: {namespaces: {patterns: [broken-else]}}, riskFactors: {hostNetwork: 10}, thresholds: [{maxScore: 100, action: allow, reason: "{{.nothing}}"}]}}`,
		good:   `{podSecurityRules: {exemptions: {namespaces: {patterns: [broken-else]}}, riskFactors: {hostNetwork: 10}, thresholds: [{maxScore: 100, action: allow}]}}`,
		about:  entersPod("broken"), beside: entersPod("broken-else"), says: "spec.podSecurityRules.thresholds[0].reason",
	},
	{
		kind: "ClusterPolicy", name: "broken-rules",
		broken: `{rules: [{name: r, match: {any: [{resources: {kinds: [Pod], namespaces: [broken]}}]}, validate: {cel: {expressions: [{expression: "object.("}]}}}]}`,
		good:   `{rules: [{name: r, match: {any: [{resources: {kinds: [Pod], namespaces: [broken]}}]}, validate: {cel: {expressions: [{expression: "has(object.spec)"}]}}}]}`,
		about:  creates(podIn("broken", "")), beside: creates(podIn("broken-else", "")), says: "spec.rules[0].validate.cel.expressions[0].expression",
	},
	{
		kind: "PodKind", name: "broken-farms",
		broken: strings.Replace(farmKind, "spec.workers", "spec..workers", 1),
		good:   farmKind,
		about:  creates(farmOf("broken")), beside: creates(podIn("broken", "")), says: "spec.pods[0]",
	},
	{
		kind: "ClusterAdmissionPolicy", name: "broken-module",
		broken: `{module: "https://modules.example/a.wasm", rules: [{apiGroups: [""], apiVersions: [v1], resources: [resourcequotas], operations: [CREATE]}], matchConditions: [{name: a, expression: "("}]}`,
		good:   `{module: "https://modules.example/a.wasm", rules: [{apiGroups: [""], apiVersions: [v1], resources: [resourcequotas], operations: [CREATE]}], matchConditions: [{name: a, expression: "false"}]}`,
		about:  creates("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: fresh, namespace: broken}\nspec: {hard: {pods: 100}}\n"), beside: creates(podIn("broken", "")), says: "spec.matchConditions",
	},
	{
		kind: "IdentitySource", name: "broken-identity",
		// Of its length the definition says nothing.
		broken: fmt.Sprintf(`{key: broken, podAnnotation: {name: "%s.example.com/ab"}}`, strings.Repeat("a", 250)),
		good:   `{key: broken, podAnnotation: {name: "example.com/ab"}}`,
		about:  creates(podIn("broken", "")), says: "spec.podAnnotation.name",
	},
}

// withoutDoors has something done while neither door asks.
func withoutDoors(t *testing.T, do func()) {
	t.Helper()
	unwire(t, shared.UnwireAdmission)
	unwire(t, shared.UnwireAccess)
	do()
}

func wireDoors(t *testing.T, s *lab.Sallyport) {
	t.Helper()
	if err := shared.WireAccess(t.Context(), s, wiring.Authorizer{}); err != nil {
		t.Fatal(err)
	}
	withQuotas := func(config *admissionregistrationv1.ValidatingWebhookConfiguration) {
		config.Webhooks[0].Rules = append(config.Webhooks[0].Rules, admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"resourcequotas"}},
		})
		askAboutCustomKinds(config)
	}
	if err := shared.WireAdmission(t.Context(), s, withQuotas); err != nil {
		t.Fatal(err)
	}
}

// restarted starts it again, with both doors wired.
func restarted(t *testing.T, s *lab.Sallyport) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	wireDoors(t, s)
}

func newBrokenLab(t *testing.T) (*workflowLab, *lab.Sallyport) {
	t.Helper()
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: strings.ToLower(t.Name()), Args: []string{"--watch-policies"}})
	if err != nil {
		t.Fatal(err)
	}
	w := &workflowLab{t, s}
	t.Cleanup(func() {
		unwire(t, shared.UnwireAdmission)
		unwire(t, shared.UnwireAccess)
		ctx := context.WithoutCancel(t.Context())
		for _, kind := range []string{"denypolicies", "clusterpolicies", "clusteradmissionpolicies", "identitysources", "podkinds"} {
			shared.Kubectl(ctx, root, "delete", kind, "--all", "--ignore-not-found")
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.Log())
		}
	})
	defineCustomKinds(t)
	for _, namespace := range []string{"broken", "broken-else"} {
		if err := shared.CreateNamespace(t.Context(), namespace, nil); err != nil {
			t.Fatal(err)
		}
	}
	w.apply(root, brokenPods)
	for _, namespace := range []string{"broken", "broken-else"} {
		if err := shared.AwaitRunning(t.Context(), namespace, "web"); err != nil {
			t.Fatal(err)
		}
	}
	return w, s
}

// TestBrokenPolicyAfterRestart: a policy that is stored and cannot work, as after an
// upgrade, is answered for from the restart on until it is mended or deleted.
func TestBrokenPolicyAfterRestart(t *testing.T) {
	w, s := newBrokenLab(t)
	for _, c := range brokenCases {
		t.Run(c.kind, func(t *testing.T) {
			object := strings.ToLower(c.kind)
			stored := brokenObject(c.kind, c.name, c.broken)
			refused := func(r lab.Result) string {
				for _, says := range []string{c.kind + " " + c.name, "cannot work as it is stored", c.says, "corrected or deleted"} {
					if r.OK() || !strings.Contains(r.Stderr, says) {
						return "not refused, or without " + says + ": " + r.String()
					}
				}
				return ""
			}
			letIn := func(what func(*testing.T) lab.Result) func() string {
				return func() string {
					if r := what(t); !r.OK() {
						return r.String()
					}
					return ""
				}
			}
			withoutDoors(t, func() { w.apply(root, stored) })
			restarted(t, s)
			// Not once does it pass: the first answer after the start is a refusal.
			for range 3 {
				if missing := refused(c.about(t)); missing != "" {
					t.Fatal(missing)
				}
			}
			if c.beside != nil {
				want(t, c.beside(t), true)
			}
			w.await(root, "False CannotWork", "get", object, c.name, "-o", readyOf)
			w.await(root, "Until then: until it is corrected or deleted, this is refused", "get", object, c.name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`)
			status, body, err := s.Get(t.Context(), "/readyz")
			if err != nil || status != 200 || !strings.Contains(body, "broken: "+c.kind+" "+c.name+" cannot work: "+c.says) {
				t.Errorf("/readyz: %d %v %s", status, err, body)
			}
			_, metrics, err := s.Get(t.Context(), "/metrics")
			if err != nil || !strings.Contains(metrics, `sallyport_policies_broken{kind="`+c.kind+`"} 1`) {
				t.Errorf("the metrics do not count it (%v)", err)
			}

			w.apply(root, brokenObject(c.kind, c.name, c.good))
			eventually(t, letIn(c.about))
			// The module of the test is not there to be fetched, which is another reason.
			eventually(t, func() string {
				if r := shared.Kubectl(t.Context(), root, "get", object, c.name, "-o", readyOf); !r.OK() || strings.Contains(r.Stdout, "CannotWork") {
					return r.String()
				}
				return ""
			})
			_, body, err = s.Get(t.Context(), "/readyz")
			if err != nil || strings.Contains(body, "broken: ") {
				t.Errorf("/readyz after it was mended: %v %s", err, body)
			}

			// The door does not take it, and the last good version stays in force.
			want(t, w.do(root, stored, "apply"), false, c.says)
			withoutDoors(t, func() { w.apply(root, stored) })
			wireDoors(t, s)
			w.await(root, "The last version that could work stays in force", "get", object, c.name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`)
			want(t, c.about(t), true)

			restarted(t, s)
			if missing := refused(c.about(t)); missing != "" {
				t.Fatal(missing)
			}
			want(t, shared.Kubectl(t.Context(), root, "delete", object, c.name), true)
			eventually(t, letIn(c.about))
		})
	}
}

// TestBrokenPolicyThatCannotBeRead: what another version has stored under our kinds
// need not have a spec that we know at all.
func TestBrokenPolicyThatCannotBeRead(t *testing.T) {
	w, s := newBrokenLab(t)
	const open = `[{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}]`
	crd := "denypolicies.sallyport.io"
	before := shared.Kubectl(t.Context(), root, "get", "crd", crd, "-o", "jsonpath={.spec.versions[0].schema}")
	want(t, before, true)
	want(t, shared.Kubectl(t.Context(), root, "patch", "crd", crd, "--type=json", "-p", open), true)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		shared.Kubectl(ctx, root, "delete", "denypolicies", "--all")
		if r := shared.Kubectl(ctx, root, "patch", "crd", crd, "--type=json", "-p", `[{"op": "replace", "path": "/spec/versions/0/schema", "value": `+before.Stdout+`}]`); !r.OK() {
			t.Error(r)
		}
	})
	for name, spec := range map[string]string{"a-string": "later", "nothing": "null", "a-list": "[1]"} {
		eventually(t, func() string {
			if r := w.do(root, brokenObject("DenyPolicy", name, spec), "apply"); !r.OK() {
				return r.String()
			}
			return ""
		})
	}
	restarted(t, s)
	want(t, execInto(t, bob, "broken", "web"), false, "cannot work as it is stored", "DenyPolicy a-list", "DenyPolicy a-string", "DenyPolicy nothing")
	want(t, shared.Kubectl(t.Context(), bob, "get", "pods", "-n", "broken"), true)
	want(t, creates(podIn("broken", ""))(t), true)
	for _, name := range []string{"a-string", "nothing", "a-list"} {
		want(t, shared.Kubectl(t.Context(), bob, "delete", "denypolicy", name), true)
	}
	eventually(t, func() string {
		if r := execInto(t, bob, "broken", "web"); !r.OK() {
			return r.String()
		}
		return ""
	})
}
