package module_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli"
	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cli/module"
	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

func policyCommand(t *testing.T, stdin string, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = cli.Main(t.Context(), append([]string{"policy"}, args...), command.Streams{In: strings.NewReader(stdin), Out: &stdout, Err: &stderr})
	return status, stdout.String(), stderr.String()
}

const (
	admitted  = `{"uid":"u-1","operation":"CREATE","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[]}}}`
	onNetwork = `{"uid":"u-1","object":{"kind":"Pod","metadata":{"name":"web"},"spec":{"hostNetwork":true}}}`
	reads     = `{"namespace":"shop"}`
	metadata  = `
rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
mutating: true
executionMode: kubewarden-wapc
contextAwareResources: [{apiVersion: v1, kind: Namespace}]
annotations: {io.kubewarden.policy.title: no-host-network}
`
	recordedSession = `
- type: Exchange
  request: |
    !KubernetesGetResource
    api_version: v1
    kind: Namespace
    name: shop
    disable_cache: false
  response:
    type: Success
    payload: '{"kind":"Namespace","metadata":{"name":"shop"}}'
`
)

func TestPolicyRun(t *testing.T) {
	wapc, wasi := clitest.Module(t, wasmtest.WaPC), clitest.Module(t, wasmtest.WASI)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	meta, replay, settings := write("metadata.yml", metadata), write("session.yml", recordedSession), write("settings.yml", "label: mine\n")
	notWasm, truncated := write("text.wasm", "no module"), filepath.Join(dir, "short.wasm")
	annotated := filepath.Join(dir, "annotated.wasm")
	if status, _, errs := policyCommand(t, "", "annotate", wapc, "-m", meta, "-o", annotated); status != 0 {
		t.Fatal(errs)
	}
	whole, err := os.ReadFile(wapc)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(truncated, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	review := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":` + onNetwork + `}`
	cases := map[string]struct {
		stdin  string
		args   []string
		status int
		out    string
		errs   string
	}{
		"accepted":                 {admitted, []string{wapc}, 0, `{"uid":"u-1","allowed":true`, ""},
		"accepted, WASI":           {admitted, []string{wasi, "-e", "wasi"}, 0, `"allowed":true`, ""},
		"refused":                  {onNetwork, []string{wapc}, 0, `"allowed":false,"status":{"message":"host network is not allowed`, "a pod on the host's network"},
		"refused, with a review":   {review, []string{wapc}, 0, `{"uid":"u-1","allowed":false`, ""},
		"settings refused":         {admitted, []string{wapc, "--settings-json", `{"label":"forbidden"}`}, 1, `{"valid":false,"message":"the label must not be forbidden"}`, "Provided settings are not valid: the label must not be forbidden"},
		"changed":                  {admitted, []string{annotated, "--settings-path", settings}, 0, `"patchType":"JSONPatch"`, ""},
		"reads without a grant":    {admitted, []string{annotated, "--settings-json", reads}, 0, "no context: ", "refused to the module: "},
		"reads what was recorded":  {admitted, []string{annotated, "--settings-json", reads, "--allow-context-aware", "--replay-host-capabilities-interactions", replay}, 0, `"allowed":true`, ""},
		"reads what it declares":   {admitted, []string{wapc, "--settings-json", reads, "--allow-context-aware", "--replay-host-capabilities-interactions", replay}, 0, "no context: ", "refused to the module: "},
		"reads something else":     {admitted, []string{annotated, "--settings-json", `{"namespace":"other"}`, "--allow-context-aware", "--replay-host-capabilities-interactions", replay}, 0, "no context: ", ""},
		"crashes":                  {admitted, []string{wapc, "--settings-json", `{"panic":true}`}, 2, `"code":500`, ""},
		"another mode":             {admitted, []string{wapc, "-e", "wasi"}, 2, "", "and not"},
		"Rego":                     {admitted, []string{wapc, "-e", "opa"}, 2, "", "the module is wapc, and not rego"},
		"no such mode":             {admitted, []string{wapc, "-e", "jvm"}, 2, "", "no execution mode"},
		"no module":                {admitted, []string{notWasm}, 2, "", "not WebAssembly"},
		"half a module":            {admitted, []string{truncated}, 2, "", "was cut off or damaged"},
		"not there":                {admitted, []string{filepath.Join(dir, "nothing.wasm")}, 2, "", "cannot be read"},
		"no JSON":                  {"{", []string{wapc}, 2, "", "is not JSON"},
		"no request":               {"[]", []string{wapc}, 2, "", "holds no AdmissionRequest"},
		"settings twice":           {admitted, []string{wapc, "--settings-json", "{}", "--settings-path", settings}, 2, "", "give one of"},
		"replayed and recorded":    {admitted, []string{wapc, "--replay-host-capabilities-interactions", replay, "--record-host-capabilities-interactions", "x"}, 2, "", "one of the two"},
		"two modules":              {admitted, []string{wapc, wasi}, 2, "", "one MODULE is expected"},
		"anything, raw":            {`{"user":"ann"}`, []string{wapc, "--raw"}, 0, `"allowed":true`, ""},
		"a session that is none":   {admitted, []string{annotated, "--replay-host-capabilities-interactions", meta}, 2, "", "metadata.yml"},
		"settings that are broken": {admitted, []string{wapc, "--settings-json", "{"}, 2, "", "neither JSON nor YAML"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status, out, errs := policyCommand(t, c.stdin, append([]string{"run", "-r", "-"}, c.args...)...)
			if status != c.status || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || c.out == "" && out != "" {
				t.Errorf("status %d\nout: %s\nerr: %s", status, out, errs)
			}
		})
	}
	_, out, _ := policyCommand(t, admitted, "run", "-r", "-", annotated, "--settings-path", settings)
	var answer struct{ Patch string }
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	if patch, err := base64.StdEncoding.DecodeString(answer.Patch); err != nil || !strings.Contains(string(patch), `"mine":"set"`) {
		t.Errorf("patch %s, %v", patch, err)
	}
}

