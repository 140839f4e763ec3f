package policyserver

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	podsecurity "k8s.io/pod-security-admission/policy"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
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

// TestStaysUp has a pod more before one is taken away, asks it whether it is ready, gives
// it time to end, and spreads the pods where there are several.
func TestStaysUp(t *testing.T) {
	for replicas, spreads := range map[int32]bool{1: false, 2: true, 3: true} {
		c := &Controller{Options: Options{Namespace: own}}
		d := c.deployment(&v1alpha1.PolicyServer{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: v1alpha1.PolicyServerSpec{Replicas: &replicas}}, &Callers{}, "")
		rolling, pod := d.Spec.Strategy.RollingUpdate, d.Spec.Template.Spec
		if rolling.MaxUnavailable.IntValue() != 0 || rolling.MaxSurge.IntValue() != 1 {
			t.Errorf("rolled out by %v", rolling)
		}
		if probes := pod.Containers[0]; probes.ReadinessProbe.HTTPGet.Path != "/readyz" || probes.LivenessProbe.HTTPGet.Path != "/healthz" {
			t.Errorf("asks %v and %v", probes.ReadinessProbe, probes.LivenessProbe)
		}
		if *pod.TerminationGracePeriodSeconds != graceSeconds {
			t.Errorf("%d s to end in", *pod.TerminationGracePeriodSeconds)
		}
		if slices.Contains(pod.Containers[0].Args, "--shutdown-delay") {
			t.Error("an image of before does not know the flag, whose default is what is wanted")
		}
		if (len(pod.TopologySpreadConstraints) == 1) != spreads {
			t.Errorf("%d replicas: spread by %v", replicas, pod.TopologySpreadConstraints)
		}
		for _, by := range pod.TopologySpreadConstraints {
			if by.TopologyKey != "kubernetes.io/hostname" || by.WhenUnsatisfiable != "ScheduleAnyway" || by.LabelSelector.MatchLabels[labelServer] != "s" {
				t.Errorf("spread by %+v", by)
			}
		}
	}
}

// TestObserving has the servers observe where Sallyport does, and the API server let in what
// they cannot be asked about.
func TestObserving(t *testing.T) {
	c := &Controller{Options: Options{Namespace: own, Observe: true}}
	if args := c.arguments(&v1alpha1.PolicyServer{}, &Callers{}); !slices.Equal(args[len(args)-2:], []string{"--mode", "observe"}) {
		t.Errorf("arguments %q", args)
	}
	p := &hosted{id: "clusterwide-a", spec: &v1alpha1.AdmissionPolicySpec{}}
	target := &Target{Namespace: own, Service: "s", LetIn: true}
	for name, hook := range map[string]struct {
		policy *admissionregistrationv1.FailurePolicyType
		path   *string
	}{
		"validating": {target.validating(p).FailurePolicy, target.validating(p).ClientConfig.Service.Path},
		"mutating":   {target.mutating(p).FailurePolicy, target.mutating(p).ClientConfig.Service.Path},
	} {
		if *hook.policy != admissionregistrationv1.Ignore || !strings.HasPrefix(*hook.path, "/ignore/policy/") {
			t.Errorf("%s: %s at %s", name, *hook.policy, *hook.path)
		}
	}
	if got := c.enforced(p, true, "RolledOut", "the policy is in force"); got.Status != metav1.ConditionFalse || !strings.HasPrefix(got.Message, stored.ReasonObserving) {
		t.Errorf("%+v", got)
	}
}

// TestLettingIn says of a policy that wants to refuse what the servers cannot be asked about
// that the API server lets it in, and not of one that wants that itself.
func TestLettingIn(t *testing.T) {
	c := &Controller{Options: Options{Namespace: own, LetIn: true}}
	if args := c.arguments(&v1alpha1.PolicyServer{}, &Callers{}); slices.Contains(args, "observe") {
		t.Errorf("arguments %q", args)
	}
	for _, says := range []v1alpha1.FailurePolicy{"", v1alpha1.FailurePolicyIgnore} {
		p := &hosted{spec: &v1alpha1.AdmissionPolicySpec{FailurePolicy: says}}
		got := c.enforced(p, true, "RolledOut", "the policy is in force")
		if wants := says != v1alpha1.FailurePolicyIgnore; (got.Status == metav1.ConditionFalse) != wants || strings.Contains(got.Message, "let in") != wants {
			t.Errorf("%q: %+v", says, got)
		}
	}
}

// TestEnforcedOnlyOncePodsRefuse says that a policy is enforced after an installation has
// observed only when the pods that observed are gone.
func TestEnforcedOnlyOncePodsRefuse(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("a", "s", ""))
	l.Here = func(stored.Ref) bool { return false }
	enforced := func() string {
		t.Helper()
		p, _ := read[v1alpha1.ClusterAdmissionPolicy](l, "", "a")
		return says(p.Status.Conditions, v1alpha1.ConditionEnforced)
	}
	l.Observe = true
	l.sweep()
	l.rollOut("s")
	l.sweep()
	if got := enforced(); !strings.HasPrefix(got, "False NotAtPolicyServer: Observing") {
		t.Errorf("while it observes: %q", got)
	}
	// Another mode is another process.
	o := l.Options
	o.Observe = false
	l.Controller = newController(o, l.client, l.client)
	l.sweep()
	if got := enforced(); !strings.HasPrefix(got, "False NotAtPolicyServer: RollingOut") {
		t.Errorf("while pods still observe: %q", got)
	}
	l.rollOut("s")
	l.sweep()
	if got := enforced(); !strings.HasPrefix(got, "True AtPolicyServer") {
		t.Errorf("once they refuse: %q", got)
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
