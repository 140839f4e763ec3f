package contextgate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

// backend answers everything, and counts.
type backend struct{ answered int }

func (b *backend) Answer(context.Context, *contextgate.Admitted) ([]byte, error) {
	b.answered++
	return []byte("answer"), nil
}

func mapper() contextgate.Mapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, v := range []string{"v1", "v1beta1"} {
		m.Add(schema.GroupVersionKind{Group: "apps", Version: v, Kind: "Deployment"}, meta.RESTScopeNamespace)
	}
	m.Add(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, meta.RESTScopeNamespace)
	m.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	m.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
	return contextgate.RESTMapper(m)
}

func call(o hostcall.Operation, payload string) hostcall.Call {
	namespace, operation, _ := strings.Cut(string(o), "/")
	return hostcall.Call{Binding: hostcall.Binding, Namespace: namespace, Operation: operation, Payload: []byte(payload)}
}

// calls are one good call of each operation; the reads are about Secrets, or, for
// the second list, about a namespace that some grants leave out.
var calls = map[string]hostcall.Call{
	"get":        call(hostcall.GetResource, `{"api_version":"v1","kind":"Secret","namespace":"team","name":"a"}`),
	"get alias":  call(hostcall.GetResource, `{"api_version":"v1","kind":"secrets","namespace":"team","name":"a"}`),
	"get other":  call(hostcall.GetResource, `{"api_version":"v1","kind":"Secret","namespace":"other","name":"b"}`),
	"list":       call(hostcall.ListByNamespace, `{"api_version":"v1","kind":"Secret","namespace":"team"}`),
	"list other": call(hostcall.ListByNamespace, `{"api_version":"v1","kind":"Secret","namespace":"other"}`),
	"list all":   call(hostcall.ListAll, `{"api_version":"v1","kind":"Secret"}`),
	"list by label": call(hostcall.ListAll,
		`{"api_version":"v1","kind":"Secret","label_selector":"hidden=yes"}`),
	"list by field": call(hostcall.ListAll,
		`{"api_version":"v1","kind":"Secret","field_selector":"data.password=aGk"}`),
	"can_i":       call(hostcall.MayI, `{"request":{"user":"a","resource_attributes":{"verb":"get","resource":"secrets"}}}`),
	"verify v1":   call(hostcall.VerifyV1, `{"SigstorePubKeyVerify":{"image":"i","pub_keys":["k"]}}`),
	"verify v2":   call(hostcall.VerifyV2, `{"type":"SigstorePubKeyVerify","image":"i","pub_keys":["k"]}`),
	"digest":      call(hostcall.ManifestDigest, `"i"`),
	"manifest":    call(hostcall.Manifest, `"i"`),
	"config":      call(hostcall.ManifestAndConfig, `"i"`),
	"dns":         call(hostcall.LookupHost, `"h"`),
	"certificate": call(hostcall.CertificateTrusted, `{"cert":{"encoding":"Pem","data":[1]}}`),
	"log":         call(hostcall.Log, `{"level":"info"}`),
	"legacy":      {Binding: "kubewarden", Namespace: "kubernetes", Operation: "ingresses"},
	"binding":     {Binding: "other", Namespace: "kubernetes", Operation: "can_i"},
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	secrets := contextgate.Grant{Version: "v1", Resource: "secrets"}
	with := func(change func(*contextgate.Grant)) []contextgate.Grant {
		g := secrets
		change(&g)
		return []contextgate.Grant{g}
	}
	reads := []string{"get", "get alias", "get other", "list", "list other", "list all", "list by label", "list by field"}
	for name, c := range map[string]struct {
		grants       []contextgate.Grant
		capabilities []string
		allowed      []string
	}{
		"none":                      {nil, nil, nil},
		"another resource":          {[]contextgate.Grant{{Version: "v1", Resource: "configmaps"}}, nil, nil},
		"another group":             {[]contextgate.Grant{{Group: "apps", Version: "v1", Resource: "secrets"}}, nil, nil},
		"this resource":             {[]contextgate.Grant{secrets}, nil, reads},
		"this resource by its kind": {[]contextgate.Grant{{Version: "v1", Kind: "Secret"}}, nil, reads},
		"this, in another version":  {[]contextgate.Grant{{Version: "v2", Resource: "secrets"}}, nil, reads},
		"narrowed by namespace":     {with(func(g *contextgate.Grant) { g.Namespaces = []string{"team"} }), nil, []string{"get", "get alias", "list", "list all", "list by label", "list by field"}},
		"narrowed by name":          {with(func(g *contextgate.Grant) { g.Names = []string{"a"} }), nil, []string{"get", "get alias", "list", "list other", "list all", "list by label", "list by field"}},
		"narrowed by labels": {with(func(g *contextgate.Grant) {
			g.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}), nil, reads},
		"narrowed by fields":          {with(func(g *contextgate.Grant) { g.Fields = []string{"type", "metadata.labels['shown']"} }), nil, []string{"get", "get alias", "get other", "list", "list other", "list all"}},
		"can_i":                       {nil, []string{"kubernetes/can_i"}, []string{"can_i"}},
		"all of kubernetes, no reads": {nil, []string{"kubernetes/*"}, []string{"can_i"}},
		"oci":                         {nil, []string{"oci/*"}, []string{"verify v1", "verify v2", "digest", "manifest", "config"}},
		"oci v2":                      {nil, []string{"oci/v2/*"}, []string{"verify v2"}},
		"net and crypto":              {nil, []string{"net/v1/dns_lookup_host", "crypto/*"}, []string{"dns", "certificate"}},
		"everything but reads":        {nil, []string{"*"}, []string{"can_i", "verify v1", "verify v2", "digest", "manifest", "config", "dns", "certificate"}},
	} {
		for _, kind := range []string{contextgate.ClusterAdmissionPolicy, "AdmissionPolicy"} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				allowed := map[string]bool{"log": true}
				namespace := ""
				grants, capabilities := c.grants, c.capabilities
				if kind == "AdmissionPolicy" {
					namespace = "team"
					if _, err := contextgate.NewPolicy(kind, namespace, "p", grants, capabilities); err == nil && len(grants)+len(capabilities) > 0 {
						t.Error("an AdmissionPolicy took grants")
					}
					grants, capabilities = nil, nil
				} else {
					for _, name := range c.allowed {
						allowed[name] = true
					}
				}
				policy, err := contextgate.NewPolicy(kind, namespace, "p", grants, capabilities)
				if err != nil {
					t.Fatal(err)
				}
				for name, call := range calls {
					var reports []contextgate.Denied
					b := &backend{}
					gate := &contextgate.Gate{
						Mapper: mapper(), Backend: b, Report: func(_ context.Context, d contextgate.Denied) { reports = append(reports, d) },
						Now: func() time.Time { return time.Unix(1, 0) },
					}
					_, err := gate.Call(t.Context(), policy, call)
					if allowed[name] {
						if err != nil || len(reports) > 0 || b.answered != 1 {
							t.Errorf("%s: %v, %d reports, %d answers; it was granted", name, err, len(reports), b.answered)
						}
						continue
					}
					var denied *contextgate.Denied
					if !errors.As(err, &denied) || b.answered != 0 || len(reports) != 1 {
						t.Errorf("%s: %v, %d reports, %d answers; it was not granted", name, err, len(reports), b.answered)
					} else if diff := cmp.Diff(*denied, reports[0]); diff != "" || denied.Policy != policy.String() || denied.Resource == "" || denied.Verb == "" || denied.At.IsZero() {
						t.Errorf("%s: reported %+v", name, reports[0])
					}
				}
			})
		}
	}
}

