package lab

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fakeVariable makes the test program stand in for Sallyport: it takes the same
// arguments, refuses what is about a pod or a user named "refused" at both doors,
// and has no opinion on everything else.
const fakeVariable = "SALLYPORT_LAB_TEST_FAKE"

func serveFake() error {
	flags := flag.NewFlagSet("fake", flag.ContinueOnError)
	address := flags.String("addr", "", "")
	cert := flags.String("tls-cert-file", "", "")
	key := flags.String("tls-private-key-file", "", "")
	callers := flags.String("client-ca-file", "", "")
	_ = flags.String("kubeconfig", "", "")
	_ = flags.String("shutdown-delay", "", "")
	if err := flags.Parse(os.Args[2:]); err != nil {
		return err
	}
	pem, err := os.ReadFile(*callers)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /authorize", answer(func(review *authorizationv1.SubjectAccessReview) {
		if named(review.Spec.User) || review.Spec.ResourceAttributes != nil && named(review.Spec.ResourceAttributes.Name) {
			review.Status = authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "refused at the side door"}
		}
		attributes, _ := json.Marshal(review.Spec)
		fmt.Printf("asked %s\n", attributes)
	}))
	mux.HandleFunc("POST /validate", answer(func(review *admissionv1.AdmissionReview) {
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if named(review.Request.Name) || named(review.Request.UserInfo.Username) {
			review.Response.Allowed = false
			review.Response.Result = &metav1.Status{Message: "refused at the front door"}
		}
		fmt.Printf("asked %s %s/%s\n", review.Request.Operation, review.Request.Resource.Resource, review.Request.SubResource)
	}))
	mux.HandleFunc("POST /mutate", answer(func(review *admissionv1.AdmissionReview) {
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	}))
	server := &http.Server{
		Addr: *address, Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert},
	}
	return server.ListenAndServeTLS(*cert, *key)
}

func named(name string) bool { return name == "refused" }

// answer decodes a review, has it answered and sends it back.
func answer[T any](fill func(*T)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		review := new(T)
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, review)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fill(review)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}
}
