package module_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
)

const empty = "\x00asm\x01\x00\x00\x00"

const written = `rules:
- apiGroups: [""]
  apiVersions: ["v1"]
  resources: ["pods"]
  operations: ["CREATE"]
mutating: false
contextAwareResources:
- apiVersion: management.cattle.io/v3
  kind: Project
contextAware:
- version: v1
  resource: pods
- {group: apps, version: v1, resource: deployments}
executionMode: kubewarden-wapc
annotations:
  io.kubewarden.policy.title: quotas
later: {a: [1, 2]}
`

func TestAnnotate(t *testing.T) {
	t.Parallel()
	m, err := module.ReadYAML([]byte(written))
	if err != nil {
		t.Fatal(err)
	}
	if !m.BackgroundAudit || m.PolicyType != module.Kubernetes || !cmp.Equal(m.Unread(), []string{"later"}) {
		t.Errorf("read %+v", m)
	}
	want := []contextgate.Grant{
		{Version: "v1", Resource: "pods"}, {Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "management.cattle.io", Version: "v3", Kind: "Project"},
	}
	if diff := cmp.Diff(want, m.Declared()); diff != "" {
		t.Error(diff)
	}
	// Two other sections, of which one is after it.
	wasm := []byte(empty + "\x00\x05\x04name" + "\x05\x03\x01\x00\x01")
	once, err := module.Annotate(wasm, m)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := module.Annotate(once, m)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(once, wasm) || !bytes.Equal(once, twice) {
		t.Errorf("annotated once %q, twice %q", once, twice)
	}
	again, err := module.Read(twice)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.Declared(), again.Declared()); diff != "" || string(again.Unknown["later"]) != `{"a":[1,2]}` || again.Annotations["io.kubewarden.policy.title"] != "quotas" {
		t.Errorf("%s %+v", diff, again)
	}
	if none, err := module.Read(wasm); none != nil || err != nil {
		t.Errorf("a module without metadata has %+v, %v", none, err)
	}
}

func TestBadModules(t *testing.T) {
	t.Parallel()
	section := func(json string) string {
		return "\x00" + string(rune(len(json)+23)) + "\x16" + module.MetadataSection + json
	}
	for name, c := range map[string]struct{ wasm, want string }{
		"empty":             {"", "not WebAssembly"},
		"text":              {"hello world", "not WebAssembly"},
		"cut in the head":   {"\x00asm\x01", "cut off"},
		"a component":       {"\x00asm\x0d\x00\x01\x00", "component"},
		"cut in a section":  {empty + "\x01\x05\x01", "does not end in it"},
		"no length":         {empty + "\x01", "does not end in it"},
		"an endless length": {empty + "\x01\xff\xff\xff\xff\xff\xff\xff", "does not end in it"},
		"a length too long": {empty + "\x01\xff\xff\xff\xff\x0f", "does not end in it"},
		"no name":           {empty + "\x00\x01\x05", "has no name"},
		"a broken name":     {empty + "\x00\x02\x01\xff", "has no name"},
		"not JSON":          {empty + section("{"), "cannot be read"},
		"a list":            {empty + section("[]"), "cannot be read"},
		"a name twice":      {empty + section(`{"mutating":true,"mutating":false}`), "more than once"},
		"another case":      {empty + section(`{"Mutating":true}`), "is spelled"},
		"two of them":       {empty + section("{}") + section("{}"), "two sections"},
	} {
		m, err := module.Read([]byte(c.wasm))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v; want %q", name, m, err, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"executionMode: other":                 `executionMode: "other"`,
		"policyType: other":                    `policyType: "other"`,
		"protocolVersion: v2":                  `protocolVersion: "v2"`,
		"contextAwareResources: [{kind: Pod}]": "contextAwareResources[0]",
		"contextAware: [{resource: pods}]":     "contextAware[0]",
		"rules: [{apiGroups: ['', '*']}]":      "rules[0].apiGroups: the star",
		"rules: [{}]":                          "rules[0].resources: it is empty",
		"rules: [{operations: [create]}]":      `rules[0].operations: "create"`,
		"rules: [{resources: ['']}]":           "rules[0].resources: a name",
		"rules: [{scope: Other}]":              "rules[0].scope",
	} {
		m, err := module.ReadYAML([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := module.Annotate([]byte(empty), m); err == nil {
			t.Errorf("%s: was written into a module", text)
		}
	}
	for _, text := range []string{"a: 1\na: 2", "mutating: maybe", "- a", "rules: {}"} {
		if m, err := module.ReadYAML([]byte(text)); err == nil {
			t.Errorf("%q was read as %+v", text, m)
		}
	}
}

// FuzzRead makes sure that no module panics, and that what was read can be written
// back and read again.
func FuzzRead(f *testing.F) {
	m, err := module.ReadYAML([]byte(written))
	if err != nil {
		f.Fatal(err)
	}
	wasm, err := module.Annotate([]byte(empty+"\x05\x03\x01\x00\x01"), m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(wasm)
	f.Add([]byte(empty + "\x00\x05\x04name"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := module.Read(wasm)
		if err != nil || m == nil || m.Check() != nil {
			return
		}
		_ = m.Declared()
		out, err := module.Annotate(wasm, m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := module.Read(out)
		if err != nil || !cmp.Equal(m.Declared(), again.Declared()) || !cmp.Equal(m.Unread(), again.Unread()) {
			t.Errorf("%+v became %+v, %v", m, again, err)
		}
	})
}
