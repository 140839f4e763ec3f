package policyserver

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestLife follows a server and its policies from the first to the last.
func TestLife(t *testing.T) {
	l := newLab(t, account1, serverOf("tenants", ", replicas: 2, serviceAccountName: reader"), policyOf("a", "tenants", ""), policyOf("b", "tenants", "  mutating: true\n"))
	if !l.sweep() {
		t.Error("nothing is expected to come")
	}
	if got := l.policies("tenants"); !slices.Equal(got, []string{"clusterwide-a", "clusterwide-b"}) {
		t.Errorf("the file has %v", got)
	}
	if validating, mutating := l.ids("tenants"); len(validating)+len(mutating) > 0 {
		t.Fatalf("webhooks %v and %v are there before the pods are", validating, mutating)
	}
	l.wantPolicy("a", "False RollingOut")
	l.wantServer("tenants", v1alpha1.ConditionReady, "False RollingOut")
	l.wantServer("tenants", conditionAccount, "True RightsGranted")
	if _, ok := read[policyv1.PodDisruptionBudget](l, own, "policy-server-tenants"); !ok {
		t.Error("two replicas have no disruption budget")
	}

	l.rollOut("tenants")
	l.sweep()
	validating, mutating := l.ids("tenants")
	if !slices.Equal(validating, []string{"clusterwide-a", "clusterwide-b"}) || !slices.Equal(mutating, []string{"clusterwide-b"}) {
		t.Errorf("webhooks %v and %v", validating, mutating)
	}
	l.wantPolicy("a", "True InForce")
	l.wantServer("tenants", v1alpha1.ConditionReady, "True RolledOut: 2 ready, with 2 policies in force")
	l.writes = nil
	if l.sweep() || len(l.writes) > 0 {
		t.Errorf("nothing changed, and %v was written", l.writes)
	}

	// Another policy comes: its webhook waits, the others stay.
	l.create(policyOf("c", "tenants", ""))
	l.sweep()
	l.setPods("tenants", false)
	l.sweep()
	if validating, _ := l.ids("tenants"); !slices.Equal(validating, []string{"clusterwide-a", "clusterwide-b"}) {
		t.Errorf("webhooks %v while c comes", validating)
	}
	l.wantPolicy("a", "False PolicyServerNotReady")
	l.wantPolicy("c", "False RollingOut")
	l.rollOut("tenants")
	l.sweep()
	if validating, _ := l.ids("tenants"); len(validating) != 3 {
		t.Errorf("webhooks %v when c is there", validating)
	}

	// Pods that fail later take no webhook away.
	l.setPods("tenants", false)
	l.sweep()
	if validating, _ := l.ids("tenants"); len(validating) != 3 {
		t.Errorf("webhooks %v when the pods fail", validating)
	}
	l.rollOut("tenants")

	// A policy goes: its webhook at once, the policy of the pods a while later.
	if err := l.client.Delete(t.Context(), &v1alpha1.ClusterAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "b"}}); err != nil {
		t.Fatal(err)
	}
	l.sweep()
	if validating, mutating := l.ids("tenants"); !slices.Equal(validating, []string{"clusterwide-a", "clusterwide-c"}) || len(mutating) > 0 {
		t.Errorf("webhooks %v and %v when b is gone", validating, mutating)
	}
	if got := l.policies("tenants"); len(got) != 3 {
		t.Errorf("the file has %v as the webhook goes", got)
	}
	l.pass(drain + 2*time.Second)
	if got := l.policies("tenants"); !slices.Equal(got, []string{"clusterwide-a", "clusterwide-c"}) {
		t.Errorf("the file has %v after it", got)
	}

	// The server goes: webhooks first.
	l.writes = nil
	server, _ := read[v1alpha1.PolicyServer](l, "", "tenants")
	if err := l.client.Delete(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	l.sweep()
	l.deployment("tenants")
	l.wantPolicy("a", "False NoPolicyServer")
	l.pass(drain + 2*time.Second)
	if _, ok := read[v1alpha1.PolicyServer](l, "", "tenants"); ok {
		t.Error("the PolicyServer is still there")
	}
	want := []string{
		"delete PolicyServer tenants", "delete ValidatingWebhookConfiguration sallyport-policy-server-tenants",
		"delete PodDisruptionBudget policy-server-tenants", "delete Deployment policy-server-tenants", "delete Service policy-server-tenants",
		"delete ConfigMap policy-server-tenants", "delete Secret policy-server-tenants",
	}
	if diff := cmp.Diff(want, l.writes); diff != "" {
		t.Errorf("what was written (-want +got):\n%s", diff)
	}
}

// TestSwitchedOff scales a server to nothing: its webhooks stay, so that failure
// policies answer, for a policy that comes then too.
func TestSwitchedOff(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("a", "s", ""))
	l.sweep()
	l.rollOut("s")
	l.sweep()
	server, _ := read[v1alpha1.PolicyServer](l, "", "s")
	server.Spec.Replicas = new(int32(0))
	if err := l.client.Update(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	l.sweep()
	if validating, _ := l.ids("s"); !slices.Equal(validating, []string{"clusterwide-a"}) || *l.deployment("s").Spec.Replicas != 0 {
		t.Errorf("webhooks %v, %d replicas", validating, *l.deployment("s").Spec.Replicas)
	}
	l.wantPolicy("a", "False SwitchedOff")
	l.create(policyOf("b", "s", ""))
	l.sweep()
	if validating, _ := l.ids("s"); !slices.Equal(validating, []string{"clusterwide-a", "clusterwide-b"}) {
		t.Errorf("webhooks %v", validating)
	}
}

