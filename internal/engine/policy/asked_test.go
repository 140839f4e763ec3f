package policy

import (
	"slices"
	"testing"

	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// TestAskedOfModules lists modules that run here, and those that cannot work, which are
// answered for wherever they would run.
func TestAskedOfModules(t *testing.T) {
	module := func(name, server, module string) string {
		return yamlOf("ClusterAdmissionPolicy", name, "spec: {policyServer: "+server+`, module: "`+module+`", rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}`)
	}
	const wasm = "https://modules.example/a.wasm"
	store, _ := started(t, module("own", "ours", wasm), module("others", "theirs", wasm), module("broken", "theirs", ""), module("own-broken", "ours", ""))
	var names []string
	for _, a := range store.Set().Asked(func(p *runner.Policy) bool { return p.Server == "ours" }) {
		if len(a.Resources) != 1 || !slices.Equal(a.Resources[0].Resources, []string{"configmaps"}) {
			t.Errorf("%+v", a)
		}
		names = append(names, a.Policy.Name)
	}
	slices.Sort(names)
	if want := []string{"broken", "own", "own-broken"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}
