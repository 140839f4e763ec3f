package identity

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// plainPod is a pod of some size that carries no claim of the sources measured.
const plainPod = podHead + `
metadata: {name: web, labels: {app: web}, annotations: {kubectl.kubernetes.io/default-container: app, a: b, c: d}}
spec:
  containers:
  - {name: app, image: web:1.0, env: [{name: A, value: b}, {name: B, value: c}], ports: [{containerPort: 80}], volumeMounts: [{name: a, mountPath: /a}]}
  - {name: proxy, image: proxy:1.0, args: [--port=8080, --verbose], resources: {limits: {cpu: 1, memory: 1Gi}}}
  volumes:
  - {name: a, emptyDir: {}}
  - {name: b, configMap: {name: b}}
  - {name: c, projected: {sources: [{serviceAccountToken: {path: token}}, {configMap: {name: ca}}]}}
  - {name: d, csi: {driver: other.example.com}}
`

const claimingPod = podHead + `
metadata: {annotations: {kerberos: legacy-frontend-app, k1: a, k2: b}}
spec:
  serviceAccountName: app
  volumes:
  - {name: a, csi: {driver: csi.spiffe.io}}
  - {name: b, csi: {driver: secrets-store.csi.k8s.io, volumeAttributes: {role.name: db}}}
  - {name: c, projected: {sources: [{serviceAccountToken: {path: a, audience: sts.amazonaws.com}}, {podCertificate: {signerName: example.com/workload}}]}}
`

func BenchmarkOfObject(b *testing.B) {
	tenth := []string{kerberos, "{key: k1, podAnnotation: {}}", "{key: k2, podAnnotation: {}}", csiPlain, csiValue, token, certificate, custom}
	carried := append([]string{accountName, gke}, tenth...)
	carried[len(carried)-1] = eks
	account := &corev1.ServiceAccount{}
	account.Annotations = testAccounts["team/app"]
	accounts := func(context.Context, string, string) (*corev1.ServiceAccount, error) { return account, nil }
	for _, bench := range []struct {
		name   string
		set    *Set
		object *pod.Object
		want   int
	}{
		{"no source", nil, objectOf(b, plainPod), 0},
		{"no claim", setOf(b, tenth...), objectOf(b, plainPod), 0},
		{"ten claims", setOf(b, carried...), objectOf(b, claimingPod), 10},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				claims, err := bench.set.OfObject(b.Context(), bench.object, "team", accounts)
				if err != nil || len(claims) != bench.want {
					b.Fatal(lines(claims), err)
				}
			}
		})
	}
}

func BenchmarkReview(b *testing.B) {
	yes := authorizerFunc(func(context.Context, request.User, request.Attributes) (bool, error) { return true, nil })
	for _, n := range []int{1, 5} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !Review(b.Context(), yes, employee, numbered(n), nil).Allowed() {
					b.Fatal("not allowed")
				}
			}
		})
	}
}
