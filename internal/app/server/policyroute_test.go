package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// scripted runs modules: those of the policies named refuse, and change what they
// accept, and others fault.
type scripted struct{}

func (scripted) Hosts(p *runner.Policy) bool { return p.Server == "" }

func (scripted) Judge(_ context.Context, p *runner.Policy, _ json.RawMessage, _ runner.Caller) (wasm.Response, error) {
	switch p.Name {
	case "refuses":
		return wasm.Response{Message: p.String() + " refuses"}, nil
	case "changes":
		return wasm.Response{Accepted: true, MutatedObject: json.RawMessage(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","labels":{"a":"b"}},"spec":{"containers":[]}}`)}, nil
	case "faults":
		panic("a fault of this program")
	}
	return wasm.Response{Accepted: true}, nil
}

func (scripted) Try(context.Context, *runner.Policy) (runner.Info, error) { return runner.Info{}, nil }

func (scripted) Status(*runner.Policy) (runner.Info, error) { return runner.Info{}, nil }

// TestPolicyRoutes asks single policies.
func TestPolicyRoutes(t *testing.T) {
	o := options(t, &world{})
	var sources policy.Sources
	spec := func(resource string) v1alpha1.AdmissionPolicySpec {
		return v1alpha1.AdmissionPolicySpec{Module: "file:///a.wasm", Mutating: true, Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
		}}}
	}
	for name, resource := range map[string]string{"refuses": "pods", "changes": "pods", "accepts": "pods", "faults": "pods", "other": "secrets"} {
		sources.ClusterAdmissionPolicies = append(sources.ClusterAdmissionPolicies, stored.Sourced[*v1alpha1.ClusterAdmissionPolicy]{Object: &v1alpha1.ClusterAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterAdmissionPolicySpec{AdmissionPolicySpec: spec(resource)},
		}})
	}
	elsewhere := &v1alpha1.ClusterAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}, Spec: v1alpha1.ClusterAdmissionPolicySpec{AdmissionPolicySpec: spec("pods")}}
	elsewhere.Spec.PolicyServer = "another"
	sources.ClusterAdmissionPolicies = append(sources.ClusterAdmissionPolicies, stored.Sourced[*v1alpha1.ClusterAdmissionPolicy]{Object: elsewhere})
	// Two that have the same id are asked both.
	for namespace, name := range map[string]string{"shop": "front-refuses", "shop-front": "refuses"} {
		one := &v1alpha1.AdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec("pods")}
		one.Spec.Module = "https://example.com/a.wasm"
		sources.AdmissionPolicies = append(sources.AdmissionPolicies, stored.Sourced[*v1alpha1.AdmissionPolicy]{Object: one})
	}
	o.Store.Run(scripted{})
	if problems := o.Store.Replace("modules", sources); len(problems) > 0 {
		t.Fatal(problems)
	}
	_, client, url := running(t, o)
	const body = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u1","kind":{"group":"","version":"v1","kind":"Pod"},
		"resource":{"group":"","version":"v1","resource":"pods"},"name":"web","namespace":"NAMESPACE","operation":"CREATE","userInfo":{"username":"alice"},
		"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"NAMESPACE"},"spec":{"containers":[]}}}}`
	for _, tt := range []struct {
		name, path string
		namespace  string
		allowed    bool
		says       string
	}{
		{"refuses", "/policy/clusterwide-refuses/validate", "shop", false, "ClusterAdmissionPolicy/refuses refuses"},
		{"accepts, whatever others say", "/policy/clusterwide-accepts/validate", "shop", true, ""},
		{"about something else", "/policy/clusterwide-other/validate", "shop", true, ""},
		{"changes", "/policy/clusterwide-changes/mutate", "shop", true, `"patchType":"JSONPatch"`},
		{"would have changed it", "/policy/clusterwide-changes/validate", "shop", false, "not as the policy would have it"},
		{"refuses where it could change", "/policy/clusterwide-refuses/mutate", "shop", true, ""},
		{"of a namespace, by an id of two", "/policy/namespaced-shop-front-refuses/validate", "shop-front", false, "AdmissionPolicy/shop-front/refuses refuses"},
		{"of a namespace, from another", "/policy/namespaced-shop-front-refuses/validate", "other", true, ""},
		{"faults", "/policy/clusterwide-faults/validate", "shop", false, "Sallyport failed"},
		{"is not known", "/policy/clusterwide-gone/validate", "shop", false, "clusterwide-gone is not known here"},
		{"is not known, for changes", "/policy/clusterwide-gone/mutate", "shop", false, "clusterwide-gone is not known here"},
		{"runs at another server", "/policy/clusterwide-elsewhere/validate", "shop", false, "is not known here"},
		{"is not a policy of ids", "/policy/refuses/validate", "shop", false, "is not known here"},
		{"has a long name", "/policy/" + strings.Repeat("a", 3000) + "/validate", "shop", false, "is not known here"},
		{"has a slash", "/policy/a%2Fb/validate", "shop", false, "is not known here"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, answer := post(t, client, url+tt.path, strings.ReplaceAll(body, "NAMESPACE", tt.namespace))
			allowed := strings.Contains(answer, `"allowed":true`)
			if status != http.StatusOK || allowed != tt.allowed || !strings.Contains(answer, tt.says) {
				t.Errorf("%d %.600s\nwant allowed %v and %q", status, answer, tt.allowed, tt.says)
			}
		})
	}
	for _, path := range []string{"/policy/clusterwide-accepts", "/policy/clusterwide-accepts/", "/policy//validate", "/policy/clusterwide-accepts/audit"} {
		if status, answer := post(t, client, url+path, body); status != http.StatusNotFound {
			t.Errorf("%s: %d %s, want 404", path, status, answer)
		}
	}

	// What was removed a moment ago is not refused, as its webhook goes too.
	sources.ClusterAdmissionPolicies = slices.DeleteFunc(sources.ClusterAdmissionPolicies, func(s stored.Sourced[*v1alpha1.ClusterAdmissionPolicy]) bool {
		return s.Object.Name == "refuses" || s.Object.Name == "elsewhere"
	})
	if problems := o.Store.Replace("modules", sources); len(problems) > 0 {
		t.Fatal(problems)
	}
	for id, allowed := range map[string]string{"clusterwide-refuses": "true", "clusterwide-never": "false", "clusterwide-elsewhere": "false", "clusterwide-faults": "false"} {
		if _, answer := post(t, client, url+"/policy/"+id+"/validate", strings.ReplaceAll(body, "NAMESPACE", "shop")); !strings.Contains(answer, `"allowed":`+allowed) {
			t.Errorf("%s: %s, want allowed %s", id, answer, allowed)
		}
	}
}
