package clusters

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestUnreadableConfig: whoever is bound to a cluster stays bound while its
// ClusterConfig cannot be read, and no request for it is judged.
func TestUnreadableConfig(t *testing.T) {
	for name, c := range map[string]struct {
		spec    any
		id      string
		callers []string
		open    bool
	}{
		"an unknown field":        {map[string]any{"clusterID": "a", "sort": "x", "callers": map[string]any{"commonNames": []any{"api-a"}}}, "a", []string{"api-a"}, false},
		"no callers":              {map[string]any{"clusterID": "a", "sort": "x"}, "a", nil, true},
		"callers of another type": {map[string]any{"clusterID": "a", "callers": "api-a"}, "a", []string{}, false},
		"one of the names":        {map[string]any{"callers": map[string]any{"commonNames": []any{int64(3), "api-a"}}}, "config", []string{"api-a"}, false},
		"a bad id":                {map[string]any{"clusterID": "a/b"}, "config", nil, true},
		"an id of another type":   {map[string]any{"clusterID": int64(3)}, "config", nil, true},
		"no spec":                 {nil, "config", nil, true},
		"a spec of another type":  {"later", "config", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: map[string]any{"spec": c.spec}}
			object.SetName("config")
			d := definitionIn(object, Problem{ReasonCannotWork, "spec: is wrong"})
			if d.ID != c.id || d.Unusable != "ClusterConfig config cannot work as it is stored: spec: is wrong" || (d.Callers == nil) != c.open {
				t.Fatalf("the definition is %+v", d)
			}
			h := runHub(t, clocktesting.NewFakeClock(noon))
			h.Replace(originAPI, []Definition{{ID: "b", Kubeconfig: []byte("none")}, d})
			found := h.Find(c.id)
			if found == nil || found.Unusable == "" {
				t.Fatalf("the cluster is %+v", found)
			}
			for _, caller := range c.callers {
				clusters, bound := h.BoundTo(caller)
				if diff := cmp.Diff([]string{c.id}, clusters); diff != "" || !bound {
					t.Errorf("%s is bound to (-want +got):\n%s", caller, diff)
				}
			}
		})
	}
	t.Run("beside one that works", func(t *testing.T) {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"clusterID": "a", "callers": map[string]any{"commonNames": []any{"api-a"}}}}}
		object.SetName("config")
		h := runHub(t, clocktesting.NewFakeClock(noon))
		good := Definition{ID: "a", Tenant: "t", Kubeconfig: []byte("none")}
		h.Replace(originAPI, []Definition{good, definitionIn(object, Problem{ReasonCannotWork, "x"})})
		if found := h.Find("a"); found == nil || found.Unusable != "" || found.Tenant != "t" {
			t.Errorf("the cluster is %+v", found)
		}
		if clusters, bound := h.BoundTo("api-a"); len(clusters) > 0 || !bound {
			t.Errorf("its caller is bound to %v, %v; want to nothing", clusters, bound)
		}
	})
}
