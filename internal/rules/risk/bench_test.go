package risk

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// fivePod has 5 containers, each with settings of a usual kind and its token, and
// 5 host paths.
func fivePod() *pod.Pod {
	p := &corev1.Pod{}
	p.Namespace, p.Name = "shop", "web-0"
	p.Annotations = map[string]string{"a": "b", "kubernetes.io/psp": "x"}
	p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: ptr(int64(1000)), SeccompProfile: &corev1.SeccompProfile{Type: "RuntimeDefault"}}
	p.Spec.Volumes = append(p.Spec.Volumes, tokenVolume("token"))
	for i, path := range []string{"/data", "/var/log/pods", "/opt/app/logs", "/etc/ssl/certs", "/srv/cache"} {
		p.Spec.Volumes = append(p.Spec.Volumes, hostPathVolume(fmt.Sprint("path-", i), path))
	}
	for i := range 5 {
		c := safe(fmt.Sprint("container-", i))
		c.SecurityContext.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_BIND_SERVICE"}}
		c.Ports = []corev1.ContainerPort{{ContainerPort: int32(8080 + i)}}
		c.VolumeMounts = []corev1.VolumeMount{
			{Name: "token", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"},
			{Name: fmt.Sprint("path-", i), ReadOnly: true, MountPath: "/mnt"},
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	return live(p)
}

func benchmarkJudge(b *testing.B, rules string, action v1alpha1.RiskAction) {
	compiled := compile(b, rules)
	in := Input{Pod: fivePod(), Container: "container-0", Subresource: "exec", Namespace: "shop", Name: "web-0", User: "jane"}
	if v := compiled.Judge(in); v.Action != action {
		b.Fatalf("%s with score %d", v.Action, v.Score)
	}
	b.ReportAllocs()
	for b.Loop() {
		compiled.Judge(in)
	}
}

func BenchmarkAllow(b *testing.B) {
	benchmarkJudge(b, `{riskFactors: {hostNetwork: 80, hostPathReadOnly: 2, serviceAccountToken: 5, sensitiveHostPath: 5, capabilities: {NET_ADMIN: 50}}, thresholds: [{maxScore: 30, action: allow}]}`, v1alpha1.ActionAllow)
}

func BenchmarkAllowContainer(b *testing.B) {
	benchmarkJudge(b, `{scope: container, riskFactors: {hostPathReadOnly: 2}, thresholds: [{maxScore: 30, action: allow}]}`, v1alpha1.ActionAllow)
}

func BenchmarkDeny(b *testing.B) {
	benchmarkJudge(b, `{riskFactors: {hostPathReadOnly: 30}, thresholds: [{maxScore: 30, action: allow}, {maxScore: 500, action: deny, reason: "{{.score}} {{.factors}}"}]}`, v1alpha1.ActionDeny)
}

func BenchmarkAssess(b *testing.B) {
	p := fivePod()
	b.ReportAllocs()
	for b.Loop() {
		Assess(p)
	}
}
