package workflow

import (
	"strings"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestSlim keeps of an exception what is written, and of a request and its answer all.
func TestSlim(t *testing.T) {
	e := &v1alpha1.PolicyException{Spec: v1alpha1.PolicyExceptionSpec{Reason: "r"}, Status: v1alpha1.PolicyExceptionStatus{Uses: 3}}
	wide := &v1alpha1.ClusterPolicyException{Spec: v1alpha1.PolicyExceptionSpec{Reason: "r"}, Status: v1alpha1.PolicyExceptionStatus{Uses: 3}}
	q := &v1alpha1.PolicyExceptionRequest{Spec: v1alpha1.PolicyExceptionRequestSpec{Reason: "r"}}
	a := &v1alpha1.PolicyExceptionResponse{Spec: v1alpha1.PolicyExceptionResponseSpec{Reason: "r"}}
	for _, object := range []any{e, wide, q, a} {
		if _, err := slim(object); err != nil {
			t.Fatal(err)
		}
	}
	if e.Spec.Reason != "" || e.Status.Uses != 3 || wide.Spec.Reason != "" || wide.Status.Uses != 3 {
		t.Errorf("%+v, %+v", e, wide)
	}
	if q.Spec.Reason != "r" || a.Spec.Reason != "r" {
		t.Errorf("%+v, %+v", q, a)
	}
}

// TestSlimHoldsTextsOnce: what is said of many exceptions is held once, and stays.
func TestSlimHoldsTextsOnce(t *testing.T) {
	text := func(s string) string { return strings.Clone(s) }
	texts := func() (all []string) {
		condition := metav1.Condition{Type: text("Effective"), Status: metav1.ConditionStatus(text("True")), Reason: text("Excuses"), Message: text("it excuses what it names")}
		e := &v1alpha1.PolicyException{
			TypeMeta: metav1.TypeMeta{Kind: text("PolicyException"), APIVersion: text("sallyport.io/v1alpha1")}, ObjectMeta: metav1.ObjectMeta{Namespace: text("shop")},
			Status: v1alpha1.PolicyExceptionStatus{Conditions: []metav1.Condition{condition}},
		}
		if _, err := slim(e); err != nil {
			t.Fatal(err)
		}
		c := e.Status.Conditions[0]
		return []string{e.Kind, e.APIVersion, e.Namespace, c.Type, string(c.Status), c.Reason, c.Message}
	}
	one, other := texts(), texts()
	for i, want := range []string{"PolicyException", "sallyport.io/v1alpha1", "shop", "Effective", "True", "Excuses", "it excuses what it names"} {
		if one[i] != want || unsafe.StringData(one[i]) != unsafe.StringData(other[i]) {
			t.Errorf("%q is held twice, or was %q", one[i], want)
		}
	}
}
