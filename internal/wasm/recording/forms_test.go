package recording_test

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/wasm/recording"
)

// TestForms reads sessions in the forms that the tools of the ecosystem wrote over
// the years, and answers from them.
func TestForms(t *testing.T) {
	t.Parallel()
	const ingresses = `{"api_version":"networking.k8s.io/v1","kind":"Ingress","label_selector":null,"field_selector":null}`
	cases := map[string]struct {
		session string
		op      hostcall.Operation
		payload string
		answer  string
	}{
		"a list, its answer in a block": {`
- type: Exchange
  request: |
    !KubernetesListResourceAll
    api_version: networking.k8s.io/v1
    kind: Ingress
    label_selector: null
    field_selector: null
  response:
    type: Success
    payload: |
      {"items": []}
`, hostcall.ListAll, ingresses, "{\"items\": []}\n"},
		"a list that may not come from a cache": {`
- type: Exchange
  request: |
    !KubernetesListResourceAll
    api_version: networking.k8s.io/v1
    kind: Ingress
    label_selector: null
    field_selector: null
    disable_cache: false
    field_masks: null
  response: {type: Success, payload: '[]'}
`, hostcall.ListAll, `{"api_version":"networking.k8s.io/v1","kind":"Ingress","disable_cache":true}`, "[]"},
		"masks in any order": {`
- type: Exchange
  request: |
    !KubernetesListResourceNamespace
    api_version: v1
    kind: Pod
    namespace: shop
    label_selector: app=web
    field_selector: spec.nodeName=a,status.phase=Running
    disable_cache: false
    field_masks:
    - metadata.name
    - spec.containers.image
  response: {type: Success, payload: '[]'}
`, hostcall.ListByNamespace, `{"api_version":"v1","kind":"Pod","namespace":"shop","label_selector":"app=web","field_selector":"spec.nodeName=a,status.phase=Running","field_masks":["spec.containers.image","metadata.name"]}`, "[]"},
		"below one name": {`
- type: Exchange
  request: |
    ---
    KubernetesListResourceAll:
      api_version: networking.k8s.io/v1
      kind: Ingress
      label_selector: ~
      field_selector: ~
  response: {type: Success, payload: '[]'}
`, hostcall.ListAll, ingresses, "[]"},
		"a request that is not text, an answer in bytes": {`
- type: Exchange
  request: !OciManifestDigest {image: 'docker.io/library/busybox:1.36'}
  response: {type: Success, payload: [123, 125]}
`, hostcall.ManifestDigest, `"docker.io/library/busybox:1.36"`, "{}"},
		"what a host asked itself before": {`
- type: Exchange
  request: |
    !KubernetesGetResourcePluralName
    api_version: networking.k8s.io/v1
    kind: Ingress
  response: {type: Success, payload: '"ingresses"'}
- type: Exchange
  request: |
    !HasKubernetesListResourceAllResultChangedSinceInstant
    api_version: networking.k8s.io/v1
    kind: Ingress
    label_selector: null
    field_selector: null
    since:
      secs: 3
      nanos: 141592653
  response: {type: Success, payload: 'true'}
- type: Exchange
  request: |
    !KubernetesListResourceAll
    api_version: networking.k8s.io/v1
    kind: Ingress
  response: {type: Success, payload: '[]'}
- type: Exchange
  request: "!KubernetesGetResourcePluralName {api_version: v1, kind: Pod}"
  response: {type: Success, payload: '"pods"'}
`, hostcall.ListAll, ingresses, "[]"},
		"a verification of the first form": {`
- type: Exchange
  request: |
    !SigstorePubKeyVerify
    image: registry.example.com/web:1
    pub_keys:
    - |
      -----BEGIN PUBLIC KEY-----
      MFkw
      -----END PUBLIC KEY-----
    annotations:
      env: prod
  response: {type: Success, payload: '{"is_trusted":true,"digest":"sha256:0"}'}
`, hostcall.VerifyV1, `{"SigstorePubKeyVerify":{"image":"registry.example.com/web:1","pub_keys":["-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n"],"annotations":{"env":"prod"}}}`, `{"is_trusted":true,"digest":"sha256:0"}`},
		"a certificate": {`
- type: Exchange
  request: |
    !CryptoIsCertificateTrusted
    request:
      cert:
        encoding: Pem
        data:
        - 45
        - 45
      cert_chain: null
      not_after: null
  response: {type: Success, payload: '{"trusted":false,"reason":"no"}'}
`, hostcall.CertificateTrusted, `{"cert":{"encoding":"Pem","data":[45,45]},"cert_chain":null,"not_after":""}`, `{"trusted":false,"reason":"no"}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exchanges, err := recording.Parse([]byte(c.session))
			if err != nil {
				t.Fatal(err)
			}
			replay := recording.NewReplay(exchanges)
			answer, err := replay.Answer(t.Context(), admitted(t, c.op, c.payload))
			if err != nil || string(answer) != c.answer {
				t.Errorf("%q, %v", answer, err)
			}
			if left := replay.Left(); len(left) > 0 {
				t.Errorf("%d entries are left", len(left))
			}
		})
	}
}
