package follow

import (
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// TestAnswersThatAreCut are about the way to the API server, and not about what was asked.
func TestAnswersThatAreCut(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"kind":"ThingList",`))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}))
		server.EnableHTTP2 = http2
		server.StartTLS()
		defer server.Close()
		client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}).List(t.Context(), metav1.ListOptions{})
		if err == nil || !momentary(err) {
			t.Errorf("HTTP/2 %t: %v", http2, err)
		}
	}
}
