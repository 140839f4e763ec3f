package regodata

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/wasm"
)

// lists is a Backend that answers with what it holds, by kind.
type lists struct {
	byKind map[string][]byte
	asked  []string
}

func (l *lists) Answer(_ context.Context, a *contextgate.Admitted) ([]byte, error) {
	l.asked = append(l.asked, a.Resource.APIVersion()+" "+a.Resource.Kind)
	answer, ok := l.byKind[a.Resource.Kind]
	if !ok {
		return nil, errors.New("the API server is away")
	}
	return answer, nil
}

func list(items ...string) []byte {
	return []byte(`{"kind":"List","items":[` + strings.Join(items, ",") + `]}`)
}

func object(namespace, name, more string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q}%s}`, namespace, name, more)
}

var (
	namespaces  = contextgate.Grant{Version: "v1", Kind: "Namespace"}
	ingresses   = contextgate.Grant{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}
	oldIngress  = contextgate.Grant{Group: "extensions", Version: "v1beta1", Kind: "Ingress"}
	deployments = contextgate.Grant{Group: "apps", Version: "v1", Kind: "Deployment"}
)

func testGate(t testing.TB, backend contextgate.Backend, grants ...contextgate.Grant) (*contextgate.Gate, *contextgate.Policy, *[]contextgate.Denied) {
	t.Helper()
	policy, err := contextgate.NewPolicy(contextgate.ClusterAdmissionPolicy, "", "rego", grants, nil)
	if err != nil {
		t.Fatal(err)
	}
	denied := &[]contextgate.Denied{}
	return &contextgate.Gate{
		Mapper: contextgate.Guess{Cluster: []string{"Namespace"}}, Backend: backend,
		Report: func(_ context.Context, d contextgate.Denied) { *denied = append(*denied, d) },
	}, policy, denied
}

func TestLayout(t *testing.T) {
	backend := &lists{byKind: map[string][]byte{
		"Namespace":  list(object("", "shop", `,"x":1`), object("", "bank", "")),
		"Ingress":    list(object("shop", "web", ""), object("bank", "web", "")),
		"Deployment": list(),
	}}
	for mode, want := range map[wasm.RegoMode]string{
		wasm.ModeOPA: `{"deployments":{},"ingresses":{"bank":{"web":` + object("bank", "web", "") + `},"shop":{"web":` + object("shop", "web", "") +
			`}},"namespaces":{"bank":` + object("", "bank", "") + `,"shop":` + object("", "shop", `,"x":1`) + `}}`,
		wasm.ModeGatekeeper: `{"cluster":{"v1":{"Namespace":{"bank":` + object("", "bank", "") + `,"shop":` + object("", "shop", `,"x":1`) +
			`}}},"namespace":{"bank":{"networking.k8s.io/v1":{"Ingress":{"web":` + object("bank", "web", "") + `}}},"shop":{"networking.k8s.io/v1":{"Ingress":{"web":` + object("shop", "web", "") + `}}}}}`,
	} {
		t.Run(string(mode), func(t *testing.T) {
			backend.asked = nil
			gate, policy, _ := testGate(t, backend, namespaces, ingresses, deployments)
			got, _, err := New(gate, policy, mode, namespaces, ingresses, deployments, namespaces).Data(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"apps/v1 Deployment", "networking.k8s.io/v1 Ingress", "v1 Namespace"}, backend.asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	backend := &lists{byKind: map[string][]byte{"Namespace": list(object("", "a", ""))}}
	gate, policy, _ := testGate(t, backend, namespaces)
	d := New(gate, policy, wasm.ModeOPA, namespaces)
	data := func() (string, string) {
		t.Helper()
		text, version, err := d.Data(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(text), version
	}
	_, first := data()
	if _, again := data(); again != first {
		t.Error("the same answer came to another version")
	}
	backend.byKind["Namespace"] = list(object("", "a", ""))
	if _, again := data(); again != first {
		t.Error("an equal answer came to another version")
	}
	backend.byKind["Namespace"] = list(object("", "b", ""))
	text, second := data()
	if second == first || !strings.Contains(text, `"b"`) {
		t.Errorf("version %s after %s: %s", second, first, text)
	}
	backend.byKind["Namespace"] = list(object("", "a", ""))
	if _, third := data(); third == first || third == second {
		t.Errorf("version %s was used before", third)
	}
	if len(backend.asked) != 5 {
		t.Errorf("asked %d times, want once a call", len(backend.asked))
	}
}

func TestNothingIsReadWithoutAGrant(t *testing.T) {
	backend := &lists{byKind: map[string][]byte{"Namespace": list(), "Ingress": list()}}
	for name, test := range map[string]struct {
		granted, declared []contextgate.Grant
		want              string
		denied            int
	}{
		"nothing":            {nil, nil, "", 0},
		"nothing granted":    {nil, []contextgate.Grant{namespaces}, "no resource was granted to it", 1},
		"something else":     {[]contextgate.Grant{ingresses}, []contextgate.Grant{ingresses, namespaces}, "may not list namespaces", 1},
		"all":                {[]contextgate.Grant{ingresses, namespaces}, []contextgate.Grant{namespaces}, "", 0},
		"another version":    {[]contextgate.Grant{ingresses}, []contextgate.Grant{oldIngress}, "may not list ingresses.extensions", 1},
		"what is not a kind": {[]contextgate.Grant{ingresses}, []contextgate.Grant{{Version: "v1", Kind: "*"}}, "kind", 0},
		"what is not there":  {[]contextgate.Grant{deployments}, []contextgate.Grant{deployments}, "the API server is away", 0},
	} {
		t.Run(name, func(t *testing.T) {
			gate, policy, denied := testGate(t, backend, test.granted...)
			_, _, err := New(gate, policy, wasm.ModeOPA, test.declared...).Data(t.Context())
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if len(*denied) != test.denied {
				t.Errorf("%d denials were reported: %v", len(*denied), *denied)
			}
		})
	}
	t.Run("a policy of a namespace", func(t *testing.T) {
		gate, _, denied := testGate(t, backend)
		policy, err := contextgate.NewPolicy("AdmissionPolicy", "shop", "rego", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := New(gate, policy, wasm.ModeGatekeeper, namespaces).Data(t.Context()); err == nil || len(*denied) != 1 {
			t.Errorf("got %v, denied %v", err, *denied)
		}
	})
}

func TestAnswersThatCannotBe(t *testing.T) {
	for name, test := range map[string]struct {
		lists map[string][]byte
		want  string
	}{
		"a plural of two groups": {map[string][]byte{"Ingress": list()}, "finds both under data.kubernetes.ingresses"},
		"no JSON":                {map[string][]byte{"Ingress": []byte(`{"items":[`)}, "cannot be read"},
		"no name":                {map[string][]byte{"Ingress": list(`{}`)}, "has no name"},
		"a name twice":           {map[string][]byte{"Ingress": list(object("a", "b", ""), object("a", "b", ""))}, "listed twice"},
	} {
		t.Run(name, func(t *testing.T) {
			grants := []contextgate.Grant{ingresses}
			if name == "a plural of two groups" {
				grants = append(grants, oldIngress)
			}
			gate, policy, _ := testGate(t, &lists{byKind: test.lists}, grants...)
			if _, _, err := New(gate, policy, wasm.ModeOPA, grants...).Data(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func BenchmarkData(b *testing.B) {
	var items []string
	for n := range 3000 {
		items = append(items, object("", fmt.Sprintf("ns-%d", n), `,"more":{"labels":{"team":"a"}}`))
	}
	backend := &lists{byKind: map[string][]byte{"Namespace": list(items...)}}
	gate, policy, _ := testGate(b, backend, namespaces)
	d := New(gate, policy, wasm.ModeOPA, namespaces)
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := d.Data(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("changed", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			items[0] = object("", "ns-0", fmt.Sprintf(`,"n":%d`, n))
			backend.byKind["Namespace"] = list(items...)
			if _, _, err := d.Data(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
