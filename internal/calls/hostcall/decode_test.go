package hostcall_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	canI := &hostcall.CanI{User: "system:serviceaccount:default:a", Verb: "create", Resource: "pods"}
	for name, c := range map[string]struct {
		op      hostcall.Operation
		payload string
		want    hostcall.Request
		err     string
	}{
		"get": {hostcall.GetResource, `{"api_version":"/v1","kind":"Pod","name":"a","namespace":"b","disable_cache":true,"field_masks":["z","a","z"]}`,
			&hostcall.Read{Operation: hostcall.GetResource, APIVersion: "v1", Kind: "Pod", Name: "a", Namespace: "b", DisableCache: true, FieldMasks: []string{"a", "z"}}, ""},
		"list all with nulls": {hostcall.ListAll, `{"api_version":"v1","kind":"Pod","label_selector":null,"field_selector":null,"field_masks":null,"later":{"a":1}}`,
			&hostcall.Read{Operation: hostcall.ListAll, APIVersion: "v1", Kind: "Pod"}, ""},
		"list in a namespace": {hostcall.ListByNamespace, `{"api_version":"v1","kind":"Pod","namespace":"n","label_selector":"a=b","field_selector":"c=d"}`,
			&hostcall.Read{Operation: hostcall.ListByNamespace, APIVersion: "v1", Kind: "Pod", Namespace: "n", LabelSelector: "a=b", FieldSelector: "c=d"}, ""},
		"a name twice":             {hostcall.ListAll, `{"api_version":"v1","kind":"Pod","kind":"Secret"}`, nil, "kind"},
		"a name twice deep inside": {hostcall.ListAll, `{"api_version":"v1","kind":"Pod","x":{"a":1,"a":2}}`, nil, "more than once"},
		"a name in another case":   {hostcall.ListAll, `{"api_version":"v1","kind":"Pod","Kind":"Secret"}`, nil, `it is spelled "kind"`},
		"a name without its line":  {hostcall.ListAll, `{"apiVersion":"v1","api_version":"v1","kind":"Pod"}`, nil, `it is spelled "api_version"`},
		"no kind":                  {hostcall.ListAll, `{"api_version":"v1"}`, nil, "are needed"},
		"no name":                  {hostcall.GetResource, `{"api_version":"v1","kind":"Pod"}`, nil, "name is needed"},
		"no namespace":             {hostcall.ListByNamespace, `{"api_version":"v1","kind":"Pod"}`, nil, "namespace is needed"},
		"a number for a kind":      {hostcall.ListAll, `{"api_version":"v1","kind":1}`, nil, "kind"},
		"not JSON":                 {hostcall.ListAll, `{`, nil, "cannot be read"},
		"trailing":                 {hostcall.ListAll, `{"api_version":"v1","kind":"Pod"}{}`, nil, "cannot be read"},
		"too long":                 {hostcall.ListAll, strings.Repeat(" ", hostcall.MaxPayload+1), nil, "at most"},
		"can_i bare": {hostcall.MayI, `{"subject_access_review":{"groups":null,"resource_attributes":{"group":null,"resource":"pods","verb":"create"},"user":"system:serviceaccount:default:a"},"disable_cache":false}`,
			canI, ""},
		"can_i as request":   {hostcall.MayI, `{"request":{"resourceAttributes":{"group":"","resource":"pods","verb":"create"},"user":"system:serviceaccount:default:a"}}`, canI, ""},
		"can_i below spec":   {hostcall.MayI, `{"subject_access_review":{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","metadata":{},"spec":{"resourceAttributes":{"group":"","resource":"pods","verb":"create"},"user":"system:serviceaccount:default:a"}}}`, canI, ""},
		"can_i twice":        {hostcall.MayI, `{"request":{"user":"a","resource_attributes":{"verb":"get","resource":"pods"},"resourceAttributes":{"verb":"list","resource":"pods"}}}`, nil, "two spellings"},
		"can_i two reviews":  {hostcall.MayI, `{"request":{},"subject_access_review":{}}`, nil, "two spellings"},
		"can_i of a path":    {hostcall.MayI, `{"request":{"user":"a","nonResourceAttributes":{"path":"/metrics"}}}`, nil, "only verbs on resources"},
		"can_i by nobody":    {hostcall.MayI, `{"request":{"resource_attributes":{"verb":"get","resource":"pods"}}}`, nil, "user is needed"},
		"can_i about naught": {hostcall.MayI, `{"request":{"user":"a"}}`, nil, "resource_attributes is needed"},
		"digest":             {hostcall.ManifestDigest, `"busybox"`, &hostcall.Image{Operation: hostcall.ManifestDigest, Image: "busybox"}, ""},
		"digest of nothing":  {hostcall.ManifestDigest, `""`, nil, "an image belongs there"},
		"host":               {hostcall.LookupHost, `"example.com"`, &hostcall.Lookup{Host: "example.com"}, ""},
		"verify v1": {hostcall.VerifyV1, `{"SigstorePubKeyVerify":{"image":"i","pub_keys":["k"],"annotations":null}}`,
			&hostcall.Verify{Type: hostcall.PubKey, Image: "i", PubKeys: []string{"k"}}, ""},
		"verify v2": {hostcall.VerifyV2, `{"type":"SigstorePubKeyVerify","image":"i","pub_keys":["k"],"annotations":{}}`,
			&hostcall.Verify{Type: hostcall.PubKey, Image: "i", PubKeys: []string{"k"}}, ""},
		"verify without keys":   {hostcall.VerifyV2, `{"type":"SigstorePubKeyVerify","image":"i","pub_keys":[]}`, nil, "anybody's"},
		"verify two at once":    {hostcall.VerifyV1, `{"SigstorePubKeyVerify":{"image":"i","pub_keys":["k"]},"SigstoreKeylessVerify":{}}`, nil, "one verification"},
		"verify something else": {hostcall.VerifyV2, `{"type":"Other","image":"i"}`, nil, "not known"},
		"certificate": {hostcall.CertificateTrusted, `{"cert":{"encoding":"Pem","data":[45,45]},"cert_chain":[{"encoding":"Der","data":[1]}],"not_after":null}`,
			&hostcall.Trust{Certificate: hostcall.Certificate{Encoding: "Pem", Data: []byte("--")}, Chain: []hostcall.Certificate{{Encoding: "Der", Data: []byte{1}}}}, ""},
		"certificate of no bytes": {hostcall.CertificateTrusted, `{"cert":{"encoding":"Pem","data":[256]}}`, nil, "not a byte"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := hostcall.Decode(c.op, []byte(c.payload))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []hostcall.Call{
		{Binding: "kubewarden", Namespace: "kubernetes", Operation: "ingresses"},
		{Binding: "kubewarden", Namespace: "kubernetes", Operation: "namespaces"},
		{Binding: "kubewarden", Namespace: "kubernetes", Operation: "services"},
		{Binding: "Kubewarden", Namespace: "kubernetes", Operation: "can_i"},
		{Binding: "kubewarden", Namespace: "kubernetes/", Operation: "can_i"},
		{Binding: "kubewarden", Namespace: "oci/v1", Operation: "Verify"},
		{},
	} {
		if o, err := c.Find(); err == nil {
			t.Errorf("%+v was taken for %s", c, o)
		}
	}
	for _, o := range hostcall.Operations() {
		namespace, operation, _ := strings.Cut(string(o), "/")
		if got, err := (hostcall.Call{Binding: "kubewarden", Namespace: namespace, Operation: operation}).Find(); got != o || err != nil {
			t.Errorf("%s was not found: %v", o, err)
		}
	}
}

// FuzzDecode makes sure that no payload panics, and that what Peek sees is what
// Decode sees.
func FuzzDecode(f *testing.F) {
	f.Add(uint8(0), []byte(`{"api_version":"v1","kind":"Pod","namespace":"n"}`))
	f.Add(uint8(3), []byte(`{"request":{"user":"a","resource_attributes":{"verb":"get","resource":"pods"}}}`))
	f.Add(uint8(5), []byte(`{"type":"SigstoreCertificateVerify","image":"i","certificate":[1,2]}`))
	f.Add(uint8(10), []byte(`{"cert":{"encoding":"Pem","data":[1]}}`))
	f.Fuzz(func(t *testing.T, which uint8, payload []byte) {
		o := hostcall.Operations()[int(which)%len(hostcall.Operations())]
		request, err := hostcall.Decode(o, payload)
		if err != nil {
			return
		}
		_ = request.About()
		if read, ok := request.(*hostcall.Read); ok {
			apiVersion, kind, err := hostcall.Peek(payload)
			if err != nil || apiVersion != read.APIVersion || kind != read.Kind {
				t.Errorf("peeked at %s %s (%v), decoded %s %s", apiVersion, kind, err, read.APIVersion, read.Kind)
			}
		}
	})
}
