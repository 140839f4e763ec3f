package contract

import (
	"encoding/json"
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

const reviewUID = "0a1b2c3d-0000-4000-8000-123456789abc"

var podResource = metav1.GroupVersionResource{Version: "v1", Resource: "pods"}

// text returns v as JSON.
func text(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// admissionReview wraps a request as the API server does.
func admissionReview(t *testing.T, request admissionv1.AdmissionRequest) string {
	t.Helper()
	if request.UID == "" {
		request.UID = types.UID(reviewUID)
	}
	if request.UserInfo.Username == "" {
		request.UserInfo = authenticationv1.UserInfo{Username: "alice@example.com", Groups: []string{"developers", "system:authenticated"}}
	}
	request.RequestKind, request.RequestResource, request.RequestSubResource = &request.Kind, &request.Resource, request.SubResource
	return text(t, admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &request})
}

// createPod is the creation of a pod.
func createPod(t *testing.T, pod *corePod) string {
	t.Helper()
	return admissionReview(t, admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: podResource,
		Namespace: pod.Namespace, Name: pod.Name, Operation: admissionv1.Create,
		Object: runtime.RawExtension{Raw: []byte(text(t, pod))},
	})
}

// updatePod is a change of a pod, by way of a subresource if one is given.
func updatePod(t *testing.T, subresource string, old, now *corePod) string {
	t.Helper()
	return admissionReview(t, admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: podResource, SubResource: subresource,
		Namespace: now.Namespace, Name: now.Name, Operation: admissionv1.Update,
		Object:    runtime.RawExtension{Raw: []byte(text(t, now))},
		OldObject: runtime.RawExtension{Raw: []byte(text(t, old))},
	})
}

// connectKinds are the kinds of options by subresource.
var connectKinds = map[string]string{
	"exec": "PodExecOptions", "attach": "PodAttachOptions", "portforward": "PodPortForwardOptions", "proxy": "PodProxyOptions",
}

// connectPod is an access to a pod as admission sees it. Options are fields of
// the object beside its kind.
func connectPod(t *testing.T, namespace, name, subresource string, options map[string]any) string {
	t.Helper()
	object := map[string]any{"kind": connectKinds[subresource], "apiVersion": "v1"}
	for k, v := range options {
		object[k] = v
	}
	return admissionReview(t, admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind{Version: "v1", Kind: connectKinds[subresource]}, Resource: podResource, SubResource: subresource,
		Namespace: namespace, Name: name, Operation: admissionv1.Connect,
		Object: runtime.RawExtension{Raw: []byte(text(t, object))},
	})
}

// accessReview is a SubjectAccessReview of alice.
func accessReview(t *testing.T, attributes authorizationv1.ResourceAttributes) string {
	t.Helper()
	return text(t, authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "alice@example.com", UID: "u-alice", Groups: []string{"developers", "system:authenticated"}, ResourceAttributes: &attributes},
	})
}

// enterPod is an access to a pod as an authorizer sees it.
func enterPod(t *testing.T, verb, namespace, name, subresource string) string {
	t.Helper()
	return accessReview(t, authorizationv1.ResourceAttributes{
		Verb: verb, Version: "v1", Resource: "pods", Subresource: subresource, Namespace: namespace, Name: name})
}

// admit posts an AdmissionReview and returns the response in the answer, which
// must be a whole one.
func (s *server) admit(t *testing.T, path, review string) *admissionv1.AdmissionResponse {
	t.Helper()
	r := s.post(t, path, review)
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal([]byte(r.body), &answer); r.code != http.StatusOK || err != nil || answer.Response == nil {
		t.Fatalf("status %d, %v, and no response in:\n%s", r.code, err, clip(r.body))
	}
	if answer.Kind != "AdmissionReview" || answer.APIVersion != "admission.k8s.io/v1" {
		t.Errorf("the answer is a %s of %s", answer.Kind, answer.APIVersion)
	}
	return answer.Response
}

// authorize posts a SubjectAccessReview and returns the status in the answer.
func (s *server) authorize(t *testing.T, path, review string) authorizationv1.SubjectAccessReviewStatus {
	t.Helper()
	r := s.post(t, path, review)
	var answer authorizationv1.SubjectAccessReview
	if err := json.Unmarshal([]byte(r.body), &answer); r.code != http.StatusOK || err != nil {
		t.Fatalf("status %d, %v:\n%s", r.code, err, clip(r.body))
	}
	if answer.Kind != "SubjectAccessReview" || answer.APIVersion != "authorization.k8s.io/v1" {
		t.Errorf("the answer is a %s of %s", answer.Kind, answer.APIVersion)
	}
	return answer.Status
}

// wantDenied expects a denial with all of parts in its reason.
func wantDenied(t *testing.T, status authorizationv1.SubjectAccessReviewStatus, parts ...string) {
	t.Helper()
	if status.Allowed || !status.Denied || status.Reason == "" {
		t.Errorf("status %+v, want denied with a reason", status)
	}
	wantContains(t, status.Reason, parts...)
}

// wantNoOpinion expects the answer that leaves the decision to others.
func wantNoOpinion(t *testing.T, status authorizationv1.SubjectAccessReviewStatus) {
	t.Helper()
	if status.Allowed || status.Denied || status.EvaluationError != "" {
		t.Errorf("status %+v, want no opinion", status)
	}
}

// wantRefused expects a refused admission with all of parts in its message.
func wantRefused(t *testing.T, response *admissionv1.AdmissionResponse, parts ...string) {
	t.Helper()
	if response.Allowed || response.Result == nil || response.Result.Message == "" {
		t.Errorf("response %s, want refused with a message", text(t, response))
		return
	}
	wantContains(t, response.Result.Message, parts...)
}

func wantAdmitted(t *testing.T, response *admissionv1.AdmissionResponse) {
	t.Helper()
	if !response.Allowed {
		t.Errorf("response %s, want allowed", text(t, response))
	}
}
