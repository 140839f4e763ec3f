package clusters

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/watch/follow/ours"
)

// discovered is what an API server answers that has ClusterConfigs.
var discovered = map[string]string{
	"/api":  `{"kind":"APIVersions","versions":[]}`,
	"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"sallyport.io","versions":[{"groupVersion":"sallyport.io/v1alpha1","version":"v1alpha1"}]}]}`,
	"/apis/sallyport.io/v1alpha1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"sallyport.io/v1alpha1","resources":[` +
		`{"name":"clusterconfigs","kind":"ClusterConfig","namespaced":false,"verbs":["get","patch"]}]}`,
}

// TestOnlyWhoLeadsWrites statuses, also of those that it began to write when it led.
func TestOnlyWhoLeadsWrites(t *testing.T) {
	var written []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method != http.MethodGet {
			written = append(written, r.Method+" "+r.URL.Path)
			fmt.Fprint(w, `{"apiVersion":"sallyport.io/v1alpha1","kind":"ClusterConfig","metadata":{"name":"east"}}`)
			return
		}
		fmt.Fprint(w, discovered[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	leads := true
	i, err := NewInformer(&rest.Config{Host: server.URL}, NewHub(Options{Own: "hub", Clock: clock.RealClock{}, Log: logr.Discard()}), "sallyport-system", func() bool { return leads }, ours.New(ours.Options{Clock: clock.RealClock{}, Log: logr.Discard()}))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "sallyport.io/v1alpha1", "kind": "ClusterConfig", "metadata": map[string]any{"name": "east"}}}
	for _, leads = range []bool{true, false} {
		written = nil
		err := i.client.Status().Patch(t.Context(), object.DeepCopy(), client.MergeFrom(object))
		if leads != (err == nil) || leads != (len(written) == 1) || err != nil && !strings.Contains(err.Error(), "another replica leads now") {
			t.Errorf("leads %v: %v, written %q", leads, err, written)
		}
	}
}
