package identity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestGuardsOf(t *testing.T) {
	run := []schema.GroupKind{{Group: "tekton.dev", Kind: "TaskRun"}}
	tests := []struct {
		name, spec string
		want       Guards
	}{
		{"an annotation", "{key: k, podAnnotation: {}}", Guards{}},
		{"over the network, too", "{key: k, podAnnotation: {}, subresources: [exec, attach, ephemeralcontainers, proxy, portforward]}", Guards{PortForward: true, Proxy: true}},
		{"an account", "{key: k, serviceAccount: {}}", Guards{Token: true}},
		{"an annotation of an account", "{key: k, serviceAccount: {annotation: a}}", Guards{Token: true, Annotation: true}},
		{"an account of a kind", "{key: k, serviceAccount: {kinds: [{group: tekton.dev, kind: TaskRun, paths: [spec.a]}]}}", Guards{Token: true, Kinds: run}},
		{"a field", "{key: k, field: {kinds: [{group: tekton.dev, kind: TaskRun, paths: [spec.a]}]}}", Guards{Kinds: run}},
		{"a token", "{key: k, projectedToken: {audience: a}}", Guards{Token: true}},
		{"a volume", "{key: k, csiVolume: {driver: csi.spiffe.io}}", Guards{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			set := setOf(t, test.spec)
			if diff := cmp.Diff(test.want, set.GuardsOf("k")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if other := set.GuardsOf("other"); !cmp.Equal(other, Guards{}) {
				t.Errorf("of a key without a source: %+v", other)
			}
			if got := set.ReadsAccounts(); got != test.want.Annotation {
				t.Errorf("reads accounts: %v", got)
			}
		})
	}
	var none *Set
	if !cmp.Equal(none.GuardsOf("k"), Guards{}) || none.ReadsAccounts() {
		t.Error("no set guards something")
	}
}
