package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// accepting is what runs modules that accept everything.
type accepting struct{}

func (accepting) Hosts(*runner.Policy) bool { return true }

func (accepting) Judge(context.Context, *runner.Policy, json.RawMessage, runner.Caller) (wasm.Response, error) {
	return wasm.Response{Accepted: true}, nil
}

func (accepting) Status(*runner.Policy) (runner.Info, error) { return runner.Info{}, nil }

func (accepting) Try(context.Context, *runner.Policy) (runner.Info, error) { return runner.Info{}, nil }

// BenchmarkModule asks one policy of many about a pod, as its webhook does. What it
// costs does not grow with their number.
func BenchmarkModule(b *testing.B) {
	object, err := pod.Default().Decode(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, json.RawMessage(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"name":"a","image":"a"}]}}`))
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var sources Sources
			for i := range n {
				sources.ClusterAdmissionPolicies = append(sources.ClusterAdmissionPolicies, stored.Sourced[*v1alpha1.ClusterAdmissionPolicy]{Object: &v1alpha1.ClusterAdmissionPolicy{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i)}, Spec: v1alpha1.ClusterAdmissionPolicySpec{AdmissionPolicySpec: v1alpha1.AdmissionPolicySpec{
						Module: "file:///a.wasm", Rules: []admissionregistrationv1.RuleWithOperations{{
							Operations: []admissionregistrationv1.OperationType{"CREATE"}, Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
						}},
					}},
				}})
			}
			set, problems := Compile(sources, pod.Default(), exception.Options{})
			if len(problems) > 0 {
				b.Fatal(problems)
			}
			set = set.Run(accepting{})
			r := &request.Request{
				Door: request.Admission, Operation: request.Create, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
				Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespace: "shop", Name: "web", Object: object, Final: true,
			}
			for b.Loop() {
				if d := set.Module("clusterwide-p0").DecideModules(b.Context(), r); len(d.Results) != 1 || d.Refuses() {
					b.Fatal(d)
				}
			}
		})
	}
}
