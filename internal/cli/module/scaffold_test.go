package module_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/module"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

// wasiCommand is a module that is a WASI command and does nothing.
const wasiCommand = "\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x07\x0a\x01\x06_start\x00\x00" + "\x0a\x04\x01\x02\x00\x0b"

const scaffoldMetadata = `
rules: [{apiGroups: [networking.k8s.io], apiVersions: [v1], resources: [ingresses], operations: [CREATE, UPDATE]}]
mutating: true
backgroundAudit: false
executionMode: wasi
contextAwareResources: [{apiVersion: v1, kind: Secret}]
contextAware: [{group: networking.k8s.io, version: v1, resource: ingresses}]
annotations: {io.kubewarden.policy.title: Unique Hosts, io.kubewarden.policy.severity: medium, io.kubewarden.policy.usage: long}
`

// taken are the policies of what scaffold wrote, which has to be right.
func taken(t *testing.T, text string) policy.Sources {
	t.Helper()
	found := load.Collect(load.Parse("out.yaml", []byte(text)))
	_, problems := policy.Compile(found.Sources, pod.Default(), exception.Options{})
	if problems = append(found.Problems, problems...); len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, text)
	}
	return found.Sources
}

func TestPolicyScaffold(t *testing.T) {
	file := func(metadata string) string {
		return wasmtest.File(t, wasmtest.Annotated(t, []byte(wasiCommand), metadata))
	}
	reads, plain := file(scaffoldMetadata), file("{executionMode: wasi}")
	status, out, errs := policyCommand(t, "", "scaffold", reads, "--settings-json", `{"label": "x"}`, "--policy-server", "web")
	if status != 0 || !strings.Contains(errs, "nothing is granted to it yet") {
		t.Fatalf("status %d: %s", status, errs)
	}
	p := taken(t, out).ClusterAdmissionPolicies[0].Object
	if p.Name != "unique-hosts" || p.Spec.Module != "file://"+reads || !p.Spec.Mutating || *p.Spec.BackgroundAudit || p.Spec.PolicyServer != "web" ||
		string(p.Spec.Settings.Raw) != `{"label":"x"}` || p.Spec.Rules[0].Resources[0] != "ingresses" || p.Spec.ContextAware != nil || p.Spec.Capabilities != nil ||
		len(p.Annotations) != 1 || p.Annotations["io.kubewarden.policy.severity"] != "medium" {
		t.Errorf("%+v", p)
	}
	for _, want := range []string{"#contextAware:", "#- apiVersion: v1\n  #  kind: Secret\n", "the passwords, keys and tokens in them among it", "#capabilities:", "executionMode: wasi"} {
		if !strings.Contains(out, want) {
			t.Errorf("without %q:\n%s", want, out)
		}
	}
	// What is commented out is right once it is taken out of its comment.
	granted := taken(t, strings.NewReplacer("  ##", "  #", "  #c", "  c", "  #-", "  -", "  #  ", "    ").Replace(out)).ClusterAdmissionPolicies[0].Object
	if len(granted.Spec.ContextAware) != 2 || len(granted.Spec.Capabilities) != 4 {
		t.Errorf("%+v", granted.Spec)
	}
	_, out, errs = policyCommand(t, "", "scaffold", reads, "--allow-context-aware", "--name", "mine")
	if p := taken(t, out).ClusterAdmissionPolicies[0].Object; p.Name != "mine" || len(p.Spec.ContextAware) != 2 || p.Spec.ContextAware[1].Kind != "Secret" || !strings.Contains(errs, "Look at each grant") {
		t.Errorf("%+v\n%s", p, errs)
	}
	_, out, errs = policyCommand(t, "", "scaffold", plain)
	if p := taken(t, out).ClusterAdmissionPolicies[0].Object; p.Name != "policy" || p.Spec.Rules[0].Resources[0] != "*" || errs != "" || !strings.Contains(out, "names no rules") {
		t.Errorf("%+v\n%s", p, errs)
	}
	odd := file(`{executionMode: wasi, contextAwareResources: [{apiVersion: v1, kind: "Pod\nspec: x"}], annotations: {io.kubewarden.policy.title: "\n- a: b", io.kubewarden.policy.severity: "x\nname: y"}}`)
	_, out, _ = policyCommand(t, "", "scaffold", odd)
	if p := taken(t, out).ClusterAdmissionPolicies[0].Object; p.Name != "a--b" || len(p.Annotations) != 1 || p.Spec.ContextAware != nil {
		t.Errorf("%+v\n%s", p, out)
	}
}

