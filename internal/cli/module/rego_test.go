package module_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/module"
	"github.com/sallyport-io/sallyport/internal/wasm/regoguest"
)

// regoGuest compiles a policy in Rego, and annotates it.
func regoGuest(t *testing.T, mode, entrypoint, metadata string) (plain, annotated string) {
	t.Helper()
	raw, err := regoguest.CompileFile(t.Context(), filepath.Join("..", "..", "wasm", "testdata", "guests", "rego", mode+".rego"), entrypoint)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	plain, annotated = filepath.Join(dir, mode+".wasm"), filepath.Join(dir, mode+"-annotated.wasm")
	file := filepath.Join(dir, "metadata.yml")
	for name, content := range map[string][]byte{plain: raw, file: []byte(metadata)} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if status, _, errs := policyCommand(t, "", "annotate", plain, "-m", file, "-o", annotated); status != 0 {
		t.Fatal(errs)
	}
	return plain, annotated
}

func regoMetadata(mode string, mutating bool) string {
	text := `
rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
executionMode: ` + mode + `
contextAwareResources: [{apiVersion: v1, kind: Namespace}]
`
	if mutating {
		text += "mutating: true\n"
	}
	return text
}

const namespacesSession = `
- type: Exchange
  request: |
    !KubernetesListResourceAll
    api_version: v1
    kind: Namespace
    label_selector: null
    field_selector: null
  response:
    type: Success
    payload: '{"apiVersion":"v1","kind":"List","items":[{"metadata":{"name":"shown","labels":{"team":"a"}}}]}'
- type: Exchange
  request: |
    !KubernetesGetResourcePluralName
    api_version: v1
    kind: Namespace
  response:
    type: Success
    payload: '"namespaces"'
`

func TestPolicyRunRego(t *testing.T) {
	plain, opa := regoGuest(t, "opa", "policy/main", regoMetadata("opa", true))
	_, still := regoGuest(t, "opa", "policy/main", regoMetadata("opa", false))
	bare, gatekeeper := regoGuest(t, "gatekeeper", "policy/violation", regoMetadata("gatekeeper", false))
	replay := filepath.Join(t.TempDir(), "session.yml")
	if err := os.WriteFile(replay, []byte(namespacesSession), 0o600); err != nil {
		t.Fatal(err)
	}
	granted := []string{"--allow-context-aware", "--replay-host-capabilities-interactions", replay}
	with := func(module string, more ...string) []string {
		return append(append([]string{module}, more...), granted...)
	}
	reads := `{"namespace":"shown"}`
	for name, c := range map[string]struct {
		stdin  string
		args   []string
		status int
		out    string
		errs   string
	}{
		"accepted":                    {admitted, with(opa), 0, `{"uid":"u-1","allowed":true}`, ""},
		"without metadata":            {admitted, []string{plain, "-e", "opa"}, 0, `{"uid":"u-1","allowed":true}`, ""},
		"a mode that nobody says":     {admitted, []string{plain}, 2, "", "say with -e, or in its metadata"},
		"another mode":                {admitted, []string{plain, "-e", "wapc"}, 2, "", "the module is rego, and not wapc"},
		"refused":                     {onNetwork, with(opa), 0, `"allowed":false,"status":{"message":"host network is not allowed"}`, "a pod on the host's network"},
		"changed":                     {admitted, with(opa, "--settings-json", `{"label":"team"}`), 0, `"patchType":"JSONPatch"`, ""},
		"changed, and may not":        {admitted, with(still, "--settings-json", `{"label":"team"}`), 2, "is not set to be mutating", ""},
		"reads":                       {admitted, with(opa, "--settings-json", reads), 0, `"allowed":true`, ""},
		"reads without a grant":       {admitted, []string{opa, "--settings-json", reads}, 2, `"code":500`, "refused to the module: "},
		"settings of another's name":  {admitted, with(opa, "--settings-json", `{"kubernetes":{}}`), 1, `"valid":false`, "give it another name"},
		"anything, raw":               {`{"user":"ann"}`, []string{plain, "-e", "opa", "--raw"}, 0, `"allowed":true`, ""},
		"gatekeeper":                  {admitted, with(gatekeeper, "--settings-json", reads), 0, `{"uid":"u-1","allowed":true}`, ""},
		"gatekeeper by hand":          {admitted, []string{bare, "-e", "gatekeeper", "--settings-json", `{"label":"team"}`}, 0, "the label team is missing", ""},
		"gatekeeper, no such context": {admitted, with(gatekeeper, "--settings-json", `{"namespace":"other"}`), 0, "namespace other is not known", ""},
		"gatekeeper without a grant":  {admitted, []string{gatekeeper}, 2, `"code":500`, "refused to the module: "},
		"gatekeeper, raw":             {admitted, []string{bare, "-e", "gatekeeper", "--raw"}, 2, "", "nothing that is --raw"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := policyCommand(t, c.stdin, append([]string{"run", "-r", "-"}, c.args...)...)
			if status != c.status || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || c.out == "" && out != "" {
				t.Errorf("status %d\nout: %s\nerr: %s", status, out, errs)
			}
		})
	}
}

func TestPolicyInspectRego(t *testing.T) {
	_, opa := regoGuest(t, "opa", "policy/main", regoMetadata("opa", true))
	status, out, errs := policyCommand(t, "", "inspect", opa)
	for _, want := range []string{"Protocol        rego 1.3", "Runs as         opa", "Answers for     policy/main", "Calls           internal.print, sprintf", "Asks to read    v1 Namespace"} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, without %q:\n%s%s", status, want, out, errs)
		}
	}
	raw, err := regoguest.Compile(t.Context(), "package policy\nmain := http.send({\"url\": input.url, \"method\": \"get\"})", "policy/main")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "network.wasm")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, _ = policyCommand(t, "", "inspect", file, "-o", "json")
	var said module.Inspected
	if err := json.Unmarshal([]byte(out), &said); err != nil || status != 2 || len(said.Problems) != 1 || !strings.Contains(said.Problems[0], "it reaches the network") {
		t.Errorf("status %d, %+v, %v", status, said, err)
	}
	if status, _, errs := policyCommand(t, admitted, "run", "-r", "-", "-e", "opa", file); status != 2 || !strings.Contains(errs, "http.send is closed to policies") {
		t.Errorf("status %d: %s", status, errs)
	}
}
