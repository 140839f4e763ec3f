package module_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"path/filepath"
	"testing"
	"time"
)

// recordings are a session in the shape that the tools of the ecosystem record.
const recordings = `
- type: Exchange
  request: |
    !KubernetesGetResource
    api_version: v1
    kind: Namespace
    name: shop
    namespace: null
    disable_cache: false
  response:
    type: Success
    payload: '{"kind":"Namespace","metadata":{"name":"shop"}}'
- type: Exchange
  request: |
    !KubernetesGetResource
    api_version: v1
    kind: Namespace
    name: gone
    namespace: null
    disable_cache: true
  response:
    type: Error
    message: Cannot find v1/Namespace named 'gone' inside of namespace 'None'
` + laterRecordings

// laterRecordings have an entry for each kind of call.
const laterRecordings = `
- type: Exchange
  request: |
    !KubernetesGetResourcePluralName
    api_version: example.com/v1
    kind: Cactus
  response:
    type: Success
    payload: '"cacti"'
- type: Exchange
  request: |
    !KubernetesListResourceAll
    api_version: example.com/v1
    kind: Cactus
    label_selector: null
    field_selector: imageMetadata.repository=demo/nginx,platform=linux/amd64
  response:
    type: Success
    payload: |
      {"items": ["a cactus"]}
- type: Exchange
  request: |
    !KubernetesCanI
    request:
      groups: null
      resource_attributes:
        group: ''
        name: null
        namespace: null
        resource: pods
        subresource: null
        verb: create
        version: null
      user: system:serviceaccount:default:my-service-account
    disable_cache: false
  response:
    type: Success
    payload: '{"allowed":true}'
- type: Exchange
  request: |
    !OciManifestDigest
    image: docker.io/library/busybox:1.36
  response:
    type: Success
    payload: '{"digest":"sha256:7edf"}'
- type: Exchange
  request: |
    !DNSLookupHost
    host: example.com
  response:
    type: Success
    payload: '{"ips":["192.0.2.1"]}'
- type: Exchange
  request: |
    !SigstoreGithubActionsVerify
    image: ghcr.io/team/web:v1
    owner: team
    repo: null
    annotations: null
  response:
    type: Success
    payload: '{"is_trusted":true,"digest":"sha256:1d9d"}'
`

const (
	shop    = `{"namespace":"kubernetes","operation":"get_resource","payload":{"api_version":"v1","kind":"Namespace","name":"shop","namespace":"","disable_cache":false}}`
	gone    = `{"namespace":"kubernetes","operation":"get_resource","payload":{"api_version":"v1","kind":"Namespace","name":"gone","disable_cache":true}}`
	cacti   = `{"namespace":"kubernetes","operation":"list_resources_all","payload":{"api_version":"example.com/v1","kind":"Cactus","field_selector":"imageMetadata.repository=demo/nginx,platform=linux/amd64"}}`
	mayThey = `{"namespace":"kubernetes","operation":"can_i","payload":{"subject_access_review":{"user":"system:serviceaccount:default:my-service-account","resource_attributes":{"group":"","resource":"pods","verb":"create"}},"disable_cache":false}}`
	busybox = `{"namespace":"oci","operation":"v1/manifest_digest","payload":"docker.io/library/busybox:1.36"}`
	lookUp  = `{"namespace":"net","operation":"v1/dns_lookup_host","payload":"example.com"}`
	byOwner = `{"namespace":"oci","operation":"v2/verify","payload":{"type":"SigstoreGithubActionsVerify","image":"ghcr.io/team/web:v1","owner":"team"}}`
	secret  = `{"namespace":"kubernetes","operation":"get_resource","payload":{"api_version":"v1","kind":"Secret","name":"s","namespace":"shop"}}`
)

// calling are settings that have the guest make calls.
func calling(calls ...string) string {
	all, sep := "", ""
	for _, c := range calls {
		all, sep = all+sep+c, ","
	}
	return `{"calls":[` + all + `]}`
}

