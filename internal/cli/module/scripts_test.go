package module_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

// bench is a directory with what the scripts of policies have in theirs.
type bench struct {
	t   *testing.T
	dir string
}

func (b *bench) write(name, text string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	object := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"name":"a","image":"nginx"}]}}`
	b.write("request.json", `{"uid":"1299d386-525b-4032-98ae-1949f69f9cfc","operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"object":`+object+`}`)
	b.write("delete.json", `{"uid":"2","operation":"DELETE","object":null,"oldObject":`+object+`}`)
	b.write("review.json", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"3","object":`+object+`}}`)
	b.write("raw.json", `{"user":"tonio","action":"eats","resource":"hay"}`)
	b.write("list.json", `["a"]`)
	policy := clitest.Module(t, wasmtest.Any)
	for name, metadata := range map[string]string{
		"annotated-policy.wasm": `
rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE]}]
mutating: true
contextAwareResources: [{apiVersion: v1, kind: Namespace}, {apiVersion: example.com/v1, kind: Cactus}]
executionMode: kubewarden-wapc
annotations: {io.kubewarden.policy.title: any, io.kubewarden.policy.version: 1.0.0}
`,
		"raw-policy.wasm": "rules: []\nmutating: true\npolicyType: raw\nexecutionMode: kubewarden-wapc\n",
		"plain.wasm":      "rules: []\nmutating: false\nexecutionMode: kubewarden-wapc\n",
	} {
		meta := b.write(name+".yml", metadata)
		if status, _, errs := policyCommand(t, "", "annotate", "-m", meta, "-u", meta, "-o", filepath.Join(b.dir, name), policy); status != 0 {
			t.Fatal(errs)
		}
	}
	content, err := os.ReadFile(policy)
	if err != nil {
		t.Fatal(err)
	}
	b.write("policy.wasm", string(content))
	return b
}

// run runs a command line with the files of the bench. Words that name one stand
// for it.
func (b *bench) run(stdin string, words ...string) (status int, out, errs string) {
	b.t.Helper()
	args := []string{"run"}
	for _, w := range words {
		flag, name, ok := strings.Cut(w, "=")
		if !ok || !strings.HasPrefix(flag, "--") {
			flag, name = "", w
		} else {
			flag += "="
		}
		if path := filepath.Join(b.dir, strings.TrimPrefix(name, "test_data/")); name != "" && !strings.ContainsAny(name, "{*") {
			if _, err := os.Stat(path); err == nil {
				name = path
			}
		}
		args = append(args, flag+name)
	}
	return policyCommand(b.t, stdin, args...)
}

// TestScripts runs the command lines that the scripts of policies test them with, and
// looks for what those look for, in what bats sees: both streams.
func TestScripts(t *testing.T) {
	b := newBench(t)
	b.write("settings.yml", "answer:\n  accepted: false\n  message: 'Priority class \"critical\" is not allowed'\n  code: 403\n")
	b.write("settings.json", `{"answer":{"accepted":true}}`)
	b.write("empty.yml", "")
	mutating := `{"answer":{"accepted":true,"mutated_object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"nginx"}]}}}}`
	same := `{"answer":{"accepted":true,"mutated_object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"name":"a","image":"nginx"}]}}}}`
	refusing := `{"answer":{"accepted":false,"message":"ingress host conflicts with an existing ingress <foo.bar.com>"}}`
	cases := map[string]struct {
		words []string
		// status is -1 where a script wants any but 0.
		status       int
		match, never []string
	}{
		"module first":          {[]string{"annotated-policy.wasm", "-r", "test_data/request.json"}, 0, []string{`.*allowed.*true`, `"allowed":true`}, []string{`.*patch.*`}},
		"module last":           {[]string{"--request-path", "test_data/request.json", "--settings-path", "test_data/settings.json", "annotated-policy.wasm"}, 0, []string{`.*"allowed":true.*`}, nil},
		"no metadata":           {[]string{"policy.wasm", "-r", "request.json"}, 0, []string{`"allowed":true`}, nil},
		"an address":            {[]string{"file://" + b.dir + "/annotated-policy.wasm", "-r", "request.json"}, 0, []string{`"allowed":true`}, nil},
		"a review":              {[]string{"annotated-policy.wasm", "-r", "review.json"}, 0, []string{`"uid":"3","allowed":true`}, nil},
		"empty settings":        {[]string{"annotated-policy.wasm", "-r", "request.json", "--settings-json", "{}"}, 0, []string{`"allowed":true`}, nil},
		"no settings":           {[]string{"annotated-policy.wasm", "-r", "request.json", "--settings-json", ""}, 0, []string{`"allowed":true`}, nil},
		"an empty file":         {[]string{"annotated-policy.wasm", "-r", "request.json", "-s", "empty.yml"}, 0, []string{`"allowed":true`}, nil},
		"-s, a file":            {[]string{"annotated-policy.wasm", "-r", "request.json", "-s", "test_data/settings.yml"}, 0, []string{`.*"allowed":false.*`, `"message":"Priority class \\"critical\\" is not allowed`, `"code":403`}, nil},
		"-s, JSON":              {[]string{"annotated-policy.wasm", "-r", "request.json", "-s", refusing}, 0, []string{`.*allowed.*false`, `existing ingress <foo\.bar\.com>`}, nil},
		"--settings-json":       {[]string{"annotated-policy.wasm", "-r", "request.json", "--settings-json", refusing}, 0, []string{`.*allowed.*false`}, nil},
		"with =":                {[]string{"annotated-policy.wasm", "--request-path=request.json", "--settings-json=" + refusing}, 0, []string{`.*allowed.*false`}, nil},
		"-e kubewarden":         {[]string{"-e", "kubewarden", "annotated-policy.wasm", "-r", "request.json"}, 0, []string{`"allowed":true`}, nil},
		"--execution-mode":      {[]string{"--execution-mode", "kubewarden", "annotated-policy.wasm", "-r", "request.json"}, 0, []string{`"allowed":true`}, nil},
		"another mode":          {[]string{"-e", "wasi", "annotated-policy.wasm", "-r", "request.json"}, -1, []string{`wapc, and not wasi`}, nil},
		"no cache":              {[]string{"--disable-wasmtime-cache", "annotated-policy.wasm", "-r", "request.json"}, 0, []string{`"allowed":true`}, nil},
		"changed":               {[]string{"annotated-policy.wasm", "-r", "request.json", "--settings-json", mutating}, 0, []string{`"allowed":true`, `"patchType":"JSONPatch"`, `.*patch.*`, `.*JSONPatch.*`}, nil},
		"not changed":           {[]string{"annotated-policy.wasm", "-r", "request.json", "--settings-json", same}, 0, []string{`"allowed":true`}, []string{`.*patch.*`, `JSONPatch`}},
		"changed, no metadata":  {[]string{"policy.wasm", "-r", "request.json", "--settings-json", mutating}, 0, []string{`"patchType":"JSONPatch"`}, nil},
		"changed, deleted":      {[]string{"annotated-policy.wasm", "-r", "delete.json", "--settings-json", mutating}, 0, []string{`"allowed":false`, `the request has none`}, []string{`patchType`}},
		"changed, may not":      {[]string{"plain.wasm", "-r", "request.json", "--settings-json", mutating}, -1, []string{`"allowed":false`, `"code":500`}, []string{`patchType`}},
		"settings refused":      {[]string{"annotated-policy.wasm", "-r", "request.json", "--settings-json", `{"invalid":"missing closing ]: ` + "`[12$`" + `"}`}, 1, []string{`.*valid.*false`, `"valid":false`, "Provided settings are not valid: missing closing ]: `\\[12\\$`"}, []string{`allowed`}},
		"settings not read":     {[]string{"annotated-policy.wasm", "-r", "request.json", "--settings-json", `{"invalid":7}`}, 1, []string{`"valid":false`, `Provided settings are not valid`, `cannot unmarshal number`}, nil},
		"settings broken":       {[]string{"annotated-policy.wasm", "-r", "request.json", "--settings-json", `{"broken":"no matching overload for '_+_' applied to '(string, int)'"}`}, 1, []string{`.*no matching overload for '_\+_' applied to '\(string, int\).*`}, nil},
		"accepted, and says":    {[]string{"annotated-policy.wasm", "-r", "request.json", "--settings-json", `{"answer":{"accepted":true,"message":"seen","warnings":["old"],"audit_annotations":{"a":"b"}}}`}, 0, []string{`"allowed":true,"status":{"message":"seen"}`, `"warnings":\["old"\]`, `"auditAnnotations":{"a":"b"}`}, nil},
		"raw":                   {[]string{"--raw", "annotated-policy.wasm", "--request-path", "test_data/raw.json", "--settings-path", "test_data/settings.json"}, 0, []string{`"uid":"","allowed":true`}, nil},
		"raw, by metadata":      {[]string{"--request-path", "raw.json", "--settings-json", `{"answer":{"accepted":true,"mutated_object":{"user":"tonio","action":"eats","resource":"rice"}}}`, "raw-policy.wasm"}, 0, []string{`"allowed":true`, `"patchType":"JSONPatch"`}, nil},
		"raw, and changed":      {[]string{"--raw", "-r", "raw.json", "--settings-json", `{"answer":{"accepted":true,"mutated_object":{}}}`, "policy.wasm"}, 0, []string{`"patchType":"JSONPatch"`}, nil},
		"raw, refused":          {[]string{"--raw", "-r", "raw.json", "--settings-json", `{"answer":{"accepted":false,"message":"this request is not accepted"}}`, "annotated-policy.wasm"}, 0, []string{`"allowed":false`, `"message":"this request is not accepted"`}, nil},
		"raw, a review":         {[]string{"--raw", "-r", "review.json", "annotated-policy.wasm"}, 0, []string{`"uid":"","allowed":true`}, nil},
		"raw, a list":           {[]string{"--raw", "-r", "list.json", "annotated-policy.wasm"}, 0, []string{`"allowed":true`}, nil},
		"not raw":               {[]string{"-r", "list.json", "annotated-policy.wasm"}, -1, []string{`holds no AdmissionRequest`}, []string{`allowed`}},
		"no such request":       {[]string{"-r", "nothing.json", "annotated-policy.wasm"}, -1, []string{`cannot be read`}, []string{`allowed`}},
		"a key, and a file":     {[]string{"-k", "settings.yml", "-r", "request.json", "annotated-policy.wasm"}, -1, []string{`is in no registry`}, []string{`allowed`}},
		"annotations, no key":   {[]string{"-a", "a=b", "-r", "request.json", "annotated-policy.wasm"}, -1, []string{`needs somebody who signed`}, []string{`allowed`}},
		"half an identity":      {[]string{"--cert-email", "a@example.com", "-r", "request.json", "annotated-policy.wasm"}, -1, []string{`belong together`}, []string{`allowed`}},
		"registry with a path":  {[]string{"--insecure-registry", "a/b", "-r", "request.json", "annotated-policy.wasm"}, -1, []string{`is not HOST`}, []string{`allowed`}},
		"no such root of trust": {[]string{"--sigstore-trusted-root", "nothing", "-r", "request.json", "annotated-policy.wasm"}, -1, []string{`--sigstore-trusted-root`}, []string{`allowed`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status, out, errs := b.run("", c.words...)
			if c.status >= 0 && status != c.status || c.status < 0 && status == 0 {
				t.Errorf("status %d", status)
			}
			checkOutput(t, out, errs, c.match, c.never)
		})
	}
	t.Run("standard input", func(t *testing.T) {
		request, err := os.ReadFile(filepath.Join(b.dir, "request.json"))
		if err != nil {
			t.Fatal(err)
		}
		status, out, errs := b.run(string(request), "--request-path", "-", "annotated-policy.wasm")
		if status != 0 || !strings.Contains(out, `"uid":"1299d386-525b-4032-98ae-1949f69f9cfc","allowed":true`) {
			t.Errorf("status %d: %s%s", status, out, errs)
		}
	})
}

// checkOutput looks in both streams as scripts do, where a dot is a new line as well,
// and makes sure that standard output is one line of JSON, or nothing.
func checkOutput(t *testing.T, out, errs string, match, never []string) {
	t.Helper()
	both := errs + out
	for _, pattern := range match {
		if !regexp.MustCompile(`(?s)` + pattern).MatchString(both) {
			t.Errorf("without %s:\n%s", pattern, both)
		}
	}
	for _, pattern := range never {
		if regexp.MustCompile(`(?s)` + pattern).MatchString(both) {
			t.Errorf("with %s:\n%s", pattern, both)
		}
	}
	if out != "" && (!json.Valid([]byte(out)) || strings.Count(out, "\n") != 1) {
		t.Errorf("standard output is not one line of JSON:\n%s", out)
	}
}
