package risk

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// Everything at once, with a path that the pod of a template has.
const loadedPod = `
metadata:
  annotations:
    container.apparmor.security.beta.kubernetes.io/files: unconfined
    seccomp.security.alpha.kubernetes.io/pod: unconfined
spec:
  hostNetwork: true
  hostIPC: true
  shareProcessNamespace: true
  serviceAccountName: robot
  securityContext: {runAsUser: 0, sysctls: [{name: kernel.shm_rmid_forced, value: "1"}, {name: kernel.msgmax, value: "1"}]}
  volumes:
  - {name: tmp, emptyDir: {}}
  - {name: etc, hostPath: {path: /etc}}
  - {name: sock, hostPath: {path: /run/docker.sock}}
  - {name: token, projected: {sources: [{configMap: {name: ca}}, {serviceAccountToken: {path: token}}]}}
  - {name: old, secret: {secretName: robot-token-x}}
  initContainers:
  - name: setup
    securityContext: {privileged: true, runAsUser: 0, allowPrivilegeEscalation: false, procMount: Unmasked, capabilities: {add: [ALL]}}
  containers:
  - name: app
    ports: [{containerPort: 80}, {containerPort: 81, hostPort: 81}]
    securityContext: {allowPrivilegeEscalation: true, capabilities: {add: [cap_bpf, NEW]}, windowsOptions: {hostProcess: true}}
    volumeMounts:
    - {name: etc, mountPath: /etc, readOnly: true}
    - {name: sock, mountPath: /s, readOnly: true}
    - {name: token, mountPath: /t}
  - name: files
    volumeMounts:
    - {name: etc, mountPath: /etc}
    - {name: old, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}
`

func TestFindings(t *testing.T) {
	p := readPod(t, loadedPod)
	p.Path = "spec.template"
	v := everything(t).Judge(Input{Pod: p, Powers: []string{"may get secrets"}})
	var got []string
	for _, f := range v.Findings {
		name, rest, blocked := strings.Cut(f.Detail, ", blocked")
		if !blocked || !strings.Contains(rest, ": ") {
			t.Errorf("%s does not say that the factor is blocked", f.Detail)
		}
		got = append(got, name+" "+strings.TrimPrefix(f.Path, "spec.template.")+" = "+f.Value)
		if !strings.HasPrefix(f.Path, "spec.template.") {
			t.Errorf("%s lacks the path of the pod", f.Path)
		}
	}
	want := []string{
		"hostNetwork spec.hostNetwork = true",
		"hostIPC spec.hostIPC = true",
		"privilegedContainer spec.initContainers[0].securityContext.privileged = true",
		"hostPathWritable spec.volumes[1].hostPath.path = /etc",
		"hostPathReadOnly spec.volumes[2].hostPath.path = /run/docker.sock",
		"runAsRoot spec.initContainers[0].securityContext.runAsUser = 0",
		"runAsRoot spec.securityContext.runAsUser = 0",
		"capability:ALL spec.initContainers[0].securityContext.capabilities.add[0] = ALL",
		"capability:BPF spec.containers[0].securityContext.capabilities.add[0] = cap_bpf",
		"capabilities spec.containers[0].securityContext.capabilities.add[1] = NEW",
		"hostPort spec.containers[0].ports[0].containerPort = 80",
		"hostPort spec.containers[0].ports[1].hostPort = 81",
		"allowPrivilegeEscalation spec.initContainers[0].securityContext.allowPrivilegeEscalation = false",
		"allowPrivilegeEscalation spec.containers[0].securityContext.allowPrivilegeEscalation = true",
		"allowPrivilegeEscalation spec.containers[1].securityContext.allowPrivilegeEscalation = ",
		"procMountUnmasked spec.initContainers[0].securityContext.procMount = Unmasked",
		"seccompUnconfined metadata.annotations[seccomp.security.alpha.kubernetes.io/pod] = unconfined",
		"appArmorUnconfined metadata.annotations[container.apparmor.security.beta.kubernetes.io/files] = unconfined",
		"unsafeSysctl spec.securityContext.sysctls[1].name = kernel.msgmax",
		"windowsHostProcess spec.containers[0].securityContext.windowsOptions.hostProcess = true",
		"shareProcessNamespace spec.shareProcessNamespace = true",
		"runtimeSocket spec.volumes[2].hostPath.path = /run/docker.sock",
		"sensitiveHostPath spec.volumes[1].hostPath.path = /etc",
		"serviceAccountToken spec.volumes[3].projected.sources[1].serviceAccountToken = ",
		"serviceAccountToken spec.volumes[4].secret.secretName = robot-token-x",
		"powerfulServiceAccount spec.serviceAccountName = robot",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestFindingsAreThoseThatCount(t *testing.T) {
	rules := compile(t, `{riskFactors: {hostIPC: 50, capabilities: {SYS_ADMIN: 80, BPF: 7}, hostPathWritable: 60}, thresholds: [{maxScore: 1, action: warn}], blockFactors: [hostIPC]}`)
	v := rules.Judge(Input{Pod: readPod(t, loadedPod)})
	want := []decision.Finding{
		{Path: "spec.hostIPC", Value: "true", Detail: "hostIPC, blocked, weight 50: the pod shares the node's IPC"},
		{Path: "spec.volumes[1].hostPath.path", Value: "/etc", Detail: "hostPathWritable, weight 60: a writable path of the node, mounted at spec.containers[1].volumeMounts[0]"},
		{Path: "spec.initContainers[0].securityContext.capabilities.add[0]", Value: "ALL", Detail: "capability:BPF, weight 7; capability:SYS_ADMIN, weight 80: adds every capability"},
		{Path: "spec.containers[0].securityContext.capabilities.add[0]", Value: "cap_bpf", Detail: "capability:BPF, weight 7: adds a capability"},
	}
	if diff := cmp.Diff(want, v.Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestExplainWhatIsAllowed(t *testing.T) {
	v := compile(t, documentFirst).Judge(Input{Pod: readPod(t, readPathPod)})
	if v.Action != v1alpha1.ActionAllow || v.Findings != nil {
		t.Fatalf("%s with %v", v.Action, v.Findings)
	}
	want := []decision.Finding{{
		Path: "spec.volumes[0].hostPath.path", Value: "/data",
		Detail: "hostPathReadOnly, weight 10: a path of the node, mounted at spec.containers[0].volumeMounts[0]",
	}}
	if diff := cmp.Diff(want, v.Explain()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestFindingsOfADebugContainerToCome(t *testing.T) {
	v := compile(t, `blockFactors: [hostPathWritable]`).Judge(Input{
		Pod:         readPod(t, `{spec: {volumes: [{name: d, hostPath: {path: /data}}], containers: [{name: app}]}}`),
		Subresource: "ephemeralcontainers",
	})
	want := []decision.Finding{{
		Path: "spec.volumes[0].hostPath.path", Value: "/data",
		Detail: "hostPathWritable, blocked: a writable path of the node, which the container that is added may mount",
	}}
	if diff := cmp.Diff(want, v.Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
