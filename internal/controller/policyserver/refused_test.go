package policyserver

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestBroken has a policy and a server that cannot work.
func TestBroken(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("a", "s", ""), policyOf("b", "nowhere", ""), serverOf("has.dots", ""))
	l.sweep()
	l.rollOut("s")
	l.sweep()
	l.create(policyOf(strings.Repeat("a", 250), "s", ""))
	l.sweep()
	l.wantPolicy(strings.Repeat("a", 250), "False NameTooLong")
	l.wantPolicy("b", `False NoPolicyServer: there is no PolicyServer "nowhere"`)
	if _, ok := read[appsv1.Deployment](l, own, "policy-server-has.dots"); ok {
		t.Error("a Deployment was made for a server that cannot work")
	}
	// A version that cannot work leaves the last one in force.
	a, _ := read[v1alpha1.ClusterAdmissionPolicy](l, "", "a")
	a.Spec.Module, a.Generation = "ftp://nowhere", 2
	a.Spec.FailurePolicy = v1alpha1.FailurePolicyIgnore
	if err := l.client.Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	l.pass(drain + 2*time.Second)
	if validating, _ := l.ids("s"); !slices.Equal(validating, []string{"clusterwide-a"}) || !slices.Equal(l.policies("s"), []string{"clusterwide-a"}) {
		t.Errorf("webhooks %v, file %v", validating, l.policies("s"))
	}
	v, _ := read[admissionregistrationv1.ValidatingWebhookConfiguration](l, "", WebhooksName("s"))
	if *v.Webhooks[0].FailurePolicy != admissionregistrationv1.Fail {
		t.Error("the webhook is that of the version that cannot work")
	}
}

// TestRefused has an API server that refuses one webhook of several.
func TestRefused(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("a", "s", ""), policyOf("b", "s", ""), policyOf("c", "s", ""))
	l.sweep()
	l.rollOut("s")
	l.fail = refusing("clusterwide-b")
	l.sweep()
	if validating, _ := l.ids("s"); !slices.Equal(validating, []string{"clusterwide-a", "clusterwide-c"}) {
		t.Errorf("webhooks %v", validating)
	}
	l.wantPolicy("b", "False WebhookRefused: the API server refuses its webhook: matchConditions[0].expression: undeclared reference")
	l.wantPolicy("c", "True InForce")
}

// refusing is an API server that does not take the webhook of a policy.
func refusing(id string) func(string, client.Object) error {
	return func(_ string, o client.Object) error {
		v, ok := o.(*admissionregistrationv1.ValidatingWebhookConfiguration)
		if !ok {
			return nil
		}
		for i := range v.Webhooks {
			if idOf(&v.Webhooks[i].ClientConfig) == id {
				err := apierrors.NewInvalid(schema.GroupKind{}, v.Name, nil)
				err.ErrStatus.Details.Causes = []metav1.StatusCause{{Field: fmt.Sprintf("webhooks[%d].matchConditions[0].expression", i), Message: "undeclared reference"}}
				return err
			}
		}
		return nil
	}
}

// TestRefusals are what a server is not made for, or what it lacks.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setUp func(l *lab)
		want  string
	}{
		{"callers that are not known", func(l *lab) { l.Callers = func() (*Callers, error) { return &Callers{}, nil } }, "False NoCallers"},
		{"callers that cannot be read", func(l *lab) { l.Callers = func() (*Callers, error) { return nil, errors.New("no such file") } }, "False CannotBeMade: no such file"},
		{"a Deployment in the way", func(l *lab) {
			l.create("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: policy-server-s, namespace: sallyport-system}\n")
		}, "False InTheWay: Deployment sallyport-system/policy-server-s is there already"},
		{"a Secret in the way", func(l *lab) {
			l.create("apiVersion: v1\nkind: Secret\nmetadata: {name: policy-server-s, namespace: sallyport-system}\n")
		}, "False InTheWay: Secret sallyport-system/policy-server-s is there already"},
		{"webhooks in the way", func(l *lab) {
			l.create("apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: sallyport-policy-server-s}\n")
		}, "False InTheWay"},
		{"rights that Sallyport lacks", func(l *lab) {
			l.fail = func(_ string, o client.Object) error {
				if _, ok := o.(*corev1.Service); ok {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, o.GetName(), errors.New("no"))
				}
				return nil
			}
		}, "False Forbidden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, serverOf("s", ""), policyOf("a", "s", ""))
			tt.setUp(l)
			if _, err := l.Reconcile(t.Context()); err == nil {
				t.Error("no error")
			}
			l.wantServer("s", v1alpha1.ConditionReady, tt.want)
			l.wantPolicy("a", strings.Join(strings.Fields(tt.want)[:2], " "))
		})
	}
	l := newLab(t, serverOf("s", ""))
	l.sweep()
	l.wantServer("s", conditionAccount, "False RightsMissing: the account sallyport-system/default lacks what a server needs: the account itself")
	l = newLab(t, account1, serverOf("s", ", serviceAccountName: reader"))
	l.lacks = []string{"policyexceptions", "namespaces"}
	l.sweep()
	l.wantServer("s", conditionAccount, "get and list and watch namespaces, list and watch policyexceptions; bind the ClusterRole sallyport-policy-server")
}

// TestBrokenServer has a server become one that cannot work: what runs goes on, and
// what is to go goes.
func TestBrokenServer(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("a", "s", ""), policyOf("b", "s", ""), serverOf("bad", ", replicas: 500"), policyOf("c", "bad", ""))
	l.sweep()
	l.rollOut("s")
	l.sweep()
	l.wantPolicy("c", "False PolicyServerCannotWork")
	server, _ := read[v1alpha1.PolicyServer](l, "", "s")
	server.Spec.Image, server.Generation = "not an image", 2
	if err := l.client.Update(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	if err := l.client.Delete(t.Context(), &v1alpha1.ClusterAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "b"}}); err != nil {
		t.Fatal(err)
	}
	l.sweep()
	if validating, _ := l.ids("s"); !slices.Equal(validating, []string{"clusterwide-a"}) {
		t.Errorf("webhooks %v", validating)
	}
	if got := l.deployment("s").Spec.Template.Spec.Containers[0].Image; got != "ghcr.io/org/sallyport:v1" {
		t.Errorf("the pods run %s", got)
	}
	l.wantPolicy("a", "True InForce")
}

// TestNoDeployment has an API server that takes no Deployment: webhooks go all the
// same.
func TestNoDeployment(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("a", "s", ""))
	l.sweep()
	l.rollOut("s")
	l.sweep()
	l.fail = func(_ string, o client.Object) error {
		if _, ok := o.(*appsv1.Deployment); ok {
			return errors.New("a quota")
		}
		return nil
	}
	if err := l.client.Delete(t.Context(), &v1alpha1.ClusterAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	l.create(policyOf("b", "s", ""))
	if _, err := l.Reconcile(t.Context()); err == nil {
		t.Error("no error")
	}
	if validating, _ := l.ids("s"); len(validating) > 0 {
		t.Errorf("webhooks %v", validating)
	}
	l.wantServer("s", v1alpha1.ConditionReady, "False CannotBeMade: Deployment sallyport-system/policy-server-s cannot be written: a quota")
	l.wantPolicy("b", "False CannotBeMade")
}
