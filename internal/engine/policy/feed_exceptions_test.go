package policy

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
)

// TestReadAgain reads an exception the second time as it did the first, packed or not, as
// far as it is compiled from that.
func TestReadAgain(t *testing.T) {
	const metadata = "metadata: {name: e, namespace: shop, uid: u, resourceVersion: \"7\", generation: 9007199254740993, creationTimestamp: \"2026-03-01T12:00:00Z\", finalizers: [f], labels: {a: b}, annotations: {sallyport.io/created-by: ann}}\n"
	const spec = "spec: {reason: \"<1.0 & more\", duration: 1h, notBefore: \"2026-03-01T12:00:00Z\", exceptions: [{policyName: p, policyKind: ClusterPolicy, ruleNames: [r]}], conditions: [{name: c, expression: \"true\"}], podSecurity: [{controlName: Capabilities, images: [\"*\"]}], match: {any: [{resources: {kinds: [Pod], names: [app], selector: {matchLabels: {a: b}}}}]}}"
	for kind, document := range map[string]string{
		exception.KindException:        "kind: PolicyException\n" + metadata + spec,
		exception.KindClusterException: "kind: ClusterPolicyException\n" + strings.Replace(metadata, ", namespace: shop", "", 1) + spec,
	} {
		for _, packed := range []bool{false, true} {
			o := asStored(t, "apiVersion: sallyport.io/v1alpha1\n"+document)[0]
			if packed {
				Pack(o)
			}
			var sources Sources
			if _, problems := addObject(&sources, o); len(problems) > 0 {
				t.Fatal(problems)
			}
			want := exceptionIn(&sources.Exceptions)
			e := storedIn(&sources.Exceptions, o)
			if meta, spec, err := e.read(); err != nil || meta != want.meta || spec != want.spec {
				t.Errorf("%s: the first time it is decoded again (%v)", kind, err)
			}
			meta, spec, err := e.read()
			counts := metav1.ObjectMeta{Namespace: want.meta.Namespace, Name: "e", UID: "u", CreationTimestamp: want.meta.CreationTimestamp, Annotations: map[string]string{"sallyport.io/created-by": "ann"}}
			if err != nil || !reflect.DeepEqual(*meta, counts) || !reflect.DeepEqual(spec, want.spec) || e.Kind != kind || e.Namespace != want.meta.Namespace || e.Name != "e" || e.Deleted {
				t.Errorf("%s, packed %t: %v\n%s\n%s, want\n%s\n%s", kind, packed, err, asJSON(t, meta), asJSON(t, spec), asJSON(t, counts), asJSON(t, want.spec))
			}
			want.meta.DeletionTimestamp = &metav1.Time{Time: judgedAt}
			if e := storedIn(&sources.Exceptions, o); !e.Deleted || e.decoded.Load() != nil {
				t.Errorf("%s: one that was deleted is kept to be compiled", kind)
			}
		}
	}
}

// TestReadAgainFails for what was kept and cannot be read any more.
func TestReadAgainFails(t *testing.T) {
	for _, said := range []string{"{", `{"spec":{"raison":"r"}}`} {
		if meta, spec, err := (&storedException{said: said}).read(); err == nil || !strings.Contains(err.Error(), "read again") {
			t.Errorf("%s: %v %v, %v", said, meta, spec, err)
		}
	}
}

// TestRulesAboutExceptionsThatComeLater are gone by though of exceptions only what they
// were compiled to is kept, and their status has changed since.
func TestRulesAboutExceptionsThatComeLater(t *testing.T) {
	for _, kind := range []string{exception.KindException, exception.KindClusterException} {
		for _, packed := range []bool{false, true} {
			name := "e"
			if kind == exception.KindException {
				name = "shop/e"
			}
			exception := func(version string) *unstructured.Unstructured {
				o := asStored(t, yamlOf(kind, name, "spec: {reason: r, exceptions: [{policyName: p}], match: {any: [{resources: {kinds: [Pod]}}]}}"))[0]
				o.SetResourceVersion(version)
				if packed {
					Pack(o)
				}
				return o
			}
			rules := asStored(t, yamlOf("ExceptionPolicy", "bounded", "spec: {policies: [p], maxDuration: 1h}"))
			store, feed := started(t)
			excuses := func(when string, want bool) {
				t.Helper()
				if got := store.Set().Exceptions().Len() == 1; got != want {
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
			if said, kept := later.Object[packedKey].(string); kept && unsafe.StringData(said) != unsafe.StringData(feed.read[later.GetUID()].stored.said) {
				t.Error("what it says is kept twice")
			}
			feed.Take(append(rules, later))
			excuses("with a rule that it breaks", false)
			if problem := store.Set().Exceptions().State(kind, later.GetNamespace(), "e").Problem; problem == nil || !strings.Contains(problem.Error(), "1h") {
				t.Errorf("%v", problem)
			}
			feed.Take([]*unstructured.Unstructured{later})
			excuses("without it again", true)
		}
	}
}
