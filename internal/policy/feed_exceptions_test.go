package policy

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sallyport-io/sallyport/internal/pass"
)

// TestReadAgain reads an exception the second time as it did the first, packed or not.
func TestReadAgain(t *testing.T) {
	const metadata = "metadata: {name: e, namespace: shop, uid: u, resourceVersion: \"7\", generation: 9007199254740993, creationTimestamp: \"2026-03-01T12:00:00Z\", deletionTimestamp: \"2026-03-02T12:00:00Z\", finalizers: [f], labels: {a: b}, annotations: {sallyport.io/created-by: ann}, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: c, uid: v, controller: true}]}\n"
	const spec = "spec: {reason: \"<1.0 & more\", duration: 1h, notBefore: \"2026-03-01T12:00:00Z\", exceptions: [{policyName: p, policyKind: ClusterPolicy, ruleNames: [r]}], conditions: [{name: c, expression: \"true\"}], podSecurity: [{controlName: Capabilities, images: [\"*\"]}], match: {any: [{resources: {kinds: [Pod], names: [app], selector: {matchLabels: {a: b}}}}]}}"
	for kind, document := range map[string]string{
		pass.KindException:        "kind: PolicyException\n" + metadata + spec,
		pass.KindClusterException: "kind: ClusterPolicyException\n" + strings.Replace(metadata, ", namespace: shop", "", 1) + spec,
	} {
		for _, packed := range []bool{false, true} {
			o := stored(t, "apiVersion: sallyport.io/v1alpha1\n"+document)[0]
			if packed {
				Pack(o)
			}
			var sources Sources
			if _, problems := addObject(&sources, o); len(problems) > 0 {
				t.Fatal(problems)
			}
			want := exceptionIn(&sources.Passes)
			meta, spec, err := readAgain(o)
			if err != nil || !reflect.DeepEqual(meta, want.meta) || !reflect.DeepEqual(spec, want.spec) {
				t.Errorf("%s, packed %t: %v\n%s\n%s, want\n%s\n%s", kind, packed, err, asJSON(t, meta), asJSON(t, spec), asJSON(t, want.meta), asJSON(t, want.spec))
			}
		}
	}
}

// TestReadAgainFails for what was kept and cannot be read any more.
func TestReadAgainFails(t *testing.T) {
	for name, o := range map[string]map[string]any{
		"no JSON":       {packedKey: "{", "metadata": map[string]any{"name": "e"}},
		"another field": {packedKey: `{"spec":{"raison":"r"}}`, "metadata": map[string]any{"name": "e"}},
		"metadata":      {packedKey: `{"spec":{"reason":"r"}}`, "metadata": map[string]any{"name": 1.5}},
	} {
		if meta, spec, err := readAgain(&unstructured.Unstructured{Object: o}); err == nil || !strings.Contains(err.Error(), "read again") {
			t.Errorf("%s: %v %v, %v", name, meta, spec, err)
		}
	}
}

// TestRulesAboutExceptionsThatComeLater are gone by though of exceptions only what they
// were compiled to is kept, and their status has changed since.
func TestRulesAboutExceptionsThatComeLater(t *testing.T) {
	for _, kind := range []string{pass.KindException, pass.KindClusterException} {
		for _, packed := range []bool{false, true} {
			name := "e"
			if kind == pass.KindException {
				name = "shop/e"
			}
			exception := func(version string) *unstructured.Unstructured {
				o := stored(t, yamlOf(kind, name, "spec: {reason: r, exceptions: [{policyName: p}], match: {any: [{resources: {kinds: [Pod]}}]}}"))[0]
				o.SetResourceVersion(version)
				if packed {
					Pack(o)
				}
				return o
			}
			rules := stored(t, yamlOf("ExceptionPolicy", "bounded", "spec: {policies: [p], maxDuration: 1h}"))
			store, feed := started(t)
			excuses := func(when string, want bool) {
				t.Helper()
				if got := store.Set().Passes().Len() == 1; got != want {
					t.Errorf("%s, packed %t, %s: it excuses: %t", kind, packed, when, got)
				}
				if kept := feed.read[exception("1").GetUID()].stored; kept == nil || kept.decoded.Load() != nil {
					t.Errorf("%s, packed %t, %s: what it was decoded to is kept", kind, packed, when)
				}
			}
			first, later := exception("1"), exception("2")
			feed.Take([]*unstructured.Unstructured{first})
			excuses("first", true)
			feed.Take([]*unstructured.Unstructured{later})
			if kept := feed.read[later.GetUID()].stored.object.Load(); kept != later {
				t.Error("an earlier version is kept beside that of the cache")
			}
			feed.Take(append(rules, later))
			excuses("with a rule that it breaks", false)
			if problem := store.Set().Passes().State(kind, later.GetNamespace(), "e").Problem; problem == nil || !strings.Contains(problem.Error(), "1h") {
				t.Errorf("%v", problem)
			}
			feed.Take([]*unstructured.Unstructured{later})
			excuses("without it again", true)
		}
	}
}