// TestPoliciesThatMove are judged by where they were until they are asked for where
// they are to be.
func TestPoliciesThatMove(t *testing.T) {
	moved := func(l *lab, to string) {
		t.Helper()
		p, _ := read[v1alpha1.ClusterAdmissionPolicy](l, "", "a")
		p.Spec.PolicyServer = to
		p.Generation++
		if err := l.client.Update(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	want := func(l *lab, server string, ids ...string) {
		t.Helper()
		if validating, _ := l.ids(server); !slices.Equal(validating, ids) {
			t.Errorf("webhooks of %s: %v, want %v", server, validating, ids)
		}
	}
	begin := func() *lab {
		l := newLab(t, serverOf("s", ""), serverOf("next", ""), policyOf("a", "s", ""))
		l.sweep()
		l.rollOut("s")
		l.sweep()
		want(l, "s", "clusterwide-a")
		return l
	}
	t.Run("to another server", func(t *testing.T) {
		l := begin()
		moved(l, "next")
		l.pass(drain + 2*time.Second)
		want(l, "s", "clusterwide-a")
		want(l, "next")
		if got := l.policies("s"); !slices.Equal(got, []string{"clusterwide-a"}) {
			t.Errorf("its pods have %v", got)
		}
		l.rollOut("next")
		l.sweep()
		l.sweep()
		want(l, "next", "clusterwide-a")
		want(l, "s")
		l.pass(drain + 2*time.Second)
		if got := l.policies("s"); len(got) != 0 {
			t.Errorf("the pods that it was at have %v", got)
		}
	})
	t.Run("to one that is not there", func(t *testing.T) {
		l := begin()
		moved(l, "nxet")
		l.pass(drain + 2*time.Second)
		want(l, "s", "clusterwide-a")
		if l.sweep() {
			t.Error("it is looked at all the time, though nothing is on its way")
		}
		l.wantPolicy("a", "False NoPolicyServer")
	})
	t.Run("and is deleted on its way", func(t *testing.T) {
		l := begin()
		moved(l, "nxet")
		l.sweep()
		if err := l.client.Delete(t.Context(), &v1alpha1.ClusterAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
			t.Fatal(err)
		}
		l.sweep()
		want(l, "s")
	})
	t.Run("and comes back", func(t *testing.T) {
		l := begin()
		moved(l, "next")
		l.sweep()
		moved(l, "s")
		l.rollOut("s")
		l.sweep()
		want(l, "s", "clusterwide-a")
		want(l, "next")
	})
}

// TestDrift changes what was made, and has it put right.
func TestDrift(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("a", "s", ""))
	l.sweep()
	l.rollOut("s")
	l.sweep()
	l.sweep()
	update := func(o client.Object) {
		t.Helper()
		if err := l.client.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	d := l.deployment("s")
	d.Spec.Template.Spec.Containers[0].SecurityContext.Privileged = new(true)
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "more"})
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, "team", "kept")
	update(d)
	m, _ := read[corev1.ConfigMap](l, own, "policy-server-s")
	before := m.Data[PoliciesFile]
	m.Data[PoliciesFile] = "{}"
	update(m)
	v, _ := read[admissionregistrationv1.ValidatingWebhookConfiguration](l, "", WebhooksName("s"))
	v.Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
	v.Webhooks = append(v.Webhooks, v.Webhooks[0])
	v.Webhooks[1].Name = "more.policies.sallyport.io"
	v.Labels = nil
	update(v)
	l.sweep()
	d = l.deployment("s")
	if n := len(d.Spec.Template.Spec.Containers); n != 1 || *d.Spec.Template.Spec.Containers[0].SecurityContext.Privileged || d.Annotations["team"] != "kept" {
		t.Errorf("%d containers, %v", n, d.Annotations)
	}
	if m, _ := read[corev1.ConfigMap](l, own, "policy-server-s"); m.Data[PoliciesFile] != before {
		t.Errorf("the file is %s", m.Data[PoliciesFile])
	}
	v, _ = read[admissionregistrationv1.ValidatingWebhookConfiguration](l, "", WebhooksName("s"))
	if len(v.Webhooks) != 1 || *v.Webhooks[0].FailurePolicy != admissionregistrationv1.Fail || v.Labels[labelServer] != "s" {
		t.Errorf("webhooks %+v", v.Webhooks)
	}
	for _, o := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Secret{}} {
		o.SetNamespace(own)
		o.SetName("policy-server-s")
		if err := l.client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	l.sweep()
	for _, o := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Secret{}} {
		if err := l.client.Get(t.Context(), client.ObjectKey{Namespace: own, Name: "policy-server-s"}, o); err != nil {
			t.Error(err)
		}
	}
}
