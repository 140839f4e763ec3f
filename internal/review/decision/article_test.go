package decision

import "testing"

func TestA(t *testing.T) {
	for kind, want := range map[string]string{
		"Pod": "a Pod", "AdmissionReview": "an AdmissionReview", "Ingress": "an Ingress", "Endpoints": "an Endpoints", "Order": "an Order",
		"User": "a User", "HTTPRoute": "an HTTPRoute", "MPIJob": "an MPIJob", "UIPlugin": "a UIPlugin", "TCPRoute": "a TCPRoute",
		"SubjectAccessReview": "a SubjectAccessReview", "admissionreview": "an admissionreview", "": "a ", "X": "a X", "Ä": "a Ä",
	} {
		if got := A(kind); got != want {
			t.Errorf("%q: got %q, want %q", kind, got, want)
		}
	}
}
