package workflow

import (
	"testing"
	"time"

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

// TestRest is short after a short look, and never longer than a minute.
func TestRest(t *testing.T) {
	for took, want := range map[string]string{"0s": "0s", "10ms": "2s", "300ms": "1m0s", "90s": "1m0s"} {
		look := durationOf(t, took)
		ended := noon.Add(look)
		if got := restAfter(noon, ended).Sub(ended); got != durationOf(t, want) {
			t.Errorf("after %s it rests %s, want %s", took, got, want)
		}
	}
}

func durationOf(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
