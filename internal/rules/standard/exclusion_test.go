package standard

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

const threeExclusions = `[
	{controlName: Capabilities, images: ["registry.example/*"], restrictedField: "spec.containers[*].securityContext.capabilities.add", values: [NET_ADMIN]},
	{controlName: AppArmor, restrictedField: 'metadata.annotations["container.apparmor.security.beta.kubernetes.io/*"]', values: [unconfined]},
	{controlName: Host Namespaces, restrictedField: spec.hostPID, values: ["true"]}]`

const threeFaults = `
metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/a: unconfined}}
spec:
  hostPID: true
  hostIPC: true
  containers:
  - {name: a, image: registry.example/a, securityContext: {capabilities: {add: [NET_ADMIN, SYS_ADMIN]}}}
  - {name: b, image: other.example/b, securityContext: {capabilities: {add: [NET_ADMIN]}}}
`

// TestExcuseAnywhere holds that exclusions mean the same wherever the pod stands
// in its object.
func TestExcuseAnywhere(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "spec.template", "spec.jobTemplate.spec.template", "spec.tasks[2].template", "spec.containers[0]", "template"} {
		t.Run("at "+path, func(t *testing.T) {
			t.Parallel()
			p := parse(t, threeFaults)
			p.Path = path
			prefix := path
			if prefix != "" {
				prefix += "."
			}
			left, used := mustExclude(t, threeExclusions).Excuse(p, mustNew(t, "baseline", "", "").Check(p))
			checkLeft(t, left, used,
				`non-default capabilities (containers "a", "b" must not include "NET_ADMIN", "SYS_ADMIN" in securityContext.capabilities.add), host namespaces (hostIPC=true)`,
				[]string{
					prefix + "spec.containers[0].securityContext.capabilities.add[1]",
					prefix + "spec.containers[1].securityContext.capabilities.add[0]",
					prefix + "spec.hostIPC",
				}, []int{0, 1, 2})
		})
	}
}

// TestExcuseInBareSpec judges a custom kind that holds a pod spec with no
// metadata beside it.
func TestExcuseInBareSpec(t *testing.T) {
	t.Parallel()
	gvk := schema.GroupVersionKind{Group: "serving.knative.dev", Version: "v1", Kind: "Service"}
	object, err := pod.Default().Decode(gvk, []byte(`{"apiVersion":"serving.knative.dev/v1","kind":"Service","spec":{"template":{"spec":{"hostPID":true,"hostIPC":true,"containers":[{"name":"a","image":"a"}]}}}}`))
	if err != nil || len(object.Pods) != 1 {
		t.Fatalf("%v", err)
	}
	p := &object.Pods[0]
	left, used := mustExclude(t, threeExclusions).Excuse(p, mustNew(t, "baseline", "", "").Check(p))
	checkLeft(t, left, used, "host namespaces (hostIPC=true)", []string{p.FieldPath("spec.hostIPC")}, []int{2})
}

// TestExcuseProbesOfKEP holds the wording of the reading of KEP-4940.
func TestExcuseProbesOfKEP(t *testing.T) {
	t.Parallel()
	p := parse(t, `{spec: {containers: [
		{name: a, image: agent, livenessProbe: {httpGet: {port: 1, host: 10.0.0.1}}, startupProbe: {tcpSocket: {port: 1, host: 10.0.0.2}}},
		{name: b, image: web, lifecycle: {preStop: {httpGet: {port: 1, host: 10.0.0.1}}}}]}}`)
	x := mustExclude(t, `[{controlName: Host Probes / Lifecycle Hooks, images: ["*"], restrictedField: "spec.containers[*].livenessProbe.httpGet.host", values: ["10.0.0.1"]}, {controlName: Host Probes, images: [web]}]`)
	left, used := x.Excuse(p, mustNew(t, "baseline", "", v1alpha1.ProbeHostsKEP4940).Check(p))
	checkLeft(t, left, used, `probeHost (container "a" uses probeHost 10.0.0.2)`, []string{"spec.containers[0].startupProbe.tcpSocket.host"}, []int{0, 1})
}

// TestExcuseStrangers holds that what Check did not find in the pod is never
// excused, and that nothing panics over it.
func TestExcuseStrangers(t *testing.T) {
	t.Parallel()
	everything := everyExclusion(t)
	p := parse(t, `{spec: {containers: [{name: a, image: a}]}}`)
	paths := []string{
		"", "spec", "spec.", "spec.containers", "spec.containers[", "spec.containers[0]", "spec.containers[1].securityContext.privileged",
		"spec.containers[-1].securityContext.privileged", "spec.containers[+0].securityContext.privileged", "spec.containers[99999999999999999999].securityContext.privileged",
		"spec.containers[0].securityContext.privileged.", "spec.containers[0].spec.containers[0].securityContext.privileged", "x.spec.hostPID", "spec.hostPID.x",
		"spec.template.spec.hostPID", "metadata.annotations[container.apparmor.security.beta.kubernetes.io/a", "metadata.annotations[other]", "spec.volumes[0].hostPath.path[0]",
		"spec.volumes[*]", "spec.initContainers[0].securityContext.privileged", "spec.ephemeralContainers[0].securityContext.privileged", "spec.containers[0].securityContext.capabilities.add[]",
	}
	for _, control := range append(excusables().names(), "newCheck", "") {
		for _, path := range paths {
			v := Violation{ID: "x", Control: control, Level: "baseline", Reason: "reason", Findings: []decision.Finding{{Path: path, Value: "true"}}}
			if left, used := everything.Excuse(p, []Violation{v}); len(left) != 1 || used != nil {
				t.Errorf("%q of %q is excused by %v", path, control, used)
			}
		}
		if left, _ := everything.Excuse(p, []Violation{{Control: control}}); len(left) != 1 {
			t.Errorf("a violation of %q without a finding is excused", control)
		}
	}
}

