package clustertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Answer makes the server answer as an API server does. It does so from the
// start.
func (s *Server) Answer() {
	s.t.Helper()
	s.become(s.store.answer)
}

// Refuse makes the server refuse connections, and closes those that are open.
func (s *Server) Refuse() {
	s.mu.Lock()
	serving := s.serving
	s.serving = nil
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	if serving != nil {
		_ = serving.Close()
	}
}

// Forget makes the server answer watches from before now that they are too old, as an API
// server does that has just started.
func (s *Server) Forget() {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.forgotten = len(s.store.events)
}

// Hang makes the server take requests and never answer.
func (s *Server) Hang() {
	s.t.Helper()
	s.become(func(_ http.ResponseWriter, r *http.Request) {
		s.waitForChange(r)
		panic(http.ErrAbortHandler)
	})
}

// Drop makes the server close the connection before the first byte of an
// answer.
func (s *Server) Drop() {
	s.t.Helper()
	s.become(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

// Cut makes the server close the connection in the middle of an answer.
func (s *Server) Cut() {
	s.t.Helper()
	s.become(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":`))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
}

// Status makes the server answer with an error of the API. If retryAfter is
// above zero, it asks the client to come back after as many seconds.
func (s *Server) Status(code, retryAfter int) {
	s.t.Helper()
	s.become(func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		}
		writeStatus(w, code, fmt.Sprintf("the server was told to answer %d", code), &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfter)})
	})
}

// Raw makes the server answer with a body of its own, whatever is asked.
func (s *Server) Raw(code int, contentType, body string) {
	s.t.Helper()
	s.become(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	})
}

// reasons are the API's words for codes.
var reasons = map[int]metav1.StatusReason{
	http.StatusUnauthorized:        metav1.StatusReasonUnauthorized,
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusNotFound:            metav1.StatusReasonNotFound,
	http.StatusGone:                metav1.StatusReasonExpired,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
}

func writeStatus(w http.ResponseWriter, code int, message string, details *metav1.StatusDetails) {
	writeJSON(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reasons[code], Message: message, Details: details,
	})
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}
