package policyserver

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/pod-security-admission/api"
	podsecurity "k8s.io/pod-security-admission/policy"
)

// TestRestricted holds the pods to the Pod Security Standard "restricted".
func TestRestricted(t *testing.T) {
	l := newLab(t, account1, serverOf("s", ", serviceAccountName: reader, env: [{name: A, value: b}]"), policyOf("a", "s", ""))
	l.ClusterName = "east"
	l.sweep()
	template := l.deployment("s").Spec.Template
	evaluator, err := podsecurity.NewEvaluator(podsecurity.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &template.ObjectMeta, &template.Spec) {
		if !result.Allowed {
			t.Errorf("%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
	container := template.Spec.Containers[0]
	if !*container.SecurityContext.ReadOnlyRootFilesystem || template.Spec.ServiceAccountName != "reader" || container.Env[0].Name != "A" {
		t.Errorf("%+v", template.Spec)
	}
	want := strings.Fields("serve --policies /etc/sallyport/policies.yml --policy-server s --addr :8443 --tls-cert-file /etc/sallyport-tls/tls.crt --tls-private-key-file /etc/sallyport-tls/tls.key" +
		" --module-cache /var/cache/sallyport/modules --decision-timeout 30s --client-ca-file /etc/sallyport-tls/client-ca.crt --cluster-name east")
	if !slices.Equal(container.Args, want) {
		t.Errorf("arguments %q\nwant %q", container.Args, want)
	}
}

// TestRolledOut lists when all pods have what they are to have.
func TestRolledOut(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(d *appsv1.Deployment)
		want   bool
	}{
		{"all ready", func(*appsv1.Deployment) {}, true},
		{"not seen by its controller", func(d *appsv1.Deployment) { d.Generation = 4 }, false},
		{"an old pod is left", func(d *appsv1.Deployment) { d.Status.Replicas = 3 }, false},
		{"one is not updated", func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }, false},
		{"one is not ready", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }, false},
		{"none wanted", func(d *appsv1.Deployment) {
			d.Spec.Replicas, d.Status = new(int32), appsv1.DeploymentStatus{ObservedGeneration: 3}
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &appsv1.Deployment{}
			d.Generation, d.Spec.Replicas = 3, new(int32(2))
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
			tt.change(d)
			if got := rolledOut(d); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