// TestTheHostsOwnReads makes sure that reads which are not bytes go through the
// same gate.
func TestTheHostsOwnReads(t *testing.T) {
	t.Parallel()
	policy, err := contextgate.NewPolicy(contextgate.ClusterPolicy, "", "p", []contextgate.Grant{{Group: "apps", Version: "v1", Resource: "deployments", Namespaces: []string{"a"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	gate := &contextgate.Gate{Mapper: mapper(), Backend: &backend{}}
	for _, c := range []struct {
		read hostcall.Read
		ok   bool
	}{
		{hostcall.Read{Operation: hostcall.ListAll, APIVersion: "apps/v1", Kind: "Deployment"}, true},
		{hostcall.Read{Operation: hostcall.ListAll, APIVersion: "apps/v1beta1", Kind: "deployment"}, true},
		{hostcall.Read{Operation: hostcall.ListByNamespace, APIVersion: "apps/v1", Kind: "deployments", Namespace: "a"}, true},
		{hostcall.Read{Operation: hostcall.ListByNamespace, APIVersion: "apps/v1", Kind: "deployments", Namespace: "b"}, false},
		{hostcall.Read{Operation: hostcall.ListAll, APIVersion: "v1", Kind: "Secret"}, false},
		{hostcall.Read{Operation: hostcall.ListAll, APIVersion: "v1", Kind: "deployments"}, false},
		{hostcall.Read{Operation: hostcall.MayI, APIVersion: "apps/v1", Kind: "Deployment"}, false},
	} {
		_, err := gate.Read(t.Context(), policy, &c.read)
		var denied *contextgate.Denied
		if ok := err == nil; ok != c.ok || !ok && !errors.As(err, &denied) {
			t.Errorf("%s: %v", c.read.About(), err)
		}
	}
}

// TestPayloadIsNotReadBefore makes sure that payloads are not read before they need be.
func TestPayloadIsNotReadBefore(t *testing.T) {
	t.Parallel()
	policy, err := contextgate.NewPolicy(contextgate.ClusterAdmissionPolicy, "", "p", []contextgate.Grant{{Version: "v1", Resource: "secrets"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	none, err := contextgate.NewPolicy(contextgate.ClusterAdmissionPolicy, "", "p", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	gate := &contextgate.Gate{Mapper: mapper(), Backend: &backend{}}
	for _, o := range hostcall.Operations() {
		if o == hostcall.Log {
			continue
		}
		var denied *contextgate.Denied
		if _, err := gate.Call(t.Context(), none, call(o, "\x00 not JSON")); !errors.As(err, &denied) {
			t.Errorf("%s: %v; it should be denied before its payload is read", o, err)
		}
	}
	// All but the resource is unread where the resource is not granted.
	var denied *contextgate.Denied
	_, err = gate.Call(t.Context(), policy, call(hostcall.GetResource, `{"api_version":"v1","kind":"ConfigMap","name":[]}`))
	if !errors.As(err, &denied) {
		t.Errorf("%v; it should be denied for its resource", err)
	}
	if _, err = gate.Call(t.Context(), policy, call(hostcall.GetResource, `{"api_version":"v1","kind":"Secret","name":[]}`)); err == nil || errors.As(err, &denied) {
		t.Errorf("%v; the payload is wrong", err)
	}
}

func TestBadGrants(t *testing.T) {
	t.Parallel()
	for path, g := range map[string]contextgate.Grant{
		".resource: it is missing": {Version: "v1"},
		`.resource: "*"`:           {Version: "v1", Resource: "*"},
		`.resource: "pods/log"`:    {Version: "v1", Resource: "pods/log"},
		`.group: "*"`:              {Group: "*", Version: "v1", Resource: "pods"},
		".version: it is missing":  {Resource: "pods"},
		".kind:":                   {Version: "v1", Resource: "pods", Kind: "Pod"},
		"upper case letters":       {Version: "v1", Resource: "Pods"},
		".namespaces:":             {Version: "v1", Resource: "pods", Namespaces: []string{""}},
		".names:":                  {Version: "v1", Resource: "pods", Names: []string{""}},
		".fields:":                 {Version: "v1", Resource: "pods", Fields: []string{"a..b"}},
		".labelSelector:":          {Version: "v1", Resource: "pods", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}},
	} {
		if _, err := contextgate.NewPolicy(contextgate.ClusterAdmissionPolicy, "", "p", []contextgate.Grant{g}, nil); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%+v: %v, want %q", g, err, path)
		}
	}
	for _, capability := range []string{"", "oci", "oci*", "*/v1", "oci/v3/*", "tracing/log", "kubernetes/services"} {
		if _, err := contextgate.NewPolicy(contextgate.ClusterAdmissionPolicy, "", "p", nil, []string{capability}); err == nil {
			t.Errorf("%q was taken for a capability", capability)
		}
	}
}

// object is an object of a test.
type object struct {
	namespace, name string
	labels          map[string]string
	kind            string
}

func (o object) GetNamespace() string         { return o.namespace }
func (o object) GetName() string              { return o.name }
func (o object) GetLabels() map[string]string { return o.labels }
func (o object) Field(path []string) string {
	if fmt.Sprint(path) == "[type]" {
		return o.kind
	}
	return ""
}

func TestView(t *testing.T) {
	t.Parallel()
	policy, err := contextgate.NewPolicy(contextgate.ClusterAdmissionPolicy, "", "p", []contextgate.Grant{
		{Version: "v1", Resource: "secrets", Namespaces: []string{"a"}, Fields: []string{"type"}},
		{Version: "v1", Resource: "secrets", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"public": "yes"}}, Fields: []string{"type", "data"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	gate := &contextgate.Gate{Mapper: mapper(), Backend: &backend{}}
	admitted, err := gate.Admit(t.Context(), policy, call(hostcall.ListAll, `{"api_version":"v1","kind":"Secret","field_selector":"type=Opaque","field_masks":["data","metadata.labels"]}`))
	if err != nil {
		t.Fatal(err)
	}
	public := map[string]string{"public": "yes"}
	identity := []string{"apiVersion", "kind", "metadata.name", "metadata.namespace"}
	for name, c := range map[string]struct {
		object        object
		fields        []string
		shown, hidden bool
	}{
		"by its namespace":    {object{"a", "x", nil, "Opaque"}, identity, true, false},
		"by its label":        {object{"b", "x", public, "Opaque"}, append([]string{}, "apiVersion", "data", "kind", "metadata.name", "metadata.namespace"), true, false},
		"by both":             {object{"a", "x", public, "Opaque"}, append([]string{}, "apiVersion", "data", "kind", "metadata.name", "metadata.namespace"), true, false},
		"by neither":          {object{"b", "x", nil, "Opaque"}, nil, false, true},
		"of another type":     {object{"a", "x", nil, "Other"}, nil, false, false},
		"without a namespace": {object{"", "x", nil, "Opaque"}, nil, false, true},
	} {
		mask, shown, hidden := admitted.View.Show(c.object)
		if shown != c.shown || hidden != c.hidden {
			t.Errorf("%s: shown %t, hidden %t", name, shown, hidden)
		} else if diff := cmp.Diff(c.fields, mask.Paths()); shown && diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	policy, err := contextgate.NewPolicy(contextgate.ClusterAdmissionPolicy, "", "p", []contextgate.Grant{{Version: "v1", Resource: "secrets"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	gate := &contextgate.Gate{Mapper: mapper()}
	declared := []contextgate.Grant{{Version: "v1", Kind: "Secret"}, {Version: "v1", Resource: "configmaps"}, {Group: "a.b", Version: "v3", Kind: "Project"}}
	want := []string{
		"configmaps: the module reads it, and the policy was not granted it",
		"Project.a.b: the cluster serves no Project of a.b/v3",
	}
	if diff := cmp.Diff(want, gate.Missing(t.Context(), policy, declared)); diff != "" {
		t.Error(diff)
	}
	own, err := contextgate.NewPolicy("AdmissionPolicy", "team", "p", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := gate.Missing(t.Context(), own, declared); len(got) != 3 {
		t.Errorf("an AdmissionPolicy lacks %q", got)
	}
}

// TestGrantsInOtherWords has grants that name a resource by another word than the
// one that reads are judged by: they grant nothing, which is said where the resources
// of a policy are looked up.
func TestGrantsInOtherWords(t *testing.T) {
	t.Parallel()
	for want, grant := range map[string]contextgate.Grant{
		`contextAware[0], secret: resource: "secret" is not the plural, so it grants nothing; write "secrets"`:                              {Version: "v1", Resource: "secret"},
		`contextAware[0], configmaps: kind: "configmaps" is not the kind as the cluster writes it, so it grants nothing; write "ConfigMap"`: {Version: "v1", Kind: "configmaps"},
	} {
		policy, err := contextgate.NewPolicy(contextgate.ClusterAdmissionPolicy, "", "p", []contextgate.Grant{grant}, nil)
		if err != nil {
			t.Fatal(err)
		}
		resources, errs := policy.Resources(t.Context(), mapper())
		if len(resources) > 0 || len(errs) != 1 || errs[0].Error() != want {
			t.Errorf("%+v: %v, %v", grant, resources, errs)
		}
	}
}
