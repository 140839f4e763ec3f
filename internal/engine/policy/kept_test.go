package policy

import (
	"testing"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// TestKeptByWhatItWasCompiledFor compiles a policy again that is the same object, where
// what it is for comes from elsewhere than before.
func TestKeptByWhatItWasCompiledFor(t *testing.T) {
	k := newCache()
	sources := sourcesOf(t, cap0("p", `rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]`))
	object := sources.ClusterAdmissionPolicies[0].Object
	var before *part
	for _, c := range []struct{ ofModule, again bool }{{false, true}, {false, false}, {true, true}, {true, false}, {false, true}} {
		sources.ModuleRules = map[*specOf]bool{&object.Spec.AdmissionPolicySpec: c.ofModule}
		if _, problems := compileWith(sources, pod.Default(), exception.Options{}, k); len(problems) > 0 {
			t.Fatal(problems)
		}
		made := k.parts[object]
		if again := made != before; again != c.again || made.named != c.ofModule {
			t.Errorf("by its module %v: compiled again %v, by its module %v", c.ofModule, again, made.named)
		}
		before = made
	}
}
