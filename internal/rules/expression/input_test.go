package expression_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// TestRequestOfAnEquivalentVersion holds that what was asked for is told from
// what was matched.
func TestRequestOfAnEquivalentVersion(t *testing.T) {
	in := input(t)
	in.Request.RequestKind = &schema.GroupVersionKind{Group: "old", Version: "v1beta1", Kind: "Pod"}
	in.Request.RequestResource = &schema.GroupVersionResource{Group: "old", Version: "v1beta1", Resource: "pods"}
	in.Request.SubResource = "resize"
	in.Request.Options = nil
	v := compiled(t, requirements(
		"request.requestKind.group == 'old' && request.kind.group == ''",
		"request.requestResource.version == 'v1beta1' && request.resource.version == 'v1'",
		"!has(request.requestSubResource) && request.subResource == 'resize'",
		"request.options == null",
	))
	if violations, err := v.Evaluate(t.Context(), in); err != nil || len(violations) > 0 {
		t.Errorf("violations %v, error %v, want none", violations, err)
	}
}

func TestEmptyRequest(t *testing.T) {
	v := compiled(t, requirements(
		"!has(request.name) && !has(request.namespace) && !has(request.subResource) && !has(request.requestSubResource)",
		"!has(request.userInfo.username) && !has(request.userInfo.groups) && !has(request.userInfo.extra)",
		"request.operation == '' && request.kind.kind == '' && !request.dryRun",
	))
	if violations, err := v.Evaluate(t.Context(), &expression.Input{Request: &expression.Request{}}); err != nil || len(violations) > 0 {
		t.Errorf("violations %v, error %v, want none", violations, err)
	}
}

func TestWholeNamespace(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	grace := int64(30)
	in := &expression.Input{Namespace: &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", GenerateName: "a-", Namespace: "b", UID: "u", ResourceVersion: "9", Generation: 2,
			Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"n": "2"}, Finalizers: []string{"f"},
			CreationTimestamp: metav1.NewTime(at), DeletionTimestamp: &metav1.Time{Time: at.Add(time.Hour)}, DeletionGracePeriodSeconds: &grace,
			OwnerReferences: []metav1.OwnerReference{{Name: "o"}},
		},
		Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"kubernetes"}},
		Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating, Conditions: []corev1.NamespaceCondition{
			{Type: corev1.NamespaceDeletionContentFailure, Status: corev1.ConditionTrue, Reason: "r", Message: "m", LastTransitionTime: metav1.NewTime(at)},
			{Type: corev1.NamespaceContentRemaining},
		}},
	}}
	v := compiled(t, withVariables(requirements(
		"variables.m.name == 'a' && variables.m.generateName == 'a-' && variables.m.namespace == 'b' && variables.m.uid == 'u'",
		"variables.m.resourceVersion == '9' && variables.m.generation == 2 && variables.m.deletionGracePeriodSeconds == 30",
		"variables.m.labels['l'] == '1' && variables.m.annotations['n'] == '2' && variables.m.finalizers == ['f']",
		"variables.m.creationTimestamp == timestamp('2026-01-02T03:04:05Z')",
		"variables.m.deletionTimestamp - variables.m.creationTimestamp == duration('1h')",
		"namespaceObject.spec.finalizers == ['kubernetes'] && namespaceObject.status.phase == 'Terminating'",
		"namespaceObject.status.conditions[0].lastTransitionTime.getFullYear() == 2026",
		"namespaceObject.status.conditions.exists(c, c.reason == 'r' && c.message == 'm' && c.status == 'True')",
		"!has(namespaceObject.status.conditions[1].reason) && namespaceObject.status.conditions[1].type == 'NamespaceContentRemaining'",
		"!has(dyn(variables.m).ownerReferences)",
	), "m", "namespaceObject.metadata"))
	if violations, err := v.Evaluate(t.Context(), in); err != nil || len(violations) > 0 {
		t.Errorf("violations %v, error %v, want none", violations, err)
	}
}
