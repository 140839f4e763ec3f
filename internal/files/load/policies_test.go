package load

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
)

func TestPolicies(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, "policies.yaml", denyHead+"spec: {podSecurityRules: {blockFactors: [hostPID]}}\n---\n"+clusterHead+
		"spec: {rules: []}\n---\napiVersion: sallyport.io/v1alpha1\nkind: Policy\nmetadata: {name: p, namespace: a}\nspec: {rules: []}\n")
	write(t, dir, "foreign.yaml", "apiVersion: breakglass.t-caas.telekom.com/v1alpha1\nkind: DenyPolicyList\nitems:\n- metadata: {name: q}\n  spec:\n    podSecurityRules: {exemptions: {namespaces: [kube-system]}}\n")
	write(t, dir, "cluster.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: a, unknownField: 1}]}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: prod, labels: {a: b}}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n")
	write(t, dir, "rest.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n")

	r := Policies([]string{"policies.yaml", "foreign.yaml", "cluster.yaml", "rest.yaml"}, nil)
	if len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	var got []string
	for _, s := range r.Sources.DenyPolicies {
		got = append(got, "DenyPolicy "+s.Object.Name+" of "+s.Origin)
	}
	for _, s := range r.Sources.ClusterPolicies {
		got = append(got, "ClusterPolicy "+s.Object.Name+" of "+s.Origin)
	}
	for _, s := range r.Sources.Policies {
		got = append(got, "Policy "+s.Object.Namespace+"/"+s.Object.Name+" of "+s.Origin)
	}
	for _, o := range r.Objects {
		accessor, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%T %s/%s", o, accessor.GetNamespace(), accessor.GetName()))
	}
	for _, i := range r.Ignored {
		got = append(got, i.String())
	}
	want := []string{
		"DenyPolicy p of policies.yaml, document 1",
		"DenyPolicy q of foreign.yaml, document 1, items[0]",
		"ClusterPolicy p of policies.yaml, document 2",
		"Policy a/p of policies.yaml, document 3",
		"*v1.Pod default/web",
		"*v1.Namespace /prod",
		"*v1.ClusterRole /r",
		"rest.yaml, document 1: Secret s is neither a policy nor an object that policies are judged against",
		"rest.yaml, document 2: Widget w is neither a policy nor an object that policies are judged against",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Policies() != 4 {
		t.Errorf("%d policies, want 4", r.Policies())
	}
	if pod := r.Objects[0].(*corev1.Pod); pod.Kind != "Pod" || pod.Spec.Containers[0].Name != "a" || pod.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		t.Errorf("the pod was not read and given its defaults: %v", pod)
	}
	if got := r.Sources.DenyPolicies[1].Object.Spec.PodSecurityRules.Exemptions.Namespaces.Patterns; len(got) != 1 {
		t.Errorf("exemptions.namespaces was not read: %v", got)
	}
}

func TestObjectsThatAreThereTwice(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
	write(t, dir, "a.yaml", pod+"---\n"+pod)
	write(t, dir, "b.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: default}\n")
	var got []string
	for _, p := range Policies([]string{dir}, nil).Problems {
		p.Origin = ""
		got = append(got, p.Error())
	}
	want := "Pod default/web: metadata.name: is there twice: also in " + dir + "/a.yaml, document 1; give one of them another name or remove it"
	if diff := cmp.Diff([]string{want, want}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		denyHead + "spec: {podSecurityRules: {blockFactors: [hostPID]}}\n",
		clusterHead + "spec: {rules: [{name: a, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: baseline}}}]}\n",
		`{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"}},{"kind":"List","apiVersion":"v1","items":[{}]}]}`,
		"apiVersion: v1\nkind: A\na: &a {x: 1}\nb:\n  <<: [*a, *a]\n  x: 2\n---\n...\n%YAML 1.1\n---\n",
		"? [a]\n: &a !!binary /w==\n? *a\n: !!float 1\n.inf: !<x> y\n0x1: 1\n1: 2\n",
		"\xef\xbb\xbf{\"a\":\"\\ud800\"}\r\n---\r\n{a: b}",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, json bool) {
		name := "a.yaml"
		if json {
			name = "a.json"
		}
		l := loader{seen: map[string]string{}}
		for d, problems := range Parse(name, data) {
			if (d == nil) == (len(problems) == 0) {
				t.Fatalf("a step gives either a document or problems, not %v and %v", d, problems)
			}
			if d == nil {
				continue
			}
			if d.GVK.Kind == "" || d.GVK.Version == "" {
				t.Errorf("a document without a kind: %s", d.Raw)
			}
			if line := d.LineOf("metadata.name"); line < d.Line {
				t.Errorf("metadata.name on line %d, the document begins on line %d", line, d.Line)
			}
			before := l.count()
			l.document(d)
			if l.count() == before {
				t.Errorf("nothing came of a document: %s", d.Raw)
			}
		}
	})
}

// count is how much the loader has found.
func (l *loader) count() int {
	return l.result.Policies() + len(l.result.Objects) + len(l.result.Problems) + len(l.candidates)
}
