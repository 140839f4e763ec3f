package standard

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// restrictedPod complies with restricted:latest: an init container, two
// containers with probes, three volumes.
const restrictedPod = `
metadata:
  name: web
  annotations: {prometheus.io/scrape: "true", kubectl.kubernetes.io/default-container: web}
spec:
  securityContext:
    runAsNonRoot: true
    seccompProfile: {type: RuntimeDefault}
    sysctls: [{name: net.ipv4.tcp_syncookies, value: "1"}]
  initContainers:
  - name: migrate
    image: registry.example/migrate:1
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
  containers:
  - name: web
    image: registry.example/web:1
    ports: [{containerPort: 8080}, {containerPort: 9090}]
    livenessProbe: {httpGet: {path: /healthz, port: 8080}}
    readinessProbe: {httpGet: {path: /readyz, port: 8080}}
    securityContext: {allowPrivilegeEscalation: false, runAsUser: 1000, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}
  - name: proxy
    image: registry.example/proxy:1
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
  volumes:
  - {name: config, configMap: {name: web}}
  - {name: tmp, emptyDir: {}}
  - {name: token, projected: {sources: [{serviceAccountToken: {path: token}}]}}
`

// riskyPod breaks six checks of restricted:latest.
const riskyPod = `
metadata: {name: agent}
spec:
  hostNetwork: true
  securityContext: {seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: agent
    image: registry.example/agent:1
    securityContext: {privileged: true}
  volumes:
  - {name: root, hostPath: {path: /}}
`

func BenchmarkRestrictedPassing(b *testing.B) { compare(b, restrictedPod, true) }

func BenchmarkRestrictedFailing(b *testing.B) { compare(b, riskyPod, false) }

// compare measures both judges on one pod, after it was decoded.
func compare(b *testing.B, manifest string, complies bool) {
	p := parse(b, manifest)
	b.Run("sallyport", func(b *testing.B) {
		s := mustNew(b, v1alpha1.LevelRestricted, "latest", v1alpha1.ProbeHostsKubernetes)
		b.ReportAllocs()
		for b.Loop() {
			if got := len(s.Check(p)) == 0; got != complies {
				b.Fatalf("complies: %t", got)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		evaluator := newEvaluator(b)
		latest := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
		b.ReportAllocs()
		for b.Loop() {
			result := policy.AggregateCheckResults(evaluator.EvaluatePod(latest, p.Meta, p.Spec))
			if result.Allowed != complies {
				b.Fatalf("complies: %t", result.Allowed)
			}
		}
	})
}

func BenchmarkForNamespace(b *testing.B) {
	labels := map[string]string{
		"kubernetes.io/metadata.name":                "shop",
		"pod-security.kubernetes.io/enforce":         "restricted",
		"pod-security.kubernetes.io/enforce-version": "v1.34",
	}
	b.ReportAllocs()
	for b.Loop() {
		if levels, errs := ForNamespace(labels, nil, ""); len(errs) > 0 || levels.Enforce.String() != "restricted:v1.34" {
			b.Fatal(levels.Enforce, errs)
		}
	}
}

// TestCheckAllocates holds the promise that a pod that complies costs nothing.
func TestCheckAllocates(t *testing.T) {
	p := parse(t, restrictedPod)
	p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon(p.Spec.Containers[1]),
	}}
	for _, version := range []string{"latest", "v1.37", "v1.24", "v1.18", "v1.0", "v1.99"} {
		for _, level := range []v1alpha1.StandardLevel{v1alpha1.LevelPrivileged, v1alpha1.LevelBaseline, v1alpha1.LevelRestricted} {
			s := mustNew(t, level, version, "")
			if v := s.Check(p); v != nil {
				t.Fatalf("%s: %s", s, Message(v))
			}
			if n := testing.AllocsPerRun(200, func() { s.Check(p) }); n != 0 {
				t.Errorf("%s allocates %v times", s, n)
			}
		}
	}
}