func TestPolicyScaffoldRefuses(t *testing.T) {
	file := func(metadata string) string {
		return wasmtest.File(t, wasmtest.Annotated(t, []byte(wasiCommand), metadata))
	}
	bare, reads, plain := wasmtest.File(t, []byte(wasiCommand)), file(scaffoldMetadata), file("{executionMode: wasi}")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no metadata":                  {[]string{bare}, "has no metadata"},
		"no module":                    {[]string{wasmtest.File(t, []byte("hello"))}, "not WebAssembly"},
		"no policy for Kubernetes":     {[]string{file("{executionMode: wasi, policyType: raw}")}, `"raw"`},
		"rules about nothing there is": {[]string{file(`{executionMode: wasi, rules: [{apiGroups: [""], apiVersions: [v1], resources: [pod], operations: [CREATE]}]}`)}, "spec.rules[0].resources[0]"},
		"context in a namespace":       {[]string{"-t", "AdmissionPolicy", reads}, "an AdmissionPolicy reads nothing of the cluster"},
		"context granted there":        {[]string{"-t", "AdmissionPolicy", "--allow-context-aware", plain}, "nothing can be granted"},
		"a file of the server there":   {[]string{"-t", "AdmissionPolicy", plain}, "file of the server"},
		"a type":                       {[]string{"-t", "Policy", plain}, `no type "Policy"`},
		"a namespace of the cluster":   {[]string{"-n", "shop", plain}, "has no namespace"},
		"two names":                    {[]string{"--name", "a", "--title", "b", plain}, "has one name"},
		"a name":                       {[]string{"--name", "Unique Hosts", plain}, "not the name of a policy"},
		"settings that are a list":     {[]string{"--settings-json", "[1]", plain}, "spec.settings"},
		"settings that are broken":     {[]string{"--settings-json", "{", plain}, "neither JSON nor YAML"},
		"a server":                     {[]string{"--policy-server", "A b", plain}, "spec.policyServer"},
		"no argument":                  {nil, "one MODULE is expected"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := policyCommand(t, "", append([]string{"scaffold"}, tt.args...)...)
			if status != 2 || out != "" || !strings.Contains(errs, tt.want) {
				t.Errorf("status %d, %q\n%s", status, errs, out)
			}
		})
	}
}

// TestScaffoldAddress says under which address a server gets a module.
func TestScaffoldAddress(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	read := &fetch.Module{Artifact: "sha256:aa"}
	for address, want := range map[string]string{
		"registry://example.com/p:v1":           "registry://example.com/p:v1@sha256:aa",
		"registry://example.com/p@sha256:bb":    "registry://example.com/p@sha256:bb",
		"registry://example.com/p:v1@sha256:bb": "registry://example.com/p:v1@sha256:bb",
	} {
		if got, err := module.Deployed(address, read); got != want || err != nil {
			t.Errorf("%s: %s, %v", address, got, err)
		}
	}
	for address, want := range map[string]string{
		"https://example.com/p.wasm": "https://example.com/p.wasm", "file:///p.wasm": "file:///p.wasm",
		"p.wasm": "file://" + filepath.ToSlash(filepath.Join(here, "p.wasm")),
	} {
		if got, err := module.Deployed(address, &fetch.Module{}); got != want || err != nil {
			t.Errorf("%s: %s, %v", address, got, err)
		}
	}
}
