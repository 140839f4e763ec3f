package policyserver

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/files/policiesfile"
)

// asTree compares JSON by what it says, with all the digits of numbers.
var asTree = cmp.Transformer("tree", func(j apiextensionsv1.JSON) any {
	d := json.NewDecoder(bytes.NewReader(j.Raw))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return err.Error()
	}
	return tree
})

// TestRoundTrip reads the policies of a server as its pods do: they are those of the
// API server, except for the server's name.
func TestRoundTrip(t *testing.T) {
	const narrow = "apiVersion: sallyport.io/v1alpha1\nkind: AdmissionPolicy\nmetadata: {name: own, namespace: team-a}\nspec:\n  module: registry://ghcr.io/org/a:v1\n  policyServer: s\n  rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: ['*'], scope: Namespaced}]\n"
	l := newLab(t, serverOf("s", ""), narrow, policyOf("plain", "s", ""), policyOf("hosts", "s", `
  mode: monitor
  mutating: true
  settings: {port: 9007199254740993, "yes": no, text: "a: b # c <&>"}
  failurePolicy: Ignore
  timeoutSeconds: 7
  backgroundAudit: false
  message: taken
  capabilities: [can_i]
  contextAware:
  - {version: v1, group: networking.k8s.io, resource: ingresses, namespaces: [shop], names: [a], labelSelector: {matchLabels: {a: b}}, fields: [spec.rules]}
  - {apiVersion: v1, kind: Namespace}
  namespaceSelector: {matchLabels: {team: shop}}
  objectSelector: {matchLabels: {a: b}}
  matchConditions: [{name: c, expression: "true"}]
`))
	l.sweep()
	m, _ := read[corev1.ConfigMap](l, own, "policy-server-s")
	sources, problems := policiesfile.Read(PoliciesFile, []byte(m.Data[PoliciesFile]))
	if len(problems) > 0 || len(sources.ClusterAdmissionPolicies) != 2 || len(sources.AdmissionPolicies) != 1 {
		t.Fatalf("%v\n%s", problems, m.Data[PoliciesFile])
	}
	for _, p := range sources.ClusterAdmissionPolicies {
		was, there := read[v1alpha1.ClusterAdmissionPolicy](l, "", p.Object.Name)
		was.Spec.PolicyServer, p.Object.Spec.PolicyServer = "", ""
		if diff := cmp.Diff(was.Spec, p.Object.Spec, asTree); !there || diff != "" {
			t.Errorf("%s (-written +read):\n%s", p.Object.Name, diff)
		}
	}
	p := sources.AdmissionPolicies[0].Object
	was, there := read[v1alpha1.AdmissionPolicy](l, p.Namespace, p.Name)
	was.Spec.PolicyServer, p.Spec.PolicyServer = "", ""
	if diff := cmp.Diff(was.Spec, p.Spec, asTree); !there || diff != "" {
		t.Errorf("%s (-written +read):\n%s", p.Name, diff)
	}
}
