package recording_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/wasm/recording"
)

const recorded = `---
- type: Exchange
  request: |
    !KubernetesGetResource
    api_version: /v1
    kind: Pod
    name: p-testing
    namespace: local
    disable_cache: true
  response:
    type: Success
    payload: '{"kind":"Pod"}'
- type: Exchange
  request: |
    !KubernetesCanI
    subject_access_review:
      apiVersion: authorization.k8s.io/v1
      kind: SubjectAccessReview
      metadata: {}
      spec:
        resourceAttributes:
          group: ""
          resource: pods
          verb: create
        user: system:serviceaccount:default:a
    disable_cache: false
  response:
    type: Success
    payload: '{"allowed":true}'
- type: Exchange
  request: |
    !KubernetesCanI
    request:
      groups: null
      resource_attributes: {group: apps, name: null, namespace: null, resource: deployments, subresource: null, verb: create, version: null}
      user: system:serviceaccount:default:a
    disable_cache: false
  response:
    type: Error
    message: nobody is there
- type: Exchange
  request: |
    OciManifestDigest:
      image: busybox
  response: {type: Success, payload: '{"digest":"sha256:0"}'}
`

func admitted(t *testing.T, o hostcall.Operation, payload string) *contextgate.Admitted {
	t.Helper()
	request, err := hostcall.Decode(o, []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	return &contextgate.Admitted{Operation: o, Request: request}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	exchanges, err := recording.Parse([]byte(recorded))
	if err != nil {
		t.Fatal(err)
	}
	replay := recording.NewReplay(exchanges)
	for _, c := range []struct {
		op                   hostcall.Operation
		payload, answer, err string
	}{
		{hostcall.Log, `{}`, "", ""},
		{hostcall.GetResource, `{"api_version":"v1","kind":"Pod","name":"p-testing","namespace":"local","disable_cache":true,"field_masks":null}`, `{"kind":"Pod"}`, ""},
		{hostcall.MayI, `{"subject_access_review":{"user":"system:serviceaccount:default:a","groups":[],"resource_attributes":{"group":"","resource":"pods","verb":"create"}},"disable_cache":false}`, `{"allowed":true}`, ""},
		{hostcall.MayI, `{"request":{"user":"system:serviceaccount:default:a","resourceAttributes":{"group":"apps","resource":"deployments","verb":"create"}}}`, "", "nobody is there"},
		{hostcall.ManifestDigest, `"alpine"`, "", "entry 4 of the recorded session is another request"},
		{hostcall.ManifestDigest, `"busybox"`, "", "no entry left"},
	} {
		answer, err := replay.Answer(t.Context(), admitted(t, c.op, c.payload))
		if string(answer) != c.answer || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s %s: %q, %v", c.op, c.payload, answer, err)
		}
	}
	if len(replay.Left()) != 0 {
		t.Error("entries are left")
	}
}

type answers struct{ err error }

func (a answers) Answer(context.Context, *contextgate.Admitted) ([]byte, error) {
	return []byte("{\"a\":\n\"b\"}"), a.err
}

