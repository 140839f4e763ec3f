package contract

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// guarded starts a server with one policy for each door and a pod that both
// find fault with.
func guarded(t *testing.T, flags ...string) *server {
	t.Helper()
	return serve(t, files(t, map[string]string{
		"admission.yaml": podSecurityPolicy("standard", "Enforce", "{level: baseline}"),
		"access.yaml":    denyPolicy("guard", "{blockFactors: [hostPID, privilegedContainer]}"),
		"pods.yaml":      documents(t, newPod("shop", "risky", hostPID), newPod("shop", "safe")),
	}), flags...)
}

// TestHTTPMalformed sends what no API server sends. Each gets an answer of one
// sentence, and the server goes on.
func TestHTTPMalformed(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	review, access := createPod(t, newPod("shop", "new")), enterPod(t, "create", "shop", "safe", "exec")
	nested := strings.Repeat("[", 20000)
	objects := strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000)
	spec := func(text string) string {
		return `{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {` + text + `}}`
	}
	const resource, path = `"resourceAttributes": {"verb": "get", "resource": "pods", "version": "v1"}`, `"nonResourceAttributes": {"verb": "get", "path": "/metrics"}`
	tests := []struct{ name, path, body string }{
		{"nothing", "/validate", ""},
		{"blanks", "/validate", "  \n"},
		{"null", "/validate", "null"},
		{"not JSON", "/validate", "kind: AdmissionReview"},
		{"a number", "/validate", "5"},
		{"a list", "/validate", "[" + review + "]"},
		{"empty object", "/validate", "{}"},
		{"truncated", "/validate", review[:len(review)/2]},
		{"no request", "/validate", `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}`},
		{"null request", "/validate", `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": null}`},
		{"request is text", "/validate", `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": "please"}`},
		{"request in another case", "/validate", strings.Replace(review, `"request":`, `"Request":`, 1)},
		{"wrong kind", "/validate", strings.Replace(review, `"kind":"AdmissionReview"`, `"kind":"AdmissionReviews"`, 1)},
		{"kind in another case", "/validate", strings.Replace(review, `"kind":"AdmissionReview"`, `"kind":"admissionreview"`, 1)},
		{"no kind", "/validate", strings.Replace(review, `"kind":"AdmissionReview",`, ``, 1)},
		{"wrong apiVersion", "/validate", strings.Replace(review, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1)},
		{"no apiVersion", "/validate", strings.Replace(review, `"apiVersion":"admission.k8s.io/v1",`, ``, 1)},
		{"the other door's kind", "/validate", access},
		{"trailing data", "/validate", review + "x"},
		{"two reviews", "/validate", review + review},
		{"duplicate request", "/validate", strings.Replace(review, `"request":`, `"request": {}, "request":`, 1)},
		{"duplicate uid", "/validate", strings.Replace(review, `"uid":`, `"uid": "x", "uid":`, 1)},
		{"nested lists", "/validate", nested},
		{"nested lists, closed", "/validate", nested + strings.Repeat("]", 20000)},
		{"nested objects", "/validate", objects},
		{"nested lists for a request", "/validate", `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": ` + nested},
		{"uid is a number", "/validate", strings.Replace(review, `"uid":"`+reviewUID+`"`, `"uid":5`, 1)},
		{"for a cluster as well", "/validate/prod-eu", "null"},

		{"nothing", "/authorize", ""},
		{"null", "/authorize", "null"},
		{"not JSON", "/authorize", "kind: SubjectAccessReview"},
		{"empty object", "/authorize", "{}"},
		{"wrong kind", "/authorize", strings.Replace(access, `"SubjectAccessReview"`, `"SelfSubjectAccessReview"`, 1)},
		{"wrong apiVersion", "/authorize", strings.Replace(access, "authorization.k8s.io/v1", "authorization.k8s.io/v2", 1)},
		{"the other door's kind", "/authorize", review},
		{"trailing data", "/authorize", access + "x"},
		{"duplicate user", "/authorize", strings.Replace(access, `"user":`, `"user": "bob", "user":`, 1)},
		{"duplicate spec", "/authorize", strings.Replace(access, `"spec":`, `"spec": {}, "spec":`, 1)},
		{"both kinds of attributes", "/authorize", spec(`"user": "alice", ` + resource + ", " + path)},
		{"neither kind of attributes", "/authorize", spec(`"user": "alice"`)},
		{"attributes in another case", "/authorize", spec(`"user": "alice", "ResourceAttributes": {"verb": "get", "resource": "pods"}`)},
		{"no user", "/authorize", spec(resource)},
		{"empty user", "/authorize", spec(`"user": "", ` + resource)},
		{"empty user with groups", "/authorize", spec(`"user": "", "groups": ["system:masters"], ` + resource)},
		{"user in another case", "/authorize", spec(`"User": "alice", ` + resource)},
		{"nested lists", "/authorize", nested},
		{"for a cluster as well", "/authorize/prod-eu", "null"},
	}
	for _, tt := range tests {
		t.Run(tt.path[1:]+"/"+tt.name, func(t *testing.T) {
			r := s.post(t, tt.path, tt.body)
			if r.code != http.StatusBadRequest {
				t.Errorf("status %d, want 400\n%s", r.code, clip(r.body))
			}
			if body := strings.TrimSpace(r.body); body == "" || strings.Contains(body, "\n") || len(body) > 1000 {
				t.Errorf("the answer is not one sentence: %q", clip(body))
			}
		})
	}
	wantAdmitted(t, s.admit(t, "/validate", review))
	wantNoOpinion(t, s.authorize(t, "/authorize", access))
}

