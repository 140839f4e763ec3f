package policy

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestPack reads a packed object as it was, faults of it included.
func TestPack(t *testing.T) {
	const metadata = "metadata: {name: e, namespace: shop, uid: u, resourceVersion: \"7\", generation: 3, labels: {a: b}, annotations: {sallyport.io/created-by: ann}}\n"
	for name, document := range map[string]string{
		"exception":      "kind: PolicyException\n" + metadata + "spec: {reason: \"<1.0 & more\", exceptions: [{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [Pod], names: [app]}}]}}",
		"wide exception": "kind: ClusterPolicyException\n" + metadata + "spec: {reason: r, exceptions: [{policyName: p}]}",
		"request":        "kind: PolicyExceptionRequest\n" + metadata + "spec: {reason: r, requesters: [ann], exceptions: [{policyName: p}]}",
		"response":       "kind: PolicyExceptionResponse\n" + metadata + "spec: {name: e, namespace: shop, status: Approved, approver: carol, requestUID: u, requestGeneration: 9007199254740993}",
		"unknown field":  "kind: PolicyException\n" + metadata + "spec: {reason: r, exceptional: [{policyName: p}]}",
		"spec is a text": "kind: PolicyException\n" + metadata + "spec: \"{}\"",
		"no spec":        "kind: PolicyException\n" + metadata,
		"no metadata":    "kind: PolicyException\nspec: {reason: r}",
	} {
		t.Run(name, func(t *testing.T) {
			o := asStored(t, "apiVersion: sallyport.io/v1alpha1\n"+document)[0]
			before, version := o.DeepCopy(), versionOf(o)
			Pack(o)
			if o.Object["spec"] != nil || !version.same(versionOf(o), o.GetKind()) || o.GetUID() != before.GetUID() {
				t.Errorf("packed it is %v", o.Object)
			}
			Pack(o)
			var sources, wanted Sources
			whole, problems := addObject(&sources, o)
			_, want := addObject(&wanted, before)
			if problems.Error() != want.Error() || asJSON(t, sources.Exceptions) != asJSON(t, wanted.Exceptions) {
				t.Errorf("it came to %s (%v), want %s (%v)", asJSON(t, sources.Exceptions), problems, asJSON(t, wanted.Exceptions), want)
			}
			if got, want := asJSON(t, whole.Object), asJSON(t, before.Object); got != want {
				t.Errorf("unpacked it is %s, want %s", got, want)
			}
		})
	}
}

// TestPackTakesNoWord: what someone writes into an object is not taken for what was
// packed, and what cannot be packed stays.
func TestPackTakesNoWord(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "PolicyException", "packed": `{"spec":{}}`, "sallyport.io/packed": "x", "spec": map[string]any{"reason": "r"}}}
	Pack(o)
	whole, err := unpacked(o)
	if err != nil || asJSON(t, whole.Object) != `{"kind":"PolicyException","packed":"{\"spec\":{}}","sallyport.io/packed":"x","spec":{"reason":"r"}}` {
		t.Errorf("%v, %v", whole, err)
	}
	o = &unstructured.Unstructured{Object: map[string]any{"kind": "PolicyException", "spec": math.NaN()}}
	if Pack(o); o.Object["spec"] == nil {
		t.Error("what cannot be packed is lost")
	}
	o = &unstructured.Unstructured{Object: map[string]any{"kind": "PolicyException", "metadata": map[string]any{"name": "e"}, packedKey: "{"}}
	if _, problems := addObject(&Sources{}, o); len(problems) != 1 || !strings.Contains(problems[0].Detail, "cannot be read from where it was kept") {
		t.Errorf("%v", problems)
	}
}

// TestWhatCannotBeWritten as JSON is told of, packed or not, and is not read.
func TestWhatCannotBeWritten(t *testing.T) {
	var sources Sources
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "PolicyException", "metadata": map[string]any{"name": "e"}, "spec": math.NaN()}}
	if _, problems := addObject(&sources, o); len(problems) != 1 || problems[0].Name != "e" || !strings.Contains(problems[0].Detail, "unsupported value: NaN") {
		t.Errorf("%v", problems)
	}
}

// TestPackedObjectsShareTexts holds once what thousands of objects say.
func TestPackedObjectsShareTexts(t *testing.T) {
	pack := func() map[string]any {
		o := asStored(t, yamlOf("PolicyException", "shop/e", "spec: {reason: r}"))[0]
		Pack(o)
		return o.Object
	}
	a, b := pack(), pack()
	namespaceOf := func(o map[string]any) any { return o["metadata"].(map[string]any)["namespace"] }
	for what, texts := range map[string][2]any{
		"kind": {a["kind"], b["kind"]}, "apiVersion": {a["apiVersion"], b["apiVersion"]}, "namespace": {namespaceOf(a), namespaceOf(b)},
	} {
		if unsafe.StringData(texts[0].(string)) != unsafe.StringData(texts[1].(string)) {
			t.Errorf("the %s of two objects is held twice", what)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