// TestExcuseOfAnotherPod holds that violations of one pod can be shown with
// another without a panic.
func TestExcuseOfAnotherPod(t *testing.T) {
	t.Parallel()
	x := mustExclude(t, `[{controlName: Volume Types, restrictedField: "spec.volumes[*].nfs", values: ["*"]}, {controlName: Sysctls, restrictedField: "spec.securityContext.sysctls[*].name", values: [a*]},
		{controlName: Capabilities, images: ["*"], restrictedField: "spec.containers[*].securityContext.capabilities.add", values: ["*"]}, {controlName: Host Probes, images: ["*"]}, {controlName: SELinux}, {controlName: SELinux, images: ["*"]}]`)
	empty := parse(t, `{spec: {containers: [{name: a}]}}`)
	for seed := range int64(200) {
		p := randomPod(seed)
		for _, s := range []*Standard{mustNew(t, "restricted", "", ""), mustNew(t, "baseline", "v1.10", "")} {
			x.Excuse(empty, s.Check(p))
		}
	}
}

// TestExcuseWithoutCheck words violations that do not come from Check by their
// paths.
func TestExcuseWithoutCheck(t *testing.T) {
	t.Parallel()
	p := parse(t, threeFaults)
	var made []Violation
	for _, v := range mustNew(t, "baseline", "", "").Check(p) {
		made = append(made, Violation{ID: v.ID, Control: v.Control, Level: v.Level, Reason: v.Reason, Detail: v.Detail, Findings: v.Findings})
	}
	left, used := mustExclude(t, threeExclusions).Excuse(p, made)
	checkLeft(t, left, used,
		"non-default capabilities (spec.containers[0].securityContext.capabilities.add[1], spec.containers[1].securityContext.capabilities.add[0]), host namespaces (spec.hostIPC)",
		[]string{"spec.containers[0].securityContext.capabilities.add[1]", "spec.containers[1].securityContext.capabilities.add[0]", "spec.hostIPC"}, []int{0, 1, 2})
}

// TestExcuseUnknownCheck holds that a check that only the library knows cannot be
// excused, for it does not say what it is about.
func TestExcuseUnknownCheck(t *testing.T) {
	t.Parallel()
	p := parse(t, `{spec: {hostPID: true, containers: [{name: a, image: a}]}}`)
	violations := mustNew(t, "baseline", "", "").Check(p)
	violations[0].Findings = []decision.Finding{{Path: "spec", Detail: "hostPID=true"}}
	if left, used := mustExclude(t, `[{controlName: Host Namespaces}]`).Excuse(p, violations); len(left) != 1 || used != nil {
		t.Errorf("left %q, used %v", Message(left), used)
	}
}

// TestExcuseSharesNothing holds that the pod and the findings of earlier answers
// stay as they were.
func TestExcuseSharesNothing(t *testing.T) {
	t.Parallel()
	everything := everyExclusion(t)
	some := compileExclusions(t, everyOther())
	for seed := range int64(60) {
		p, same := randomPod(seed), randomPod(seed)
		s := mustNew(t, "restricted", "", "")
		violations := s.Check(p)
		before := Message(violations) + strings.Join(pathsOf(violations), " ")
		left, _ := some.Excuse(p, violations)
		leftBefore := Message(left)
		everything.Excuse(p, left)
		if after := Message(violations) + strings.Join(pathsOf(violations), " "); after != before {
			t.Errorf("seed %d: the violations changed from %s to %s", seed, before, after)
		}
		if after := Message(left); after != leftBefore {
			t.Errorf("seed %d: what was left changed from %s to %s", seed, leftBefore, after)
		}
		if diff := cmp.Diff(same.Spec, p.Spec); diff != "" {
			t.Errorf("seed %d: the pod changed (-want +got):\n%s", seed, diff)
		}
		if diff := cmp.Diff(same.Meta, p.Meta); diff != "" {
			t.Errorf("seed %d: the pod changed (-want +got):\n%s", seed, diff)
		}
	}
}

// TestExcuseKeepsOrder holds that a baseline violation that comes up stands where
// Check would put it.
func TestExcuseKeepsOrder(t *testing.T) {
	t.Parallel()
	p := parse(t, `{spec: {hostPID: true, containers: [{name: a, image: a, securityContext: {privileged: true}}], volumes: [{name: x, hostPath: {path: /}}]}}`)
	left, _ := mustExclude(t, `[{controlName: Volume Types}]`).Excuse(p, mustNew(t, "restricted", "", "").Check(p))
	var ids []string
	for _, v := range left {
		ids = append(ids, v.ID)
	}
	want := []string{"hostNamespaces", "hostPathVolumes", "privileged", "allowPrivilegeEscalation", "capabilities_restricted", "runAsNonRoot", "seccompProfile_restricted"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
}
