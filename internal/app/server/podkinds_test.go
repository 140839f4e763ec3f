package server

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
)

const (
	podsPolicy = `{"apiVersion":"sallyport.io/v1alpha1","kind":"ClusterPolicy","metadata":{"name":"p"},"spec":{"rules":[{"name":"b","match":{"any":[{"resources":{"kinds":["Pod"]}}]},"validate":{"podSecurity":{"level":"baseline"}}}]}}`
	farmKinds  = `{"apiVersion":"sallyport.io/v1alpha1","kind":"PodKind","metadata":{"name":"farms"},"spec":{"group":"x.io","kinds":["Farm"],"pods":[{"path":"spec.pod"}]}}`
	farmReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","kind":{"group":"x.io","version":"v1","kind":"Farm"},"resource":{"group":"x.io","version":"v1","resource":"farms"},"namespace":"shop","name":"f","userInfo":{"username":"alice"},"object":{"apiVersion":"x.io/v1","kind":"Farm","metadata":{"name":"f","namespace":"shop"},"spec":{"pod":{"spec":{"hostPID":true,"containers":[{"name":"a","image":"a"}]}}}}}}`
)

// TestPodKindComesIntoForce asks about an object of a kind that is registered before,
// after, and while the review is read: what is judged is read by the set that judges.
func TestPodKindComesIntoForce(t *testing.T) {
	for _, when := range []string{"never", "before", "meanwhile"} {
		t.Run(when, func(t *testing.T) {
			o := options(t, &world{})
			put := func(documents ...string) {
				var sources policy.Sources
				for _, text := range documents {
					kind := "PodKind"
					if strings.Contains(text, "ClusterPolicy") {
						kind = "ClusterPolicy"
					}
					if problems := sources.Add(schema.GroupVersionKind{Group: "sallyport.io", Version: "v1alpha1", Kind: kind}, []byte(text), "file"); problems != nil {
						t.Error(problems)
					}
				}
				if problems := o.Store.Replace("test", sources); problems != nil {
					t.Error(problems)
				}
			}
			put(podsPolicy)
			find := o.Cluster
			switch when {
			case "before":
				put(podsPolicy, farmKinds)
			case "meanwhile":
				o.Cluster = func(name string) (State, error) {
					put(podsPolicy, farmKinds)
					return find(name)
				}
			}
			_, client, url := running(t, o)
			status, body := post(t, client, url+"/validate", farmReview)
			refused := when != "never"
			if status != 200 || !strings.Contains(body, fmt.Sprintf(`"allowed":%t`, !refused)) || refused && !strings.Contains(body, "spec.pod.spec.hostPID") {
				t.Errorf("%d %s", status, body)
			}
		})
	}
}
