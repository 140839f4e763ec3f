package module_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

// TestAnnotate writes metadata in the forms that the build files of policies use.
func TestAnnotate(t *testing.T) {
	wapc, wasi := clitest.Module(t, wasmtest.Any), clitest.Module(t, wasmtest.WASI)
	b := &bench{t: t, dir: t.TempDir()}
	const rules = "rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]\nmutating: false\n"
	readme := b.write("README.md", "# A policy\n\nIt refuses <everything>.\n")
	rego := b.write("rego.wasm", "\x00asm\x01\x00\x00\x00"+"\x01\x04\x01\x60\x00\x00"+"\x03\x02\x01\x00"+"\x07\x14\x01\x10opa_eval_ctx_new\x00\x00"+"\x0a\x04\x01\x02\x00\x0b")
	out := filepath.Join(b.dir, "annotated-policy.wasm")
	for name, c := range map[string]struct {
		metadata, module string
		flags            []string
		mode, protocol   string
		err              string
	}{
		"flags first":          {rules, wapc, []string{"-u", readme}, module.WaPC, "v1", ""},
		"long flags":           {rules + "executionMode: kubewarden-wapc\n", wapc, []string{"--usage-path", readme}, module.WaPC, "v1", ""},
		"WASI":                 {rules + "executionMode: wasi\n", wasi, nil, module.WASI, "Unknown", ""},
		"WASI, not said":       {rules, wasi, nil, module.WASI, "Unknown", ""},
		"its own version":      {rules + "protocolVersion: v1\n", wapc, nil, module.WaPC, "v1", ""},
		"Rego":                 {rules + "executionMode: gatekeeper\n", rego, nil, module.Gatekeeper, "Unknown", ""},
		"Rego, not said":       {rules, rego, nil, "", "", "compiled from Rego"},
		"Rego, and wrong":      {rules + "executionMode: wasi\n", rego, nil, "", "", "is rego, and not wasi"},
		"opa, and it is not":   {rules + "executionMode: opa\n", wapc, nil, "", "", "is wapc, and not rego"},
		"wasi, and it is not":  {rules + "executionMode: wasi\n", wapc, nil, "", "", ", and not "},
		"wapc, and it is not":  {rules + "executionMode: kubewarden-wapc\n", wasi, nil, "", "", ", and not "},
		"no such mode":         {rules + "executionMode: ferricel\n", wapc, nil, "", "", "ferricel"},
		"no usage":             {rules, wapc, []string{"-u", readme + "x"}, "", "", "usage cannot be read"},
		"calls and more of it": {rules + "hostCapabilities: ['oci/*']\npolicyType: kubernetes\nbackgroundAudit: false\nlabels: {a: b}\nminimumKubewardenVersion: 1.8.0\n", wapc, nil, module.WaPC, "v1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(out)
			meta := b.write("metadata.yml", c.metadata)
			args := append([]string{"annotate", "-m", meta, "-o", out}, append(c.flags, c.module)...)
			if strings.HasPrefix(name, "long") {
				args = append([]string{"annotate", c.module, "--metadata-path", meta, "--output-path", out}, c.flags...)
			}
			status, stdout, errs := policyCommand(t, "", args...)
			if c.err != "" {
				if _, err := os.Stat(out); status == 0 || !strings.Contains(errs, c.err) || err == nil {
					t.Errorf("status %d, %v: %s", status, err, errs)
				}
				return
			}
			if status != 0 || stdout != "" {
				t.Fatalf("status %d: %s%s", status, stdout, errs)
			}
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			m, err := module.Read(text)
			if err != nil || m.ExecutionMode != c.mode || m.ProtocolVersion != c.protocol || m.Check() != nil {
				t.Errorf("%+v, %v", m, err)
			}
			if usage := m.Annotations["io.kubewarden.policy.usage"]; len(c.flags) > 0 && !strings.Contains(usage, "<everything>") {
				t.Errorf("usage %q", usage)
			}
		})
	}
	meta := b.write("metadata.yml", rules+"hostCapabilities: ['oci/*']\nannotations: {io.kubewarden.policy.title: any}\n")
	if status, _, errs := policyCommand(t, "", "annotate", "-m", meta, "-o", out, wapc); status != 0 {
		t.Fatal(errs)
	}
	for name, want := range map[string][]string{
		"yaml": {"annotations:\n  io.kubewarden.policy.title: any\n", "protocolVersion: v1\n", "hostCapabilities:\n- oci/*\n"},
		"json": {`"hostCapabilities": [`},
		"text": {"Asks to call    oci/*"},
	} {
		status, stdout, errs := policyCommand(t, "", "inspect", out, "-o", name)
		for _, text := range want {
			if status != 0 || !strings.Contains(stdout, text) {
				t.Errorf("%s: status %d, without %q:\n%s%s", name, status, text, stdout, errs)
			}
		}
	}
	if status, stdout, errs := policyCommand(t, "", "inspect", "--output", "yaml", wapc); status != 0 || stdout != "" || !strings.Contains(errs, "has no metadata") {
		t.Errorf("status %d: %s%s", status, stdout, errs)
	}
}
