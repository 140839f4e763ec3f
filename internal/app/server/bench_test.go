package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// restrictedPod passes restricted:latest, and is what an API server sends of a
// pod of a Deployment: defaults filled in, a token volume, managed fields.
const restrictedPod = `
apiVersion: v1
kind: Pod
metadata:
  name: checkout-7c9d6b7f9d-x2x8k
  generateName: checkout-7c9d6b7f9d-
  namespace: shop
  uid: 5f0e2a54-6b1e-4a0d-9a55-2f5d3c1b7a90
  creationTimestamp: "2026-11-28T09:00:00Z"
  labels: {app: checkout, pod-template-hash: 7c9d6b7f9d, team: payments, version: v42}
  annotations: {prometheus.io/scrape: "true", prometheus.io/port: "9090", kubectl.kubernetes.io/default-container: checkout}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: checkout-7c9d6b7f9d, uid: 0d1c8a54-6b1e-4a0d-9a55-2f5d3c1b7a91, controller: true, blockOwnerDeletion: true}]
  managedFields:
  - manager: kube-controller-manager
    operation: Update
    apiVersion: v1
    time: "2026-11-28T09:00:00Z"
    fieldsType: FieldsV1
    fieldsV1: {"f:metadata": {"f:annotations": {".": {}, "f:prometheus.io/scrape": {}}, "f:generateName": {}, "f:labels": {".": {}, "f:app": {}, "f:team": {}}}, "f:spec": {"f:containers": {"k:{\"name\":\"checkout\"}": {".": {}, "f:env": {}, "f:image": {}, "f:livenessProbe": {}, "f:resources": {}, "f:securityContext": {}}}}}
spec:
  serviceAccountName: checkout
  serviceAccount: checkout
  restartPolicy: Always
  terminationGracePeriodSeconds: 30
  dnsPolicy: ClusterFirst
  schedulerName: default-scheduler
  priority: 0
  enableServiceLinks: true
  preemptionPolicy: PreemptLowerPriority
  securityContext: {runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000, seccompProfile: {type: RuntimeDefault}}
  tolerations:
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  initContainers:
  - name: migrate
    image: registry.example.com/shop/migrate@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    imagePullPolicy: IfNotPresent
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}]
  containers:
  - name: checkout
    image: registry.example.com/shop/checkout@sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
    imagePullPolicy: IfNotPresent
    ports: [{name: http, containerPort: 8080, protocol: TCP}, {name: metrics, containerPort: 9090, protocol: TCP}]
    env:
    - {name: LOG_LEVEL, value: info}
    - {name: DATABASE_URL, valueFrom: {secretKeyRef: {name: checkout-db, key: url}}}
    - {name: POD_NAME, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}
    resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
    livenessProbe: {httpGet: {path: /healthz, port: 8080, scheme: HTTP}, periodSeconds: 10, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3}
    readinessProbe: {httpGet: {path: /readyz, port: 8080, scheme: HTTP}, periodSeconds: 5, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3}
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: config, mountPath: /etc/checkout, readOnly: true}, {name: tmp, mountPath: /tmp}, {name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}]
  - name: proxy
    image: registry.example.com/mesh/proxy:v1.31.0
    imagePullPolicy: IfNotPresent
    ports: [{containerPort: 15001, protocol: TCP}]
    resources: {requests: {cpu: 10m, memory: 40Mi}}
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    securityContext: {allowPrivilegeEscalation: false, runAsUser: 1337, capabilities: {drop: [ALL]}}
  volumes:
  - {name: config, configMap: {name: checkout, defaultMode: 420}}
  - {name: tmp, emptyDir: {}}
  - {name: token, projected: {defaultMode: 420, sources: [{serviceAccountToken: {expirationSeconds: 3607, path: token}}, {configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}}]}}
status: {phase: Pending, qosClass: Burstable}
`

// createReview is the AdmissionReview that an API server sends of restrictedPod.
func createReview(b testing.TB) []byte {
	b.Helper()
	var object corev1.Pod
	if err := yaml.UnmarshalStrict([]byte(restrictedPod), &object); err != nil {
		b.Fatal(err)
	}
	raw, err := json.Marshal(&object)
	if err != nil {
		b.Fatal(err)
	}
	if len(raw) < 4<<10 || len(raw) > 5<<10 {
		b.Fatalf("the pod is of %d bytes, not of 4 to 5 KiB", len(raw))
	}
	gvk, gvr := metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, metav1.GroupVersionResource{Version: "v1", Resource: "pods"}
	off := false
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "8b1f0c1e-43cf-4a5f-8f2e-0f5b3a1d9c77", Kind: gvk, Resource: gvr, RequestKind: &gvk, RequestResource: &gvr,
			Name: object.Name, Namespace: "shop", Operation: admissionv1.Create, DryRun: &off,
			Object:  runtime.RawExtension{Raw: raw},
			Options: runtime.RawExtension{Raw: []byte(`{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}`)},
		},
	}
	review.Request.UserInfo.Username = "system:serviceaccount:kube-system:replicaset-controller"
	review.Request.UserInfo.UID = "1c8a2a54-6b1e-4a0d-9a55-2f5d3c1b7a92"
	review.Request.UserInfo.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"}
	body, err := json.Marshal(&review)
	if err != nil {
		b.Fatal(err)
	}
	return body
}

