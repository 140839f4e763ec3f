package e2e

import (
	"encoding/json"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// question is a review, what is answered while the API server can be asked, and
// what is answered while it cannot.
type question struct {
	name, path string
	// limit is how long the API server would wait for the answer.
	limit time.Duration
	// review makes the review; the id becomes the uid of its user.
	review           func(id string) any
	ordinary, failed outcome
}

// outcome is what an answer has to be.
type outcome struct {
	allowed bool
	// says stands in the answer, and logged in its audit event.
	says, logged string
}

const (
	failClosed = "failMode closed denies what cannot be judged"
	failOpen   = "failMode open lets the request through"
)

// faultQuestions ask at both doors about a pod that is let in and one that is
// not, and whether somebody may set a label that exempts, each under a policy
// that fails closed (namespace strict) and one that fails open (lenient).
func faultQuestions() []question {
	// What config/wiring gives the authorizer and the webhook, and less.
	const accessLimit, admissionLimit, shortLimit = 3 * time.Second, 5 * time.Second, 2 * time.Second
	var questions []question
	for _, namespace := range []string{"strict", "lenient"} {
		failed, failedAtAdmission := outcome{says: failClosed, logged: failClosed}, outcome{says: failClosed, logged: failClosed}
		if namespace == "lenient" {
			failed = outcome{allowed: true, logged: failOpen}
			failedAtAdmission = outcome{allowed: true, says: "=error", logged: failOpen}
		}
		for _, pod := range []string{"risky", "web"} {
			limit, ordinary, ordinaryAtAdmission := shortLimit, outcome{allowed: true}, outcome{allowed: true, says: "=pass"}
			if pod == "risky" {
				limit, ordinary = admissionLimit, outcome{says: "risky is too risky", logged: "too risky"}
				ordinaryAtAdmission = ordinary
			}
			questions = append(questions,
				question{
					name: "access to " + namespace + "/" + pod, path: "/authorize", limit: accessLimit,
					review:   func(id string) any { return accessReview(id, namespace, pod) },
					ordinary: ordinary, failed: failed,
				},
				question{
					name: "connecting to " + namespace + "/" + pod, path: "/validate?timeout=" + limit.String(), limit: limit,
					review:   func(id string) any { return connectReview(id, namespace, pod) },
					ordinary: ordinaryAtAdmission, failed: failedAtAdmission,
				})
		}
		questions = append(questions, question{
			name: "label for " + namespace, path: "/validate?timeout=" + admissionLimit.String(), limit: admissionLimit,
			review:   func(id string) any { return labelReview(id, namespace) },
			ordinary: outcome{says: "may not set them", logged: "may not set them"}, failed: failedAtAdmission,
		})
	}
	return questions
}

func accessReview(id, namespace, pod string) any {
	return authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{User: alice, UID: id, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "create", Version: "v1", Resource: "pods", Subresource: "exec", Namespace: namespace, Name: pod,
		}},
	}
}

func connectReview(id, namespace, pod string) any {
	return podReview(id, admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind{Version: "v1", Kind: "PodExecOptions"}, SubResource: "exec",
		Namespace: namespace, Name: pod, Operation: admissionv1.Connect,
		Object: asRaw(corev1.PodExecOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodExecOptions"}, Container: "app"}),
	})
}

// labelReview sets the label that exempts from the policy of a namespace.
func labelReview(id, namespace string) any {
	pod := corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example.com/web:1"}}},
	}
	old := asRaw(pod)
	pod.Labels = map[string]string{"exempt-" + namespace: "yes"}
	return podReview(id, admissionv1.AdmissionRequest{
		Kind:      metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Namespace: namespace, Name: pod.Name, Operation: admissionv1.Update, Object: asRaw(pod), OldObject: old,
	})
}

func podReview(id string, request admissionv1.AdmissionRequest) any {
	request.UID = types.UID(id)
	request.UserInfo = authenticationv1.UserInfo{Username: alice, UID: id}
	request.Resource = metav1.GroupVersionResource{Version: "v1", Resource: "pods"}
	return admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &request,
	}
}

func asRaw(object any) runtime.RawExtension {
	// Built-in kinds always marshal.
	raw, _ := json.Marshal(object)
	return runtime.RawExtension{Raw: raw}
}

// readAnswer reads what both doors answer with: whether the request goes on, and
// what is said about it.
func readAnswer(path string, body []byte) (allowed bool, says string, err error) {
	if strings.HasPrefix(path, "/authorize") {
		var review authorizationv1.SubjectAccessReview
		err = json.Unmarshal(body, &review)
		return !review.Status.Denied, review.Status.Reason, err
	}
	review := admissionv1.AdmissionReview{Response: &admissionv1.AdmissionResponse{}}
	err = json.Unmarshal(body, &review)
	if review.Response.Result != nil {
		says = review.Response.Result.Message
	}
	return review.Response.Allowed, says + " " + review.Response.AuditAnnotations["policies"], err
}
