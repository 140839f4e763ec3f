package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

// TestModulesGetTheReview compares what a module gets with the review: every field of
// it, and nothing that is null, which typed SDKs refuse.
func TestModulesGetTheReview(t *testing.T) {
	module := wasmtest.File(t, wasmtest.Strict(t))
	document := func(name, settings string) string {
		return `
apiVersion: sallyport.io/v1alpha1
kind: ClusterAdmissionPolicy
metadata: {name: ` + name + `}
spec:
  module: file://` + module + `
  settings: {` + settings + `}
  rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*", "*/*"], operations: ["*"]}]
`
	}
	_, client, url := running(t, withModules(t, document("strict", "show: true")))
	_, quietClient, quietURL := running(t, withModules(t, document("strict", "")))
	const (
		pods   = `"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"requestKind":{"group":"","version":"v1","kind":"Pod"},"requestResource":{"group":"","version":"v1","resource":"pods"},"name":"web","namespace":"shop"`
		object = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","creationTimestamp":null},"spec":{"containers":[{"name":"a","image":"a"}]}}`
		alice  = `"userInfo":{"username":"alice","uid":"7","groups":["dev"],"extra":{"scopes":["a","b"]}}`
	)
	for name, request := range map[string]string{
		"a creation":        pods + `,"operation":"CREATE","object":` + object + `,"oldObject":null,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"kubectl","fieldValidation":"Strict"},` + alice,
		"a dry run":         pods + `,"operation":"CREATE","object":` + object + `,"oldObject":null,"dryRun":true,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","dryRun":["All"]},` + alice,
		"an update":         pods + `,"operation":"UPDATE","object":` + object + `,"oldObject":` + object + `,"dryRun":false,"options":{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1"},"userInfo":{"username":"alice"}`,
		"a deletion":        pods + `,"operation":"DELETE","object":null,"oldObject":` + object + `,"dryRun":false,"options":{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":0,"propagationPolicy":"Foreground"},` + alice,
		"a null old object": pods + `,"operation":"DELETE","object":null,"oldObject":null,"dryRun":false,"options":null,` + alice,
		"no options":        pods + `,"operation":"CREATE","object":` + object + `,"dryRun":false,` + alice,
		"empty options":     pods + `,"operation":"CREATE","object":` + object + `,"dryRun":false,"options":{},` + alice,
		"another version": `"kind":{"group":"apps","version":"v1","kind":"Deployment"},"resource":{"group":"apps","version":"v1","resource":"deployments"},"requestKind":{"group":"extensions","version":"v1beta1","kind":"Deployment"},"requestResource":{"group":"extensions","version":"v1beta1","resource":"deployments"},` +
			`"name":"web","namespace":"shop","operation":"DELETE","oldObject":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"}},"dryRun":false,` + alice,
		"a subresource": `"kind":{"group":"autoscaling","version":"v1","kind":"Scale"},"resource":{"group":"apps","version":"v1","resource":"deployments"},"subResource":"scale","requestKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"requestResource":{"group":"apps","version":"v1","resource":"deployments"},"requestSubResource":"scale",` +
			`"name":"web","namespace":"shop","operation":"UPDATE","object":{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web","namespace":"shop"}},"oldObject":{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web","namespace":"shop"}},"dryRun":false,"options":{"kind":"UpdateOptions"},` + alice,
		"no namespace": `"kind":{"group":"","version":"v1","kind":"Namespace"},"resource":{"group":"","version":"v1","resource":"namespaces"},"requestKind":{"group":"","version":"v1","kind":"Namespace"},"requestResource":{"group":"","version":"v1","resource":"namespaces"},"name":"dev","operation":"CREATE","object":{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"dev"}},"dryRun":false,"options":{"kind":"CreateOptions"},` + alice,
		"a connect": `"kind":{"group":"","version":"v1","kind":"PodAttachOptions"},"resource":{"group":"","version":"v1","resource":"pods"},"subResource":"attach","requestKind":{"group":"","version":"v1","kind":"PodAttachOptions"},"requestResource":{"group":"","version":"v1","resource":"pods"},"requestSubResource":"attach",` +
			`"name":"web","namespace":"shop","operation":"CONNECT","object":{"apiVersion":"v1","kind":"PodAttachOptions","stdin":true,"container":"a"},"oldObject":null,"dryRun":false,"options":null,` + alice,
	} {
		t.Run(name, func(t *testing.T) {
			body := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1",%s}}`, request)
			got := reviewed(t, client, url+"/validate", body)
			_, shown, ok := strings.Cut(got.Status.Message, `{"`)
			if got.Allowed || !ok {
				t.Fatalf("the module did not show what it got: %+v", got)
			}
			var have, want map[string]any
			if err := json.NewDecoder(strings.NewReader(`{"` + shown)).Decode(&have); err != nil {
				t.Fatalf("%s: %v", got.Status.Message, err)
			}
			if err := json.Unmarshal([]byte(`{"uid":"u1",`+request+`}`), &want); err != nil {
				t.Fatal(err)
			}
			for field, value := range want {
				switch {
				case value == nil:
					delete(want, field)
				case field == "object" || field == "oldObject":
					want[field] = "there"
				}
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("what the module got (-review +module):\n%s", diff)
			}
			if got := reviewed(t, quietClient, quietURL+"/validate", body); !got.Allowed {
				t.Errorf("a typed SDK refuses it: %+v", got)
			}
		})
	}
}

// reviewed puts a review to a webhook.
func reviewed(t *testing.T, client *http.Client, url, body string) answered {
	t.Helper()
	status, text := post(t, client, url, body)
	var review struct{ Response answered }
	if err := json.Unmarshal([]byte(text), &review); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	return review.Response
}
