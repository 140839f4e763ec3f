package contract

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	admissionv1 "k8s.io/api/admission/v1"
)

// TestHTTPProtocol covers methods, paths and content types.
func TestHTTPProtocol(t *testing.T) {
	t.Parallel()
	s := guarded(t, "--cluster-name", "prod-eu")
	review, access := createPod(t, newPod("shop", "new")), enterPod(t, "create", "shop", "safe", "exec")
	tests := []struct {
		name, method, path, contentType, body string
		code                                  int
	}{
		{"JSON", "POST", "/validate", "application/json", review, 200},
		{"JSON with a charset", "POST", "/validate", "application/json; charset=utf-8", review, 200},
		{"JSON with a quoted charset", "POST", "/validate", `application/json;charset="UTF-8"`, review, 200},
		{"JSON in upper case", "POST", "/validate", "Application/JSON", review, 200},
		{"access: JSON with a charset", "POST", "/authorize", "application/json; charset=utf-8", access, 200},
		{"for a cluster", "POST", "/validate/prod-eu", "application/json", review, 200},
		{"access for a cluster", "POST", "/authorize/prod-eu", "application/json", access, 200},
		{"a query, as the API server appends it", "POST", "/validate?timeout=10s", "application/json", review, 200},
		{"access with a query", "POST", "/authorize?timeout=10s", "application/json", access, 200},

		{"text", "POST", "/validate", "text/plain", review, 415},
		{"YAML", "POST", "/validate", "application/yaml", review, 415},
		{"protobuf", "POST", "/validate", "application/vnd.kubernetes.protobuf", review, 415},
		{"a form", "POST", "/validate", "application/x-www-form-urlencoded", review, 415},
		{"a longer type", "POST", "/validate", "application/json-patch+json", review, 415},
		{"access: text", "POST", "/authorize", "text/plain", access, 415},

		{"GET", "GET", "/validate", "", "", 405},
		{"PUT", "PUT", "/validate", "application/json", review, 405},
		{"DELETE", "DELETE", "/validate", "", "", 405},
		{"access: GET", "GET", "/authorize", "", "", 405},
		{"access: PATCH", "PATCH", "/authorize", "application/json", access, 405},
		{"for a cluster: GET", "GET", "/validate/prod-eu", "", "", 405},

		{"unknown path", "POST", "/validates", "application/json", review, 404},
		{"too long a path", "POST", "/validate/prod/eu", "application/json", review, 404},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if r := s.request(t, tt.method, tt.path, tt.contentType, tt.body); r.code != tt.code {
				t.Errorf("status %d, want %d\n%s", r.code, tt.code, clip(r.body))
			}
		})
	}
}

// TestHTTPBodyLimit says that everything that the API server can send fits,
// and that what is far beyond it is not read.
func TestHTTPBodyLimit(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	configMap := func(bytes int) string {
		object := corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "large"}, Data: map[string]string{"a": strings.Repeat("x", bytes)}}
		raw := runtime.RawExtension{Raw: []byte(text(t, object))}
		return admissionReview(t, admissionv1.AdmissionRequest{
			Kind: metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			Namespace: "shop", Name: "large", Operation: admissionv1.Update, Object: raw, OldObject: raw})
	}
	// etcd takes objects of up to 1.5 MiB, and an update holds two of them.
	wantAdmitted(t, s.admit(t, "/validate", configMap(3<<19)))

	// The server may answer and close before it has read everything, so that
	// the client sees either the answer or a broken connection: ask again.
	huge := configMap(64 << 20)
	for _, path := range []string{"/validate", "/authorize"} {
		eventually(t, "413 for a huge body at "+path, func() bool {
			resp, err := s.client.Post(s.url+path, "application/json", strings.NewReader(huge))
			if err != nil {
				return false
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusRequestEntityTooLarge {
				t.Fatalf("status %d of a body of 128 MiB at %s, want 413", resp.StatusCode, path)
			}
			return true
		})
	}
	wantAdmitted(t, s.admit(t, "/validate", configMap(10)))
}

// TestHTTPHealth covers the paths that machines watch.
func TestHTTPHealth(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		s.get(t, path)
	}
}
