package policy

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestRiskiestOfANode puts the one pod that counts at each place among those of a
// node.
func TestRiskiestOfANode(t *testing.T) {
	on := func(namespace, name string, change func(*corev1.Pod)) *corev1.Pod {
		return podNamed(namespace, name, func(p *corev1.Pod) {
			p.Spec.NodeName = "n"
			if change != nil {
				change(p)
			}
		})
	}
	exempt := func(p *corev1.Pod) { privileged(p); p.Labels = map[string]string{"exempt": "yes"} }
	set := setOf(t, strings.Replace(strict, "privilegedContainer: 90", "privilegedContainer: 90, hostNetwork: 60", 1))
	network := func(p *corev1.Pod) { p.Spec.HostNetwork = true }
	for name, c := range map[string]struct {
		pods     []*corev1.Pod
		want     decision.Verdict
		riskiest string
	}{
		"the first":                     {[]*corev1.Pod{on("shop", "a", privileged), on("shop", "b", nil), on("shop", "c", nil)}, decision.Deny, "shop/a"},
		"in the middle":                 {[]*corev1.Pod{on("shop", "a", nil), on("shop", "b", privileged), on("shop", "c", nil)}, decision.Deny, "shop/b"},
		"the last":                      {[]*corev1.Pod{on("shop", "a", nil), on("shop", "b", nil), on("shop", "c", privileged)}, decision.Deny, "shop/c"},
		"beside one that is less risky": {[]*corev1.Pod{on("shop", "a", network), on("shop", "b", privileged), on("shop", "c", network)}, decision.Deny, "shop/b"},
		"beside one that is exempt":     {[]*corev1.Pod{on("shop", "a", exempt), on("shop", "b", privileged), on("shop", "c", exempt)}, decision.Deny, "shop/b"},
		"beside an exempt namespace":    {[]*corev1.Pod{on("kube-system", "a", privileged), on("shop", "b", privileged)}, decision.Deny, "shop/b"},
		"none that counts":              {[]*corev1.Pod{on("shop", "a", exempt), on("shop", "b", nil)}, decision.Allow, "shop/b"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{namespace("shop", nil), namespace("kube-system", nil)}
			for _, p := range c.pods {
				objects = append(objects, p)
			}
			state := clusterOf(t, objects...)
			r := access1(state, "proxy", "", "n")
			r.Resource.Resource = "nodes"
			for _, door := range []request.Door{request.Access, request.Admission} {
				r.Door = door
				if door == request.Admission {
					r.Operation, r.Verb = request.Connect, ""
				}
				d := set.Decide(t.Context(), r)
				if result := only(t, d); d.Verdict != c.want || !strings.Contains(result.Message, "is "+c.riskiest+":") {
					t.Errorf("%s: %s: %s", door, d.Verdict, result.Message)
				}
			}
		})
	}
}
