package policyserver

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/files/policiesfile"
)

// TestFileIsRead says that servers read policies out of the file as they were
// written into it: a grant that lost what narrows it would be a wider one.
func TestFileIsRead(t *testing.T) {
	var wide v1alpha1.ClusterAdmissionPolicySpec
	if err := yaml.UnmarshalStrict([]byte(`
module: registry://ghcr.io/org/hosts:v1
mode: monitor
mutating: true
rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE], scope: Namespaced}]
failurePolicy: Ignore
timeoutSeconds: 7
message: taken
capabilities: [can_i]
contextAware:
- {version: v1, group: networking.k8s.io, resource: ingresses, namespaces: [shop], names: [a], labelSelector: {matchLabels: {a: b}}, fields: [spec.rules]}
- {apiVersion: v1, kind: Pod}
namespaceSelector: {matchLabels: {team: shop}}
objectSelector: {matchLabels: {a: b}}
matchConditions: [{name: c, expression: "true"}]
`), &wide); err != nil {
		t.Fatal(err)
	}
	wide.Settings = &apiextensionsv1.JSON{Raw: []byte(`{"port":9007199254740993,"rate":1.0,"text":"a: b # c"}`)}
	narrow := wide.AdmissionPolicySpec
	written := file{}
	for _, p := range []*hosted{
		{ref: stored.Ref{Kind: stored.KindClusterAdmissionPolicy, Name: "hosts"}, spec: &wide.AdmissionPolicySpec, wide: &wide},
		{ref: stored.Ref{Kind: stored.KindAdmissionPolicy, Namespace: "team-a", Name: "my.hosts"}, spec: &narrow},
	} {
		p.id = p.ref.ModuleID()
		made, without, err := fill([]*hosted{p}, nil, written)
		if err != nil || len(without) > 0 {
			t.Fatal(without, err)
		}
		written = made
	}
	text, err := written.bytes()
	if err != nil {
		t.Fatal(err)
	}
	sources, problems := policiesfile.Read(PoliciesFile, text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, settings := range []*apiextensionsv1.JSON{sources.ClusterAdmissionPolicies[0].Object.Spec.Settings, sources.AdmissionPolicies[0].Object.Spec.Settings} {
		var compact bytes.Buffer
		if err := json.Compact(&compact, settings.Raw); err != nil {
			t.Fatal(err)
		}
		settings.Raw = compact.Bytes()
	}
	if got := sources.ClusterAdmissionPolicies[0].Object; got.Name != "hosts" || cmp.Diff(wide, got.Spec) != "" {
		t.Errorf("%s: %s", got.Name, cmp.Diff(wide, got.Spec))
	}
	if got := sources.AdmissionPolicies[0].Object; got.Name != "my.hosts" || got.Namespace != "team-a" || cmp.Diff(narrow, got.Spec) != "" {
		t.Errorf("%s/%s: %s", got.Namespace, got.Name, cmp.Diff(narrow, got.Spec))
	}
	if len(sources.ModuleRules) > 0 {
		t.Error("policies with rules are left to their modules")
	}
	policiesfile.Assign(&sources, "s")
	if sources.ClusterAdmissionPolicies[0].Object.Spec.PolicyServer != "s" || sources.AdmissionPolicies[0].Object.Spec.PolicyServer != "s" {
		t.Error("the policies are not the server's")
	}
}