func TestPolicyInspect(t *testing.T) {
	wapc := clitest.Module(t, wasmtest.WaPC)
	dir := t.TempDir()
	meta, annotated := filepath.Join(dir, "metadata.yml"), filepath.Join(dir, "annotated.wasm")
	if err := os.WriteFile(meta, []byte(metadata+"future: field\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, _, errs := policyCommand(t, "", "annotate", wapc, "-m", meta, "-o", annotated)
	if status != 0 || !strings.Contains(errs, "future is not known") {
		t.Fatalf("status %d: %s", status, errs)
	}
	status, out, errs := policyCommand(t, "", "inspect", annotated)
	for _, want := range []string{"Protocol        wapc", "Title           no-host-network", "Judges          CREATE of pods in core/v1", "Asks to read    v1 Namespace", "Not known       future", "sha256:"} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, without %q:\n%s%s", status, want, out, errs)
		}
	}
	_, out, _ = policyCommand(t, "", "inspect", annotated, "-o", "json")
	var said module.Inspected
	if err := json.Unmarshal([]byte(out), &said); err != nil || len(said.Context) != 1 || said.Protocol == "" || len(said.Problems) > 0 {
		t.Errorf("%+v, %v", said, err)
	}
	if status, out, _ := policyCommand(t, "", "inspect", wapc); status != 0 || !strings.Contains(out, "Metadata        none") || !strings.Contains(out, "Asks to read    nothing") {
		t.Errorf("status %d:\n%s", status, out)
	}
	broken := filepath.Join(dir, "broken.wasm")
	if err := os.WriteFile(broken, []byte("\x00asm\x01\x00\x00\x00\x00\x1f\x16io.kubewarden.metadata{no json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out, _ := policyCommand(t, "", "inspect", broken); status != 2 || strings.Count(out, "Problem") != 2 {
		t.Errorf("status %d:\n%s", status, out)
	}
	for name, args := range map[string][]string{
		"no metadata":   {"annotate", wapc, "-o", annotated},
		"no output":     {"annotate", wapc, "-m", meta},
		"no module":     {"annotate", meta, "-m", meta, "-o", filepath.Join(dir, "x")},
		"a format":      {"inspect", wapc, "-o", "xml"},
		"no such thing": {"inspect", "registry://127.0.0.1:1/nothing"},
	} {
		if status, _, errs := policyCommand(t, "", args...); status != 2 || errs == "" {
			t.Errorf("%s: status %d: %s", name, status, errs)
		}
	}
}
