package lab

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const podProgram = `
apiVersion: v1
kind: Secret
metadata: {name: secret}
stringData: {first: one, second: two}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data: {color: blue}
---
apiVersion: v1
kind: Pod
metadata: {name: real, labels: {app: real}}
spec:
  securityContext: {runAsUser: 1000, runAsGroup: 1001, fsGroup: 2000}
  containers:
  - name: app
    image: registry.example.com:5000/own:1@sha256:1111111111111111111111111111111111111111111111111111111111111111
    args: ["--addr=:$(PORT)"]
    env:
    - {name: PORT, value: "8080"}
    - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    - {name: FIRST, valueFrom: {secretKeyRef: {name: secret, key: first}}}
    - {name: COLOR, valueFrom: {configMapKeyRef: {name: config, key: color}}}
    - {name: NONE, valueFrom: {configMapKeyRef: {name: none, key: x, optional: true}}}
    readinessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 1, failureThreshold: 1}
    securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false}
    volumeMounts:
    - {name: secret, mountPath: /etc/own/secret, readOnly: true}
    - {name: all, mountPath: /etc/own/all}
    - {name: scratch, mountPath: /scratch}
  volumes:
  - {name: secret, secret: {secretName: secret, defaultMode: 0400, items: [{key: second, path: below/it}]}}
  - name: all
    projected:
      sources:
      - configMap: {name: config}
      - downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}
  - {name: scratch, emptyDir: {}}
---
apiVersion: v1
kind: Pod
metadata: {name: stubborn}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: "registry.example.com:5000/own", args: ["--addr=:8080", --stubborn]}]
---
apiVersion: v1
kind: Pod
metadata: {name: lacking}
spec:
  containers: [{name: app, image: "registry.example.com:5000/own", env: [{name: X, valueFrom: {secretKeyRef: {name: later, key: x}}}]}]
`

// programLab is a lab whose pods run test/lab/cmd/pod.
func programLab(t *testing.T) *Lab {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "pod")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, "./cmd/pod")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	l, err := Start(t.Context(), Options{Controllers: OneAccount, Kubelet: true, Programs: map[string]string{"registry.example.com:5000/own": binary}})
	if errors.Is(err, ErrPrograms) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(tail(l.LogFile("kubelet")))
		}
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// TestPrograms has a pod run a program, which sees what the pod gives it and nothing else.
func TestPrograms(t *testing.T) {
	t.Parallel()
	l := programLab(t)
	if err := l.Apply(t.Context(), podProgram); err != nil {
		t.Fatal(err)
	}
	pod := l.awaitPod(t, "real", "is ready", func(p *corev1.Pod) bool { return p.Status.PodIP != "" && isReady(p) })
	ask := func(path string, values ...string) string {
		t.Helper()
		query := url.Values{}
		if len(values) > 0 {
			query.Set("name", values[0])
		}
		response, err := http.Get("http://" + pod.Status.PodIP + ":8080" + path + "?" + query.Encode())
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err.Error()
		}
		return response.Status[:3] + " " + string(body)
	}
	for _, c := range []struct{ what, got, want string }{
		{"user", ask("/who"), "200 real 1000 1001 [2000]"},
		{"secret, for the group", ask("/file", "/etc/own/secret/below/it"), "200 two"},
		{"projected", ask("/file", "/etc/own/all/color"), "200 blue"},
		{"labels", ask("/file", "/etc/own/all/labels"), `200 app="real"`},
		{"namespace", ask("/file", "/var/run/secrets/kubernetes.io/serviceaccount/namespace"), "200 default"},
		{"scratch", ask("/write", "/scratch/x"), "200 "},
		{"root", ask("/write", "/x"), "500 open /x: read-only file system\n"},
		{"read-only mount", ask("/write", "/etc/own/secret/x"), "500 open /etc/own/secret/x: read-only file system\n"},
		{"this machine", ask("/file", l.authorizationFile()), "500 open " + l.authorizationFile() + ": no such file or directory\n"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	environment := ask("/env")
	for _, want := range []string{"PORT=8080", "NODE=lab-node", "FIRST=one", "COLOR=blue", "KUBERNETES_SERVICE_HOST=127.0.0.1", "HOSTNAME=real"} {
		if !strings.Contains(environment, want) {
			t.Errorf("the environment lacks %s:\n%s", want, environment)
		}
	}
	if strings.Contains(environment, "NONE=") || strings.Contains(environment, "SALLYPORT_LAB") {
		t.Errorf("the environment has too much:\n%s", environment)
	}

	if err := l.Apply(t.Context(), "{apiVersion: v1, kind: Secret, metadata: {name: secret}, stringData: {first: one, second: three}}"); err != nil {
		t.Fatal(err)
	}
	until(t, "the file follows the Secret", func() bool { return ask("/file", "/etc/own/secret/below/it") == "200 three" })
	ask("/unready")
	l.awaitPod(t, "real", "is not ready", func(p *corev1.Pod) bool { return !isReady(p) })
	ask("/exit")
	l.awaitPod(t, "real", "is ready again", func(p *corev1.Pod) bool {
		return isReady(p) && p.Status.ContainerStatuses[0].RestartCount == 1 && p.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode == 3
	})
	l.Kubectl(t.Context(), Admin, "logs", "real", "--previous", "--tail=1").want(t, 0, "exits")
	l.Kubectl(t.Context(), Admin, "logs", "real").want(t, 0, "begins")

	l.Kubectl(t.Context(), Admin, "delete", "pod", "real").want(t, 0, "deleted")
	l.awaitPod(t, "stubborn", "is ready", isReady)
	l.Kubectl(t.Context(), Admin, "delete", "pod", "stubborn").want(t, 0, "deleted")
	log, err := l.PodLog("default")
	if err != nil || strings.Count(log, "is asked to end") != 2 {
		t.Errorf("what the pods have written is %s, %v", log, err)
	}
	lacks := l.awaitPod(t, "lacking", "waits", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Waiting != nil && p.Status.ContainerStatuses[0].State.Waiting.Message != ""
	})
	if waiting := lacks.Status.ContainerStatuses[0].State.Waiting; lacks.Status.Phase != corev1.PodPending || !strings.Contains(waiting.Message, `env X of container app: secrets "later" not found`) {
		t.Errorf("the pod whose Secret is not there is %+v", lacks.Status)
	}
}

// awaitPod returns a pod of the namespace default once it is as it should be.
func (l *Lab) awaitPod(t *testing.T, name, what string, holds func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	until(t, name+" "+what, func() bool {
		var err error
		pod, err = l.Client.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && holds(pod)
	})
	return pod
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, startTimeout, true, func(context.Context) (bool, error) { return holds(), nil }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// TestProgramsNeed tells who may not run them, and what else they need.
func TestProgramsNeed(t *testing.T) {
	for status, want := range map[string]bool{
		"CapInh:\t0\nCapEff:\t000001ffffffffff\n": true,
		"CapEff:\t0000000000201000\n":             true,
		"CapEff:\t0000000000001000\n":             false,
		"CapEff:\t0000000000200000\n":             false,
		"CapEff:\tx\n":                            false,
		"":                                        false,
	} {
		if got := hasCapabilities([]byte(status)); got != want {
			t.Errorf("%q: %t, want %t", status, got, want)
		}
	}
	if _, err := Start(t.Context(), Options{Programs: map[string]string{"a": "b"}}); err == nil || errors.Is(err, ErrPrograms) {
		t.Errorf("without a kubelet: %v", err)
	}
}
