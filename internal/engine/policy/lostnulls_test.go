package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// TestLostNulls refuses policies that lost nulls on their way, as the annotation of
// kubectl apply shows, and no others.
func TestLostNulls(t *testing.T) {
	const written = "{spec: {nodeName: null, containers: [{X(lifecycle): null}, {=(ports): [{X(hostPort): null}], args: [null, a]}]}}"
	const arrived = "{spec: {containers: [{}, {=(ports): [{}], args: [a]}]}}"
	any := func(patterns ...string) string { return "anyPattern: [" + strings.Join(patterns, ", ") + "]" }
	for name, c := range map[string]struct {
		applied, stored string
		want            []string
	}{
		"lost": {"pattern: " + written, "pattern: " + arrived, []string{
			"spec.rules[0].validate.pattern.spec.containers[0].X(lifecycle)", "spec.rules[0].validate.pattern.spec.containers[1].=(ports)[0].X(hostPort)",
			"spec.rules[0].validate.pattern.spec.containers[1].args[0]", "spec.rules[0].validate.pattern.spec.nodeName",
		}},
		"lost from one of several":      {any("{spec: {hostPID: false}}", "{spec: {hostIPC: false, X(nodeName): null}}"), any("{spec: {hostPID: false}}", "{spec: {hostIPC: false}}"), []string{"spec.rules[0].validate.anyPattern[1].spec.X(nodeName)"}},
		"lost, and something is left":   {"pattern: {spec: {hostPID: false, X(nodeName): null}}", "pattern: {spec: {hostPID: false}}", []string{"spec.rules[0].validate.pattern.spec.X(nodeName)"}},
		"changed since":                 {"pattern: {spec: {hostPID: false, X(nodeName): null}}", "pattern: {spec: {hostPID: false, X(nodeName): 'null'}}", nil},
		"changed to something else":     {"pattern: {spec: {hostPID: false, X(nodeName): null}}", "pattern: {spec: {hostIPC: false}}", nil},
		"changed to the other form":     {"pattern: {spec: {hostPID: false, X(nodeName): null}}", any("{spec: {hostPID: false}}"), nil},
		"nothing was lost":              {"pattern: {spec: {hostPID: false}}", "pattern: {spec: {hostPID: false}}", nil},
		"a null that arrived":           {"pattern: {spec: {X(nodeName): null}}", "pattern: {spec: {X(nodeName): null}}", []string{"spec.rules[0].validate.pattern.spec.X(nodeName)"}},
		"one of two nulls that arrived": {"pattern: {spec: {X(nodeName): null, X(hostname): null}}", "pattern: {spec: {X(nodeName): null}}", []string{"spec.rules[0].validate.pattern.spec.X(nodeName)"}},
		"a null of a field that counts": {"message: null, pattern: {spec: {hostPID: false}}", "pattern: {spec: {hostPID: false}}", nil},
	} {
		for _, kind := range []string{stored.KindClusterPolicy, stored.KindPolicy} {
			t.Run(kind+" "+name, func(t *testing.T) {
				document := func(validate string) string {
					text := onPods("{" + validate + "}")
					if kind == stored.KindPolicy {
						text = strings.Replace(strings.Replace(text, "kind: ClusterPolicy", "kind: Policy", 1), "metadata: {", "metadata: {namespace: shop, ", 1)
					}
					return text
				}
				applied, err := yaml.YAMLToJSON([]byte(document(c.applied)))
				if err != nil {
					t.Fatal(err)
				}
				quoted, err := json.Marshal(string(applied))
				if err != nil {
					t.Fatal(err)
				}
				stored := strings.Replace(document(c.stored), "annotations: {}", "annotations: {kubectl.kubernetes.io/last-applied-configuration: "+string(quoted)+"}", 1)
				gvk, _ := object("sallyport.io/v1alpha1", kind, "")
				got := only(t, setOf(t).Decide(t.Context(), created(t, emptyCluster(t), gvk, "policies", stored)))
				if (got.Status == decision.Fail) != (c.want != nil) || len(got.Findings) != len(c.want) && c.want != nil {
					t.Fatalf("%s: %s", got.Status, got.Message)
				}
				for i, at := range c.want {
					if got.Findings[i].Path != at || !strings.Contains(got.Findings[i].Detail, "kubectl apply takes out on its way") {
						t.Errorf("%+v, want %s", got.Findings[i], at)
					}
				}
			})
		}
	}
}

// TestAnnotationsThatSayNothing are those that are not what kubectl writes.
func TestAnnotationsThatSayNothing(t *testing.T) {
	for _, text := range []string{"", "no JSON", "{", "[]", `{"spec":{"rules":[{"name":"other","validate":{"pattern":{"X(a)":null}}}]}}`, `{"spec":{"rules":[{"name":"r","validate":{"pattern":null}}]}}`} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		stored := rulePolicy("kubectl.kubernetes.io/last-applied-configuration: "+string(quoted), "match: {resources: {kinds: [Pod]}}"+never)
		if warnings := setOf(t, stored).Warnings(); len(warnings) > 0 {
			t.Errorf("%q: %v", text, warnings)
		}
	}
}
