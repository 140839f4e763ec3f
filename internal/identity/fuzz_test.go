package identity

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// FuzzOfObject reads the claims of anything: nothing may panic, twice the same
// object has the same claims, each of them once, and a claim without a fault asks
// for exactly what it says.
func FuzzOfObject(f *testing.F) {
	for _, text := range []string{
		documentPod,
		podHead + "metadata: {annotations: {kerberos: a, sallyport.io/validated-annotations: '{\"a\":\"b\"}'}}\nspec: {serviceAccountName: app, volumes: [{csi: {driver: csi.spiffe.io}}, {projected: {sources: [{serviceAccountToken: {audience: sts.amazonaws.com}}, {podCertificate: {signerName: example.com/workload}}]}}]}",
		"apiVersion: batch/v1\nkind: CronJob\nspec: {jobTemplate: {spec: {template: {metadata: {annotations: {kerberos: '*'}}}}}}",
		"apiVersion: example.com/v1\nkind: Widget\nspec: {identity: a, parts: [{identity: b}, null], sets: {x: {identity: a/b}}}\nitems: [{apiVersion: v1, kind: Pod}]",
		"apiVersion: v1\nkind: List\nitems: [{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {namespace: other}, spec: {serviceAccountName: app}}]",
	} {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	set, accounts := everySource(f), accountsOf(testAccounts)
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := pod.Default().Decode(schema.GroupVersionKind{}, raw)
		if err != nil {
			return
		}
		claims, err := set.OfObject(t.Context(), o, "team", accounts)
		if err != nil && claims != nil {
			t.Fatal("claims beside an error")
		}
		again, errAgain := set.OfObject(t.Context(), o, "team", accounts)
		if (err == nil) != (errAgain == nil) || len(claims) != len(again) || len(claims) > maxClaims {
			t.Fatal("the same object has other claims")
		}
		if d := Compare(claims, again); d.Changed() || len(d.Same) != len(claims) {
			t.Fatal("an object differs from itself")
		}
		for i := range claims {
			c := &claims[i]
			if *c != again[i] || holds(claims[:i], c) {
				t.Fatalf("%s is there twice, or elsewhere the second time", c)
			}
			a := c.Attributes()
			if c.Fault == "" && (c.Value == "" || a.Resource == "" || a.Name == "" || RuleFor(*c) == "") {
				t.Fatalf("%s asks for %+v", c, a)
			}
			if c.Denial("kim") == "" {
				t.Fatal("a denial without words")
			}
		}
	})
}