// TestRecord writes one entry of each call and reads them back.
func TestRecord(t *testing.T) {
	t.Parallel()
	recorder := &recording.Recorder{Backend: answers{}}
	calls := []struct {
		op      hostcall.Operation
		payload string
	}{
		{hostcall.ListAll, `{"api_version":"v1","kind":"Pod","label_selector":"a: b, \"c\"","field_masks":["b","a"]}`},
		{hostcall.ListByNamespace, `{"api_version":"apps/v1","kind":"Deployment","namespace":"123","disable_cache":true}`},
		{hostcall.GetResource, `{"api_version":"v1","kind":"Pod","name":"null","namespace":"true"}`},
		{hostcall.MayI, `{"request":{"user":"u","uid":"1","groups":["g"],"extra":{"k":["v"]},"resource_attributes":{"verb":"get","resource":"pods","name":"n"}}}`},
		{hostcall.ManifestDigest, `"i"`},
		{hostcall.Manifest, `"i"`},
		{hostcall.ManifestAndConfig, `"i"`},
		{hostcall.LookupHost, `"h"`},
		{hostcall.CertificateTrusted, `{"cert":{"encoding":"Pem","data":[1,2]},"cert_chain":[{"encoding":"Der","data":[]}],"not_after":"2030-01-01T00:00:00Z"}`},
		{hostcall.VerifyV1, `{"SigstorePubKeyVerify":{"image":"i","pub_keys":["-----BEGIN\nEND"],"annotations":{"a":"1"}}}`},
		{hostcall.VerifyV2, `{"type":"SigstoreKeylessVerify","image":"i","keyless":[{"issuer":"a","subject":"b"}]}`},
		{hostcall.VerifyV2, `{"type":"SigstoreKeylessPrefixVerify","image":"i","keyless_prefix":[{"issuer":"a","url_prefix":"b"}]}`},
		{hostcall.VerifyV2, `{"type":"SigstoreGithubActionsVerify","image":"i","owner":"o","repo":null}`},
		{hostcall.VerifyV2, `{"type":"SigstoreCertificateVerify","image":"i","certificate":[1],"certificate_chain":[[2]],"require_rekor_bundle":true}`},
	}
	for _, c := range calls {
		if _, err := recorder.Answer(t.Context(), admitted(t, c.op, c.payload)); err != nil {
			t.Fatal(err)
		}
	}
	recorder.Backend = answers{context.DeadlineExceeded}
	_, _ = recorder.Answer(t.Context(), admitted(t, hostcall.LookupHost, `"h"`))
	text, err := recording.Write(recorder.Exchanges())
	if err != nil {
		t.Fatal(err)
	}
	again, err := recording.Parse(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if diff := cmp.Diff(recorder.Exchanges(), again); diff != "" {
		t.Errorf("%s in\n%s", diff, text)
	}
	if !strings.HasPrefix(string(text), "- type: Exchange\n  request: |\n    !KubernetesListResourceAll\n    api_version: v1\n") {
		t.Errorf("the session begins\n%.200s", text)
	}
}

func TestBadSessions(t *testing.T) {
	t.Parallel()
	entry := func(request, response string) string {
		return "- type: Exchange\n  request: |\n    " + request + "\n  response: " + response + "\n"
	}
	good := "{type: Success, payload: ''}"
	for text, want := range map[string]string{
		"a: b":       "a list of entries",
		"- a":        "fields belong there",
		"[":          "cannot be read",
		"a: 1\na: 2": "list of entries",
		"- type: Other\n  request: a\n  response: b\n":                       "must be Exchange",
		"- type: Exchange\n  request: [a]\n  response: b\n":                  "fields belong there",
		"- type: Exchange\n  response: b\n":                                  "is missing",
		entry("!DNSLookupHost {host: x}", "{type: Success, payload: [255]}"): "not UTF-8",
		entry("!DNSLookupHost {host: x}", "{type: Success, payload: [256]}"): "list of bytes",
		"- type: Exchange\n  type: Exchange\n":                               "stands twice",
		"- type: Exchange\n  other: a\n":                                     "not known",
		entry("!Nothing {}", good):                                           "not a call that is known",
		entry("{}", good):                                                    "tag is missing",
		entry("!OciManifestDigest {image: a, other: b}", good):               "not known",
		entry("!OciManifestDigest {}", good):                                 "is missing",
		entry("!DNSLookupHost {host: &a x}", "{type: Maybe}"):                "Success or Error",
		entry("!DNSLookupHost {host: x}", "{type: Success}"):                 "must be a text",
		entry("!DNSLookupHost {host: 1.5}", good):                            "neither",
		entry("!KubernetesGetResource {kind: Pod}", good):                    "api_version and kind",
		entry("!KubernetesGetResource {<<: *x}", good):                       "unknown anchor",
		"- &x {type: Exchange}\n- *x\n":                                      "is missing",
	} {
		if _, err := recording.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse makes sure that no session panics, and that what was read can be
// written and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(recorded))
	f.Add([]byte("- type: Exchange\n  request: '!DNSLookupHost {host: \"\\u2028\"}'\n  response: {type: Error, message: \"a\\tb\"}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		exchanges, err := recording.Parse(text)
		if err != nil {
			return
		}
		written, err := recording.Write(exchanges)
		if err != nil {
			t.Fatal(err)
		}
		again, err := recording.Parse(written)
		if err != nil {
			t.Fatalf("%v in\n%s", err, written)
		}
		if diff := cmp.Diff(exchanges, again); diff != "" && len(exchanges) > 0 {
			t.Errorf("%s in\n%s", diff, written)
		}
	})
}

// TestWhatAHostAsked: what another host asked for itself is not an entry of the module.
func TestWhatAHostAsked(t *testing.T) {
	good := "\n  response:\n    type: Success\n    payload: '\"namespaces\"'\n"
	text := ""
	for _, request := range []string{
		"!KubernetesGetResourcePluralName {api_version: v1, kind: Namespace}",
		"!HasKubernetesListResourceAllResultChangedSinceInstant {api_version: v1, kind: Namespace, since: 1}",
		"!KubernetesListResourceAll {api_version: v1, kind: Namespace}",
	} {
		text += "- type: Exchange\n  request: '" + request + "'" + good
	}
	exchanges, err := recording.Parse([]byte(text))
	if err != nil || len(exchanges) != 1 {
		t.Errorf("%d entries, %v", len(exchanges), err)
	}
}