// TestSessions has a policy ask for what a session holds.
func TestSessions(t *testing.T) {
	b := newBench(t)
	b.write("session.yml", recordings)
	replay := []string{"--replay-host-capabilities-interactions", "test_data/session.yml", "-r", "test_data/request.json"}
	cases := map[string]struct {
		words        []string
		match, never []string
	}{
		"one":                    {[]string{"--allow-context-aware", "annotated-policy.wasm", "--settings-json", calling(shop)}, []string{`"allowed":true`, `Namespace`, `the last \d entries`}, nil},
		"what is not there":      {[]string{"--allow-context-aware", "annotated-policy.wasm", "--settings-json", calling(shop, gone)}, []string{`"allowed":false`, `.*Cannot find v1/Namespace.*`}, nil},
		"all":                    {[]string{"--allow-context-aware", "annotated-policy.wasm", "--settings-json", calling(shop, cacti)}, []string{`"allowed":false`, `another request`}, nil},
		"without a grant":        {[]string{"annotated-policy.wasm", "--settings-json", calling(shop)}, []string{`"allowed":false`, `may not get namespaces`, `refused to the module`}, nil},
		"what is not declared":   {[]string{"--allow-context-aware", "annotated-policy.wasm", "--settings-json", calling(secret)}, []string{`"allowed":false`, `may not get secrets`}, nil},
		"no metadata":            {[]string{"--allow-context-aware", "policy.wasm", "--settings-json", calling(shop)}, []string{`"allowed":false`, `may not get namespaces`}, nil},
		"something else":         {[]string{"--allow-context-aware", "annotated-policy.wasm", "--settings-json", calling(busybox)}, []string{`"allowed":false`, `recorded is get v1 Namespace shop`}, nil},
		"rights without a grant": {[]string{"annotated-policy.wasm", "--settings-json", calling(mayThey)}, []string{`"allowed":false`, `kubernetes/can_i is not in the policy's capabilities`}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status, out, errs := b.run("", append(c.words, replay...)...)
			if status != 0 {
				t.Errorf("status %d", status)
			}
			checkOutput(t, out, errs, c.match, c.never)
		})
	}
	t.Run("in order", func(t *testing.T) {
		settings := `{"calls":[` + shop + `,` + gone + `],"fail":{"accepted":false,"message":"host call failed"}}`
		_, out, errs := b.run("", append([]string{"--allow-context-aware", "annotated-policy.wasm", "--settings-json", settings}, replay...)...)
		checkOutput(t, out, errs, []string{`"message":"host call failed"`, `the last \d entries`}, nil)
	})
	b.write("session.yml", laterRecordings)
	t.Run("each kind of call", func(t *testing.T) {
		words := append([]string{"--allow-context-aware", "annotated-policy.wasm", "--settings-json", calling(cacti, mayThey, busybox, lookUp, byOwner)}, replay...)
		status, out, errs := b.run("", words...)
		if status != 0 {
			t.Errorf("status %d", status)
		}
		checkOutput(t, out, errs, []string{`"allowed":true`, `a cactus`, `sha256:7edf`, `192\.0\.2\.1`, `sha256:1d9d`}, []string{`warning`, `refused`})
	})
	t.Run("recorded and played again", func(t *testing.T) {
		again := filepath.Join(b.dir, "again.yml")
		status, out, errs := b.run("", "annotated-policy.wasm", "-r", "request.json", "--record-host-capabilities-interactions", again, "--settings-json", calling(trust(t, time.Now())))
		if status != 0 {
			t.Fatal(errs)
		}
		checkOutput(t, out, errs, []string{`not trusted by the provided cert chain`}, nil)
		_, played, errs := b.run("", "annotated-policy.wasm", "-r", "request.json", "--replay-host-capabilities-interactions", "again.yml", "--settings-json", calling(trust(t, time.Now())))
		checkOutput(t, played, errs, []string{`another request`}, nil)
	})
}

// trust asks whether a certificate that signs itself is trusted.
func trust(t *testing.T, begin time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a"}, NotBefore: begin.Add(-time.Hour), NotAfter: begin.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for _, b := range pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}) {
		numbers = append(numbers, int(b))
	}
	data, err := json.Marshal(numbers)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"namespace":"crypto","operation":"v1/is_certificate_trusted","payload":{"cert":{"encoding":"Pem","data":%s},"cert_chain":null,"not_after":null}}`, data)
}

// TestCallsWithoutASession makes calls that nobody recorded: those that ask nobody
// are answered, and others are refused.
func TestCallsWithoutASession(t *testing.T) {
	b := newBench(t)
	b.write("session.yml", recordings)
	first := func(call string) string { return `{"callsFirst":true,"calls":[` + call + `]}` }
	for name, c := range map[string]struct {
		words  []string
		status int
		match  []string
	}{
		"a certificate":                  {[]string{"--settings-json", calling(trust(t, time.Now()))}, 0, []string{`"allowed":true`, `\\"trusted\\":false`}},
		"a certificate, and no":          {[]string{"--allowed-host-capabilities", "net/*", "--settings-json", calling(trust(t, time.Now()))}, 0, []string{`"allowed":false`, `crypto/v1/is_certificate_trusted is not in`}},
		"a session without it":           {[]string{"--replay-host-capabilities-interactions", "session.yml", "--settings-json", calling(trust(t, time.Now()))}, 0, []string{`"allowed":true`}},
		"an image":                       {[]string{"--settings-json", calling(busybox)}, 0, []string{`"allowed":false`, `oci/v1/manifest_digest is not in the policy's capabilities`, `refused to the module`}},
		"a host":                         {[]string{"--settings-json", calling(lookUp)}, 0, []string{`"allowed":false`, `net/v1/dns_lookup_host is not in`}},
		"an image, while validating":     {[]string{"--settings-json", first(busybox)}, 1, []string{`"valid":false`, `Provided settings are not valid: .*oci/v1/manifest_digest is not in`}},
		"an image, at a private place":   {[]string{"--allowed-host-capabilities", "oci/*", "--settings-json", calling(`{"namespace":"oci","operation":"v1/manifest_digest","payload":"127.0.0.1:1/a:b"}`)}, 0, []string{`"allowed":false`, `not a public address`}},
		"a call that nobody knows":       {[]string{"--allow-context-aware", "--replay-host-capabilities-interactions", "session.yml", "--settings-json", calling(`{"namespace":"cache","operation":"get","payload":{"key":"a"}}`)}, 0, []string{`"allowed":false`, `unknown host call`}},
		"no such capability":             {[]string{"--allowed-host-capabilities", "oci", "--settings-json", "{}"}, 2, []string{`capabilities\[0\]`}},
		"somebody, and no root of trust": {[]string{"--allowed-host-capabilities", "oci/v2/verify", "--settings-json", calling(byOwner)}, 0, []string{`"allowed":false`, `--sigstore-trusted-root`}},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := b.run("", append(c.words, "annotated-policy.wasm", "-r", "request.json")...)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			checkOutput(t, out, errs, c.match, nil)
		})
	}
}
