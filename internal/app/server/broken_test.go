package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// TestBrokenAtBothDoors has a DenyPolicy whose spec cannot be read beside a policy
// that works.
func TestBrokenAtBothDoors(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": "later"}}
	object.SetKind(stored.KindDenyPolicy)
	object.SetName("from-later")
	wrong := stored.Problems{{Kind: stored.KindDenyPolicy, Name: "from-later", Path: "spec", Detail: "found a string"}}
	o := options(t, &world{})
	o.InsecureHTTP = true
	o.Store.Merge(policy.Sources{Broken: []*stored.Broken{stored.NewBroken(object, wrong)}})
	_, client, url := running(t, o)
	const why = "DenyPolicy from-later, rule policy-works, cannot be judged: it cannot work as it is stored: spec: found a string; what it is about is refused until it is corrected or deleted. Next: have DenyPolicy from-later corrected or deleted by those who may write it; its status says what is wrong."
	if code, body := post(t, client, url+"/authorize", sar); code != http.StatusOK || !strings.Contains(body, `"denied":true`) || !strings.Contains(body, why) {
		t.Errorf("/authorize: %d %s", code, body)
	}
	review := func(resource, subresource string) string {
		raw, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": map[string]any{
			"uid": "1", "operation": "CONNECT", "namespace": "shop", "name": "web", "userInfo": map[string]any{"username": "alice"},
			"kind": map[string]any{"group": "", "version": "v1", "kind": "PodExecOptions"}, "resource": map[string]any{"group": "", "version": "v1", "resource": resource}, "subResource": subresource,
			"object": map[string]any{"apiVersion": "v1", "kind": "PodExecOptions", "command": []string{"sh"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if code, body := post(t, client, url+"/validate", review("pods", "exec")); code != http.StatusOK || !strings.Contains(body, `"allowed":false`) || !strings.Contains(body, why) || !strings.Contains(body, "DenyPolicy/from-later/policy-works=error") {
		t.Errorf("/validate: %d %s", code, body)
	}
	response, err := client.Get(url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	if code, body := read(t, response); code != http.StatusOK || !strings.Contains(body, "broken: DenyPolicy from-later cannot work: spec: found a string; until it is corrected or deleted, this is refused: every way into a pod") {
		t.Errorf("/readyz: %d %s", code, body)
	}
	o.Store.Merge(policy.Sources{})
	if _, body := post(t, client, url+"/authorize", sar); strings.Contains(body, "denied") {
		t.Errorf("after it was deleted: %s", body)
	}
}

// TestManyBroken names so many of the broken objects, and counts the others.
func TestManyBroken(t *testing.T) {
	o := options(t, &world{})
	var sources policy.Sources
	for i := range mostBroken + 3 {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": "later"}}
		object.SetKind(stored.KindDenyPolicy)
		object.SetName(fmt.Sprint("from-later-", i))
		sources.Broken = append(sources.Broken, stored.NewBroken(object, stored.Problems{{Kind: stored.KindDenyPolicy, Name: object.GetName(), Path: "spec", Detail: "found a string"}}))
	}
	o.Store.Merge(sources)
	_, client, url := running(t, o)
	response, err := client.Get(url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	_, body := read(t, response)
	if n := strings.Count(body, "cannot work"); n != mostBroken || !strings.Contains(body, "broken: ... and 3 more\n") || strings.Count(body, "more\n") != 1 {
		t.Errorf("%d are named: %s", n, body)
	}
}
