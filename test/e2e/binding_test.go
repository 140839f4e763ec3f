package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// schedulers gives alice what a scheduler needs, and bob everything.
const schedulers = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: scheduler}
rules:
- {apiGroups: [""], resources: [pods, bindings, pods/binding], verbs: [get, list, create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: scheduler}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: scheduler}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bob}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
`

// The API server copies the labels of a Binding onto the pod that it binds, so
// that whoever may bind pods could exempt them. The lab has no scheduler that
// would be faster.
func TestExemptLabelsOfBindings(t *testing.T) {
	t.Parallel()
	l, err := startLab(t.Context(), lab.Options{Users: []lab.User{{Name: alice}, {Name: bob}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	policies := filepath.Join(t.TempDir(), "policies.yaml")
	policy := strings.Replace(riskPolicy, "exemptions: {", `exemptions: {podLabels: {exempt: "yes"}, `, 1)
	if err := os.WriteFile(policies, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := l.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Args: []string{"--from", policies}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.WireAdmission(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.CreateNamespace(t.Context(), "shop", nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Apply(t.Context(), schedulers); err != nil {
		t.Fatal(err)
	}
	bind := func(user, pod, path, metadata string) lab.Result {
		binding := `{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "` + pod + `"` + metadata + `}, "target": {"kind": "Node", "name": "somewhere"}}`
		return l.Run(t.Context(), lab.Kubectl{
			User: user, Stdin: strings.NewReader(binding),
			Args: []string{"create", "--raw", "/api/v1/namespaces/shop/" + strings.ReplaceAll(path, "POD", pod), "-f", "-"},
		})
	}
	state := func(pod string) string {
		return l.Kubectl(t.Context(), lab.Admin, "get", "pod", "-n", "shop", pod, "--output=jsonpath={.spec.nodeName}/{.metadata.labels.exempt}/{.metadata.annotations.exempt}").Stdout
	}
	const exempting, other = `, "labels": {"exempt": "yes"}`, `, "labels": {"exempt": "no"}, "annotations": {"exempt": "yes"}`
	refused := []string{`admission webhook "bindings.sallyport.io" denied the request`, "exempt=yes", "may not set them"}
	for _, path := range []string{"pods/POD/binding", "bindings"} {
		for _, test := range []struct {
			name, user, metadata string
			ok                   bool
			says                 []string
			state                string
		}{
			{"without the right", alice, exempting, false, refused, "//"},
			{"other labels, and annotations", alice, other, true, nil, "somewhere/no/yes"},
			{"no labels", alice, "", true, nil, "somewhere//"},
			{"with the right", bob, exempting, true, nil, "somewhere/yes/"},
		} {
			t.Run(path+" "+test.name, func(t *testing.T) {
				pod := strings.NewReplacer("/", "-", " ", "-", ",", "").Replace(strings.ToLower(path + " " + test.name))
				manifest := `{apiVersion: v1, kind: Pod, metadata: {name: ` + pod + `, namespace: shop}, spec: {containers: [{name: app, image: registry.example.com/web:1}]}}`
				if err := l.Apply(t.Context(), manifest); err != nil {
					t.Fatal(err)
				}
				want(t, bind(test.user, pod, path, test.metadata), test.ok, test.says...)
				if got := state(pod); got != test.state {
					t.Errorf("node/label/annotation of the pod: %q, want %q", got, test.state)
				}
			})
		}
	}
}
