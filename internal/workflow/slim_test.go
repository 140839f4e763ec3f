package workflow

import (
	"testing"

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
