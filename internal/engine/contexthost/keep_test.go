package contexthost_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
)

// apiServer serves namespaces, and nodes once they are there.
type apiServer struct {
	mu    sync.Mutex
	nodes bool
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	nodes := s.nodes
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	answer := func(code int, v any) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(v)
	}
	query := r.URL.Query()
	switch {
	case r.URL.Path == "/api":
		answer(http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		answer(http.StatusOK, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
	case r.URL.Path == "/api/v1":
		list := metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "namespaces", SingularName: "namespace", Kind: "Namespace"}}}
		if nodes {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: "nodes", SingularName: "node", Kind: "Node"})
		}
		answer(http.StatusOK, list)
	case query.Get("sendInitialEvents") != "":
		answer(http.StatusUnprocessableEntity, metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity})
	case query.Get("watch") != "":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		_, _ = w.Write([]byte(`{"metadata":{"resourceVersion":"1"},"items":[]}`))
	}
}

// TestKeep makes sure that what several owners have in force is watched once each,
// as soon as it is served, and no longer than one lists it.
func TestKeep(t *testing.T) {
	t.Parallel()
	api := &apiServer{}
	server := httptest.NewServer(api)
	defer server.Close()
	clock := clocktesting.NewFakeClock(begun)
	host, err := contexthost.NewForCluster(&rest.Config{Host: server.URL}, contexthost.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 100)
	host.OnState(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- host.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	// Time passes as long as something else is watched.
	await := func(want ...string) {
		t.Helper()
		deadline := time.After(20 * time.Second)
		for {
			var watched []string
			for _, s := range host.Objects.Status() {
				watched = append(watched, s.Resource.String())
			}
			if cmp.Equal(want, watched) {
				return
			}
			select {
			case <-deadline:
				t.Fatalf("watched are %v, want %v", watched, want)
			case <-time.After(5 * time.Millisecond):
				clock.Step(time.Second)
			}
		}
	}
	both, err := contextgate.NewPolicy(contextgate.ClusterPolicy, "", "both", []contextgate.Grant{{Version: "v1", Resource: "namespaces"}, {Version: "v1", Kind: "Node"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	host.Keep("rules", []*contextgate.Policy{both})
	await("namespaces")
	var said string
	for _, c := range host.Conditions(both, nil, 1, begun) {
		said += c.Type + "=" + string(c.Status) + " " + c.Message + "\n"
	}
	if !strings.Contains(said, "ContextReady=False contextAware[1], Node: the cluster serves no Node of v1") {
		t.Errorf("conditions:\n%s", said)
	}
	host.Keep("modules", []*contextgate.Policy{policyNamed(t, "one")})
	api.mu.Lock()
	api.nodes = true
	api.mu.Unlock()
	await("namespaces", "nodes")
	host.Keep("rules", nil)
	await("namespaces")
	host.Keep("modules", nil)
	await()
	if len(changed) == 0 {
		t.Error("nobody was told of a change")
	}
}
