// Package filestest holds policies, objects and reviews that fit on a line, for tests that
// read them from files.
package filestest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ProdPolicy is GuardPolicy for the clusters of production.
var ProdPolicy = strings.Replace(GuardPolicy, "spec: {", `spec: {appliesTo: {clusters: ["prod-*"]}, `, 1)

// Policies, and pods that they let in and refuse.
const (
	BaselinePolicy = "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: baseline}\nspec: {rules: [{name: b, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: baseline}}}]}\n"
	LabelsPolicy   = "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: labels}\nspec: {rules: [{name: l, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: namespace}}}]}\n"
	GuardPolicy    = "apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata: {name: guard}\nspec: {podSecurityRules: {blockFactors: [hostPID]}}\n"
	GoodPod        = "apiVersion: v1\nkind: Pod\nmetadata: {name: good}\nspec: {containers: [{name: a, image: a}]}\n"
	BadPod         = "apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {hostPID: true, containers: [{name: a, image: a}]}\n"
)

// FarmKind says that a kind of somebody's own makes pods.
const FarmKind = "apiVersion: sallyport.io/v1alpha1\nkind: PodKind\nmetadata: {name: farms}\nspec: {group: x.io, kinds: [Farm], pods: [{path: spec.agent, form: PodSpec}]}\n"

// InDir writes files into a directory of their own and goes there.
func InDir(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// Reviews as an API server asks them.
const (
	AccessReview = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"alice","resourceAttributes":{"namespace":"default","verb":"create","resource":"pods","subresource":"exec","name":"NAME"}}}`
	CreateReview = `apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  uid: "1"
  operation: CREATE
  kind: {version: v1, kind: Pod}
  resource: {version: v1, resource: pods}
  namespace: default
  name: web
  userInfo: {username: alice}
  object: {apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {hostPID: true, containers: [{name: a, image: a}]}}
`
)
