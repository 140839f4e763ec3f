package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
)

// TestConvertedRoutes judge by those policies only that name the version which was
// converted to.
func TestConvertedRoutes(t *testing.T) {
	o := options(t, &world{})
	o.Cluster = func(string) (State, error) { return State{Cluster: &world{}}, nil }
	var sources policy.Sources
	for name, kind := range map[string]string{"first": "autoscaling/v1/HorizontalPodAutoscaler", "every": "HorizontalPodAutoscaler"} {
		raw := `{"apiVersion":"sallyport.io/v1alpha1","kind":"ClusterPolicy","metadata":{"name":"` + name + `"},"spec":{"rules":[{"name":"r","match":{"any":[{"resources":{"kinds":["` + kind + `"]}}]},
			"validate":{"message":"` + name + ` refuses","cel":{"expressions":[{"expression":"false"}]}}}]}}`
		if problems := sources.Add(v1alpha1.GroupVersion.WithKind("ClusterPolicy"), []byte(raw), ""); len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	if problems := o.Store.Replace("policies", sources); len(problems) > 0 {
		t.Fatal(problems)
	}
	_, client, url := running(t, o)
	body := func(version, asked string) string {
		gvk := func(version string) string {
			return `{"group":"autoscaling","version":"` + version + `","kind":"HorizontalPodAutoscaler"}`
		}
		gvr := func(version string) string {
			return `{"group":"autoscaling","version":"` + version + `","resource":"horizontalpodautoscalers"}`
		}
		return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u1","kind":` + gvk(version) + `,"resource":` + gvr(version) + `,"requestKind":` + gvk(asked) + `,"requestResource":` + gvr(asked) + `,
			"name":"web","namespace":"shop","operation":"CREATE","userInfo":{"username":"alice"},"object":{"apiVersion":"autoscaling/` + version + `","kind":"HorizontalPodAutoscaler","metadata":{"name":"web","namespace":"shop"}}}}`
	}
	for _, c := range []struct {
		name, path, body string
		want, not        string
	}{
		{"as it is written", "/validate", body("v2", "v2"), "every refuses", "first refuses"},
		{"converted, at the path for everything", "/validate", body("v1", "v2"), "first refuses", ""},
		{"converted", "/converted/validate", body("v1", "v2"), "first refuses", "every refuses"},
		{"converted, for a cluster", "/converted/validate/here", body("v1", "v2"), "first refuses", "every refuses"},
		{"converted, by a webhook that ignores", "/ignore/converted/validate", body("v1", "v2"), "first refuses", "every refuses"},
		{"to what nobody names", "/converted/validate", body("v2", "v1"), "", "refuses"},
		{"written by the version that is named", "/converted/validate", body("v1", "v1"), "", "refuses"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, answer := post(t, client, url+c.path, c.body)
			if status != http.StatusOK || !strings.Contains(answer, c.want) || c.not != "" && strings.Contains(answer, c.not) || strings.Contains(answer, `"allowed":true`) != (c.want == "") {
				t.Errorf("%d %s", status, answer)
			}
		})
	}
	for _, path := range []string{"/converted/mutate", "/converted/authorize", "/converted", "/converted/ignore/validate"} {
		if status, answer := post(t, client, url+path, body("v1", "v2")); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
}