// TestHTTPConnectToNothing sends a CONNECT that does not say what it enters. It is
// refused, in a review: an HTTP status would leave it to the failurePolicy.
func TestHTTPConnectToNothing(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	connect := func(resource, subresource, name, kind string) string {
		return `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "` + reviewUID + `", "operation": "CONNECT", "namespace": "shop", "name": "` + name +
			`", "kind": {"version": "v1", "kind": "` + kind + `"}, "resource": {"version": "v1", "resource": "` + resource + `"}, "subResource": "` + subresource +
			`", "userInfo": {"username": "alice"}, "object": {"apiVersion": "v1", "kind": "` + kind + `"}}}`
	}
	tests := []struct{ name, body, says string }{
		{"exec", connect("pods", "exec", "", "PodExecOptions"), "name"},
		{"attach", connect("pods", "attach", "", "PodAttachOptions"), "name"},
		{"port-forward", connect("pods", "portforward", "", "PodPortForwardOptions"), "name"},
		{"proxy", connect("pods", "proxy", "", "PodProxyOptions"), "name"},
		{"a node", connect("nodes", "proxy", "", "NodeProxyOptions"), "name"},
		{"no subresource", connect("pods", "", "risky", "PodExecOptions"), "subResource"},
		{"an unknown subresource", connect("pods", "shell", "risky", "PodExecOptions"), "pods/shell"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantRefused(t, s.admit(t, "/validate", tt.body), tt.says)
		})
	}
	wantRefused(t, s.admit(t, "/validate", connect("pods", "exec", "risky", "PodExecOptions")), "guard", "hostPID")
	wantAdmitted(t, s.admit(t, "/validate", connect("pods", "exec", "safe", "PodExecOptions")))
}

// TestHTTPMalformedObjects sends well-formed reviews of objects that are not. Each is
// refused in a review, as a requester has a hand in what stands there.
func TestHTTPMalformedObjects(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	review := createPod(t, newPod("shop", "new"))
	tests := []struct{ name, from, to string }{
		{"duplicate field in the pod", `"spec":{`, `"spec":{"hostPID":true,"hostPID":false,`},
		{"duplicate spec in the pod", `"object":{`, `"object":{"spec":{"hostPID":true},`},
		{"hostPID is text", `"spec":{`, `"spec":{"hostPID":"true",`},
		{"containers is a map", `"containers":[`, `"initContainers":{"a":1},"containers":[`},
		{"object is text", `"object":{`, `"object":"pod","x":{`},
		{"object is nested lists", `"object":{`, `"object":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `,"x":{`},
		{"labels are numbers", `"metadata":{"name":"new"`, `"metadata":{"labels":{"a":5},"name":"new"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := strings.Replace(review, tt.from, tt.to, 1)
			if body == review {
				t.Fatalf("%q is not in %s", tt.from, review)
			}
			r := s.post(t, "/validate", body)
			var answer struct {
				Response struct {
					UID     string `json:"uid"`
					Allowed bool   `json:"allowed"`
				} `json:"response"`
			}
			switch {
			case r.code != http.StatusOK:
				t.Errorf("status %d, want an answer\n%s", r.code, clip(r.body))
			case json.Unmarshal([]byte(r.body), &answer) != nil || answer.Response.Allowed || answer.Response.UID != reviewUID:
				t.Errorf("the answer is not a denial: %s", clip(r.body))
			}
		})
	}
}

// TestHTTPCaseOfKeys says that a key in another case is another field, as it
// is for the API server.
func TestHTTPCaseOfKeys(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	review := createPod(t, newPod("shop", "new"))
	inCase := func(from, to string) string { return strings.Replace(review, from, to, 1) }
	wantAdmitted(t, s.admit(t, "/validate", inCase(`"securityContext":{`, `"securityContext":{"Privileged":true,`)))
	wantAdmitted(t, s.admit(t, "/validate", inCase(`"spec":{`, `"spec":{"hostpid":true,`)))
	wantRefused(t, s.admit(t, "/validate", inCase(`"spec":{`, `"spec":{"hostPID":true,`)), "hostPID")
	wantRefused(t, s.admit(t, "/validate", inCase(`"spec":{`, `"spec":{"hostPID":true,"hostpid":false,"HostPID":false,`)), "hostPID")
	wantRefused(t, s.admit(t, "/validate", inCase(`"securityContext":{`, `"securityContext":{"privileged":true,"Privileged":false,`)), "privileged")
	wantAdmitted(t, s.admit(t, "/validate", inCase(`"spec":{`, `"spec":{"aFieldOfTheFuture":{"a":[1]},`)))
}

// TestHTTPNonResource says that paths are not ours to judge.
func TestHTTPNonResource(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	var review authorizationv1.SubjectAccessReview
	if err := json.Unmarshal([]byte(enterPod(t, "get", "shop", "risky", "exec")), &review); err != nil {
		t.Fatal(err)
	}
	review.Spec.ResourceAttributes = nil
	review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/metrics"}
	wantNoOpinion(t, s.authorize(t, "/authorize", text(t, review)))
}
