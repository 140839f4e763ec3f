package policyserver

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// TestFile writes a policy with everything that it can say.
func TestFile(t *testing.T) {
	l := newLab(t, serverOf("s", ""), policyOf("hosts", "s", `
  mode: monitor
  mutating: true
  settings: {port: 9007199254740993, "yes": no, text: "a: b # c"}
  failurePolicy: Ignore
  timeoutSeconds: 7
  backgroundAudit: false
  message: taken
  capabilities: [can_i]
  contextAware:
  - {version: v1, group: networking.k8s.io, resource: ingresses, namespaces: [shop], fields: [spec.rules]}
  namespaceSelector: {matchLabels: {team: shop}}
  objectSelector: {matchLabels: {a: b}}
  matchConditions: [{name: c, expression: "true"}]
`))
	l.sweep()
	m, _ := read[corev1.ConfigMap](l, own, "policy-server-s")
	text := m.Data[PoliciesFile]
	const want = `
clusterwide-hosts:
  url: registry://ghcr.io/org/hosts:v1
  policyMode: monitor
  allowedToMutate: true
  settings: {port: 9007199254740993, "yes": no, text: "a: b # c"}
  contextAware:
  - {version: v1, group: networking.k8s.io, resource: ingresses, namespaces: [shop], fields: [spec.rules]}
  capabilities: [can_i]
  rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  namespaceSelector: {matchLabels: {team: shop}}
  objectSelector: {matchLabels: {a: b}}
  matchConditions: [{name: c, expression: "true"}]
  failurePolicy: Ignore
  timeoutSeconds: 7
  backgroundAudit: false
  message: taken
`
	var got, wanted any
	if err := yaml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(text, "9007199254740993") {
		t.Error("a number of the settings is another one now")
	}
	again, err := readFile(text).bytes()
	if err != nil || string(again) != text {
		t.Errorf("read and written again it is %s, %v", again, err)
	}
	for _, broken := range []string{"", "no", "[]", `{"a":`} {
		if f := readFile(broken); len(f) != 0 {
			t.Errorf("%q is read as %v", broken, f)
		}
	}
}

// TestRoom fills a file that has not room for everything.
func TestRoom(t *testing.T) {
	made := func(name string, size int) *hosted {
		return &hosted{id: "clusterwide-" + name, ref: stored.Ref{Kind: "ClusterAdmissionPolicy", Name: name}, spec: &v1alpha1.AdmissionPolicySpec{
			Module: "file:///a", Settings: &apiextensionsv1.JSON{Raw: []byte(`{"a":"` + strings.Repeat("x", size) + `"}`)},
		}}
	}
	ids := func(f file) []string {
		var ids []string
		for id := range f {
			ids = append(ids, strings.TrimPrefix(id, "clusterwide-"))
		}
		slices.Sort(ids)
		return ids
	}
	raw := func(p *hosted) json.RawMessage {
		text, err := json.Marshal(entryOf(p))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	half, small := maxFile/2-2000, 100
	f, without, err := fill([]*hosted{made("a", half), made("b", half), made("c", half), made("d", small)}, file{}, file{})
	if err != nil || !slices.Equal(ids(f), []string{"a", "b", "d"}) || without["clusterwide-c"] == "" || len(without) != 1 {
		t.Errorf("%v %v %v", ids(f), without, err)
	}
	if text, err := f.bytes(); err != nil || len(text) > maxFile {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	// What is there already stays, older as the new one may be.
	before := file{"clusterwide-b": raw(made("b", half)), "clusterwide-c": raw(made("c", half))}
	f, without, err = fill([]*hosted{made("a", half), made("b", half), made("c", half)}, before, file{})
	if err != nil || !slices.Equal(ids(f), []string{"b", "c"}) || without["clusterwide-a"] == "" {
		t.Errorf("%v %v %v", ids(f), without, err)
	}
	// One that grew stays as it was.
	f, without, err = fill([]*hosted{made("b", half+half/2), made("c", half)}, before, file{})
	if err != nil || !bytes.Equal(f["clusterwide-b"], before["clusterwide-b"]) || !strings.Contains(without["clusterwide-b"], "the version before stays in force") {
		t.Errorf("%v %v %v", ids(f), without, err)
	}
}
