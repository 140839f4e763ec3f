package policyserver

import (
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

func (l *lab) ownIDs() []string {
	l.Helper()
	v, _ := read[admissionregistrationv1.ValidatingWebhookConfiguration](l, "", OwnWebhooks)
	var ids []string
	for i := range v.Webhooks {
		ids = append(ids, idOf(&v.Webhooks[i].ClientConfig))
	}
	return ids
}

// TestOwn keeps webhooks for the policies that this Sallyport runs itself.
func TestOwn(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("b", "s", ""))
	l.Own = func([]byte) (*Target, error) {
		return &Target{Namespace: own, Service: "sallyport", Port: 443, CABundle: []byte("CA")}, nil
	}
	l.sweep()
	l.rollOut("s")
	l.sweep()
	l.create(policyOf("a", "''", ""))
	l.sweep()
	if got := l.ownIDs(); len(got) > 0 {
		t.Errorf("webhooks %v before the module can have been loaded", got)
	}
	l.clock.Step(settle)
	l.sweep()
	if got := l.ownIDs(); !slices.Equal(got, []string{"clusterwide-a"}) {
		t.Errorf("webhooks %v", got)
	}
	v, _ := read[admissionregistrationv1.ValidatingWebhookConfiguration](l, "", OwnWebhooks)
	if c := v.Webhooks[0].ClientConfig; c.Service.Name != "sallyport" || *c.Service.Path != "/policy/clusterwide-a/validate" || string(c.CABundle) != "CA" || len(v.OwnerReferences) > 0 {
		t.Errorf("%+v", c)
	}
	// What is ready is asked about at once.
	l.create(policyOf("c", "''", ""))
	c, _ := read[v1alpha1.ClusterAdmissionPolicy](l, "", "c")
	c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 1, Reason: "InForce"}}
	if err := l.client.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	l.sweep()
	if got := l.ownIDs(); !slices.Equal(got, []string{"clusterwide-a", "clusterwide-c"}) {
		t.Errorf("webhooks %v", got)
	}
	if err := l.client.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	l.sweep()
	if got := l.ownIDs(); !slices.Equal(got, []string{"clusterwide-a"}) {
		t.Errorf("webhooks %v", got)
	}
	// Where they are not wanted any more, they go.
	l.Own = nil
	l.sweep()
	if _, there := read[admissionregistrationv1.ValidatingWebhookConfiguration](l, "", OwnWebhooks); there {
		t.Error("the webhooks stay")
	}
}

// TestOwnInTheWay does not touch the webhooks of somebody else.
func TestOwnInTheWay(t *testing.T) {
	const others = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: sallyport-policies}\n"
	l := newLab(t, others, policyOf("a", "''", ""))
	l.sweep()
	if _, there := read[admissionregistrationv1.ValidatingWebhookConfiguration](l, "", OwnWebhooks); !there {
		t.Error("they were removed")
	}
	l.Own = func([]byte) (*Target, error) { return &Target{Namespace: own, Service: "sallyport", Port: 443}, nil }
	l.clock.Step(settle)
	if _, err := l.Reconcile(t.Context()); err == nil || !strings.Contains(err.Error(), "sallyport-policies is there already") {
		t.Errorf("got %v", err)
	}
}

// TestSameID has two policies with one id, each of which keeps its webhook.
func TestSameID(t *testing.T) {
	narrow := func(namespace, name string) string {
		return "apiVersion: sallyport.io/v1alpha1\nkind: AdmissionPolicy\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec:\n  module: registry://ghcr.io/org/a:v1\n  rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]\n"
	}
	l := newLab(t, narrow("shop", "front-a"), narrow("shop-front", "a"))
	l.Own = func([]byte) (*Target, error) { return &Target{Namespace: own, Service: "sallyport", Port: 443}, nil }
	l.clock.Step(settle + time.Second)
	l.sweep()
	v, _ := read[admissionregistrationv1.ValidatingWebhookConfiguration](l, "", OwnWebhooks)
	if len(v.Webhooks) != 2 || v.Webhooks[0].Name == v.Webhooks[1].Name || !strings.HasSuffix(v.Webhooks[1].Name, webhookSuffix) {
		t.Fatalf("%+v", v.Webhooks)
	}
	for i, namespace := range []string{"shop", "shop-front"} {
		if got := v.Webhooks[i].NamespaceSelector.MatchExpressions[0].Values[0]; got != namespace {
			t.Errorf("webhook %d is for %s", i, got)
		}
	}
}

// TestOwnRefused tells of a webhook that the API server does not take, and of its
// being accepted again.
func TestOwnRefused(t *testing.T) {
	l := newLab(t, policyOf("a", "''", ""), policyOf("b", "''", ""))
	l.Own = func([]byte) (*Target, error) { return &Target{Namespace: own, Service: "sallyport", Port: 443}, nil }
	l.clock.Step(settle)
	l.fail = refusing("clusterwide-b")
	l.sweep()
	if got := l.ownIDs(); !slices.Equal(got, []string{"clusterwide-a"}) {
		t.Errorf("webhooks %v", got)
	}
	webhook := func(name string) string {
		p, _ := read[v1alpha1.ClusterAdmissionPolicy](l, "", name)
		return says(p.Status.Conditions, conditionWebhook)
	}
	if got := webhook("b"); !strings.HasPrefix(got, "False WebhookRefused: the API server refuses its webhook") || webhook("a") != "" {
		t.Errorf("b is %q, a %q", got, webhook("a"))
	}
	l.fail = nil
	l.sweep()
	if got := webhook("b"); !strings.HasPrefix(got, "True WebhookTaken") {
		t.Errorf("b is %q", got)
	}
}

// TestOwnUntilElsewhere keeps a webhook for a policy that names a server until that one
// asks for it, and one for a policy whose server is not there.
func TestOwnUntilElsewhere(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("a", "''", ""), policyOf("lost", "nowhere", ""))
	l.Own = func([]byte) (*Target, error) { return &Target{Namespace: own, Service: "sallyport", Port: 443}, nil }
	l.Took = func(stored.Ref, string) bool { return true }
	l.clock.Step(settle)
	want := func(ids ...string) {
		t.Helper()
		if got := l.ownIDs(); !slices.Equal(got, ids) {
			t.Errorf("webhooks %v, want %v", got, ids)
		}
	}
	l.sweep()
	want("clusterwide-a", "clusterwide-lost")
	l.move("a", "s")
	l.pass(drain + 2*time.Second)
	want("clusterwide-a", "clusterwide-lost")
	l.rollOut("s")
	l.sweep()
	if validating, _ := l.ids("s"); !slices.Equal(validating, []string{"clusterwide-a"}) {
		t.Fatalf("webhooks of the server: %v", validating)
	}
	l.sweep()
	want("clusterwide-lost")
	// Back: the server is asked until this Sallyport is.
	l.move("a", "")
	l.sweep()
	want("clusterwide-a", "clusterwide-lost")
	if validating, _ := l.ids("s"); !slices.Equal(validating, []string{"clusterwide-a"}) {
		t.Errorf("webhooks of the server as the policy comes back: %v", validating)
	}
	l.pass(drain + time.Second)
	if validating, _ := l.ids("s"); len(validating) > 0 {
		t.Errorf("webhooks of the server after it: %v", validating)
	}
}
