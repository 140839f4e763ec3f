package e2e

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
	"github.com/sallyport-io/sallyport/test/lab"
)

// TestModulesThatChangeObjectsRefuseToo has a module that changes objects, and refuses
// all of them, about a kind that no webhook which is shipped asks about: what changes
// objects refuses nothing, so the other door has to be asked as well.
func TestModulesThatChangeObjectsRefuseToo(t *testing.T) {
	if err := shared.CreateNamespace(t.Context(), "mutating", nil); err != nil {
		t.Fatal(err)
	}
	atFrontDoor(t, "mutating")
	followRules(t)
	deleteAfter(t, "clusteradmissionpolicy/changes")
	module := "file://" + wasmtest.File(t, wasmtest.WASI(t))
	want(t, written(t, `apiVersion: sallyport.io/v1alpha1
kind: ClusterAdmissionPolicy
metadata: {name: changes}
spec:
  module: `+module+`
  mutating: true
  settings: {namespace: web}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: mutating}}
`, "apply"), true)
	enforced(t, "clusteradmissionpolicy/changes", "True", "asks about all that the policy is about")
	awaitResult(t, func() lab.Result {
		return shared.Kubectl(t.Context(), root, "create", "configmap", "-n", "mutating", "a", "--dry-run=server")
	}, false, refusesAll)
}