const restricted = `
metadata: {name: restricted}
spec:
  validationFailureAction: Enforce
  rules:
  - name: pods
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {podSecurity: {level: restricted, version: latest}}
`

// benchOptions are those of a server with one policy for each door.
func benchOptions(b testing.TB) Options {
	b.Helper()
	o := options(b, &world{})
	p := &v1alpha1.ClusterPolicy{}
	if err := yaml.UnmarshalStrict([]byte(restricted), p); err != nil {
		b.Fatal(err)
	}
	guard := &v1alpha1.DenyPolicy{}
	if err := yaml.UnmarshalStrict([]byte(noExec), guard); err != nil {
		b.Fatal(err)
	}
	o.Store = policy.NewStore(pod.Default(), time.Now, exception.Options{})
	problems := o.Store.Replace("bench", policy.Sources{
		ClusterPolicies: []stored.Sourced[*v1alpha1.ClusterPolicy]{{Object: p}},
		DenyPolicies:    []stored.Sourced[*v1alpha1.DenyPolicy]{{Object: guard}},
	})
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	return o
}

// BenchmarkAdmissionJSON takes an AdmissionReview in JSON to its answer in JSON,
// without HTTP, here and through the webhook of k8s.io/pod-security-admission.
func BenchmarkAdmissionJSON(b *testing.B) {
	body := createReview(b)
	o := benchOptions(b)
	if err := o.complete(); err != nil {
		b.Fatal(err)
	}
	g := newGate(&o)
	ours := func() []byte {
		answer, err := g.judge(b.Context(), question{by: &caller{}, door: request.Admission}, body)
		if err != nil {
			b.Fatal(err)
		}
		return answer
	}
	peer := newPeer(b)
	theirs := func() []byte { return peer.answer(b.Context(), body) }
	for name, answer := range map[string]func() []byte{"sallyport": ours, "pod-security-admission": theirs} {
		if got := answer(); !bytes.Contains(got, []byte(`"allowed":true`)) {
			b.Fatalf("%s: %s", name, got)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				answer()
			}
		})
	}
}

// BenchmarkAccessJSON takes a SubjectAccessReview to its answer, with a pod that
// is there at once.
func BenchmarkAccessJSON(b *testing.B) {
	o := benchOptions(b)
	if err := o.complete(); err != nil {
		b.Fatal(err)
	}
	g := newGate(&o)
	for name, body := range map[string]string{"exec": sar, "get": `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"resourceAttributes":` +
		`{"namespace":"shop","verb":"get","version":"v1","resource":"pods","name":"web"},"user":"alice"}}`} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.judge(context.Background(), question{by: &caller{}, door: request.Access}, []byte(body)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHTTPS asks a server over TLS with 8 clients that keep their
// connections, and an echo over the same TLS that decodes nothing. The clients
// take part of the CPU in both.
func BenchmarkHTTPS(b *testing.B) {
	body := createReview(b)
	b.Run("sallyport", func(b *testing.B) {
		_, client, url := running(b, benchOptions(b))
		askInParallel(b, client, url+"/validate?timeout=10s", body)
	})
	b.Run("tls-echo", func(b *testing.B) {
		o := benchOptions(b)
		s, err := New(o)
		if err != nil {
			b.Fatal(err)
		}
		s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.Copy(w, r.Body)
		})
		client, url := serving(b, s)
		askInParallel(b, client, url+"/validate?timeout=10s", body)
	})
}

func askInParallel(b *testing.B, client *http.Client, url string, body []byte) {
	const clients = 8
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = clients
	places := make(chan struct{}, clients)
	b.SetParallelism(clients)
	b.ReportAllocs()
	started, before := time.Now(), cpuTime(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			places <- struct{}{}
			resp, err := client.Post(url, "application/json", bytes.NewReader(body))
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if err == nil && resp.StatusCode != http.StatusOK {
				err = fmt.Errorf("status %d", resp.StatusCode)
			}
			if err != nil {
				b.Error(err)
			}
			<-places
		}
	})
	b.ReportMetric(float64(b.N)/time.Since(started).Seconds(), "requests/s")
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// cpuTime is what this process has used of all CPUs. On a machine that does
// other things as well it says more than the clock.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
