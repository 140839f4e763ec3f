package e2e

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/test/lab"
)

// waitLimit bounds what a test waits for.
const waitLimit = 30 * time.Second

const badDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: bad, namespace: shop}
spec:
  selector: {matchLabels: {app: bad}}
  template:
    metadata: {labels: {app: bad}}
    spec:
      hostPID: true
      containers: [{name: app, image: registry.example.com/bad:1}]
`

const badPod = `
apiVersion: v1
kind: Pod
metadata: {name: bad, namespace: shop}
spec:
  containers:
  - name: liveness
    image: registry.example.com/bad:1
    livenessProbe: {httpGet: {host: 135.45.63.4, port: 80}}
`

func standardPolicy(action string) string {
	return `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: baseline}
spec:
  validationFailureAction: ` + action + `
  rules:
  - name: baseline
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {podSecurity: {level: baseline}}
`
}

func apply(t *testing.T, user, manifest string) lab.Result {
	t.Helper()
	return shared.Run(t.Context(), lab.Kubectl{User: user, Args: []string{"apply", "-f", "-"}, Stdin: bytes.NewReader([]byte(manifest))})
}

func TestFrontDoor(t *testing.T) {
	t.Run("enforce", func(t *testing.T) {
		guard(t, admissionDoor, standardPolicy("Enforce"))
		want(t, apply(t, alice, badDeployment), false, `violates PodSecurity "baseline:latest"`, "autogen-baseline", "spec.template.spec.hostPID")
		want(t, apply(t, alice, badPod), false, `probeHost (container "liveness" uses probeHost 135.45.63.4)`, "spec.containers[0].livenessProbe.httpGet.host")
		want(t, apply(t, root, badPod), false, "baseline:latest")
		good := strings.Replace(badPod, "135.45.63.4", "127.0.0.1", 1)
		want(t, apply(t, alice, good), true)
		want(t, shared.Kubectl(t.Context(), alice, "delete", "pod", "-n", "shop", "bad", "--wait=false"), true)
	})
	t.Run("warn", func(t *testing.T) {
		guard(t, admissionDoor, standardPolicy("Warn"))
		want(t, apply(t, alice, badDeployment), true, "Warning:", "spec.template.spec.hostPID")
		want(t, shared.Kubectl(t.Context(), alice, "delete", "deployment", "-n", "shop", "bad", "--wait=false"), true)
	})
}

// A policy that cannot work is refused when it is written to the API server, by
// the schema or by Sallyport; one that works is taken from there.
func TestPoliciesOfTheAPIServer(t *testing.T) {
	guard(t, admissionDoor, standardPolicy("Audit"))
	broken := strings.Replace(riskPolicy, "{{.factors}}", "{{.factorz}}", 1)
	want(t, apply(t, root, broken), false, "spec.podSecurityRules.thresholds[1].reason", "factorz")
	descending := strings.Replace(riskPolicy, "maxScore: 100", "maxScore: 40", 1)
	want(t, apply(t, root, descending), false, "thresholds must ascend")
	want(t, apply(t, root, strings.Replace(riskPolicy, "privilegedContainer:", "privileged:", 1)), false, "privileged")
}

// atFrontDoor starts a Sallyport that has the policies of the API server, and wires the
// front door.
func atFrontDoor(t *testing.T, name string) {
	t.Helper()
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: name})
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
}

func TestPoliciesByInformer(t *testing.T) {
	atFrontDoor(t, "informed")
	want(t, execInto(t, alice, "shop", "privileged"), true, "inside")
	want(t, apply(t, root, riskPolicy), true)
	deleteAfter(t, "denypolicy/risk")
	want(t, shared.Kubectl(t.Context(), root, "wait", "denypolicy/risk", "--for=condition=Ready", "--timeout=30s"), true)
	want(t, execInto(t, alice, "shop", "privileged"), false, "too risky, score 90")
	want(t, shared.Kubectl(t.Context(), root, "get", "sallyport"), true, "risk")
	want(t, shared.Kubectl(t.Context(), root, "delete", "denypolicy", "risk"), true)
	deadline := time.Now().Add(waitLimit)
	for !execInto(t, alice, "shop", "privileged").OK() {
		if time.Now().After(deadline) {
			t.Fatal("a policy that was deleted is still in force")
		}
	}
}
