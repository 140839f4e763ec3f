package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/test/lab"
)

// The two doors, and both at once.
const (
	accessDoor    = "access"
	admissionDoor = "admission"
	bothDoors     = "both"
)

// runningPods are those that the tests get into.
const runningPods = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers: [{name: app, image: registry.example.com/web:1, ports: [{containerPort: 80}]}]
---
apiVersion: v1
kind: Pod
metadata: {name: privileged, namespace: shop}
spec:
  containers: [{name: app, image: registry.example.com/tool:1, securityContext: {privileged: true}, ports: [{containerPort: 80}]}]
---
apiVersion: v1
kind: Pod
metadata: {name: hostnet, namespace: shop}
spec:
  hostNetwork: true
  containers: [{name: app, image: registry.example.com/tool:1}]
---
apiVersion: v1
kind: Pod
metadata: {name: agent, namespace: monitoring}
spec:
  containers: [{name: app, image: registry.example.com/agent:1, securityContext: {privileged: true}}]
`

// riskPolicy is the one that most tests use.
const riskPolicy = `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: risk}
spec:
  podSecurityRules:
    riskFactors: {privilegedContainer: 90}
    blockFactors: [hostNetwork]
    thresholds:
    - {maxScore: 50, action: allow}
    - {maxScore: 100, action: deny, reason: "{{.pod}} is too risky, score {{.score}}: {{.factors}}"}
    exemptions: {namespaces: {patterns: [monitoring]}}
`

// guard starts a Sallyport with these policies and wires it to a door until the
// test ends.
func guard(t *testing.T, door string, policies ...string) *lab.Sallyport {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "policies.yaml"), []byte(strings.Join(policies, "\n---\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	name := strings.NewReplacer("/", "-", " ", "-").Replace(strings.ToLower(t.Name()))
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{
		Binary: binary, Name: name,
		Args: []string{"--from", dir, "--cluster-name", "prod-lab", "--audit-log", filepath.Join(dir, "audit.jsonl")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.Log())
		}
	})
	if door == accessDoor || door == bothDoors {
		if err := shared.WireAccess(t.Context(), s, wiring.Authorizer{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unwire(t, shared.UnwireAccess) })
	}
	if door == admissionDoor || door == bothDoors {
		if err := shared.WireAdmission(t.Context(), s, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unwire(t, shared.UnwireAdmission) })
	}
	return s
}

// want fails the test unless kubectl ended as it should: in order, or with an
// error that says all of these.
func want(t *testing.T, r lab.Result, ok bool, says ...string) {
	t.Helper()
	if r.OK() != ok {
		t.Fatalf("kubectl: %s", r)
	}
	for _, text := range says {
		if !strings.Contains(r.Stdout+r.Stderr, text) {
			t.Errorf("kubectl does not say %q: %s", text, r)
		}
	}
}
