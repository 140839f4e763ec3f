package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// filling is a Guard that fills something in and lets everything be written. It
// collects what it was asked about.
type filling struct{ asked []string }

func (f *filling) Mutate(_ context.Context, r *request.Request) ([]byte, []decision.Result) {
	f.asked = append(f.asked, "mutate "+r.Kind.Kind)
	return []byte(`[{"op":"add","path":"/spec/user","value":"alice"}]`), nil
}

func (f *filling) Validate(_ context.Context, r *request.Request) []decision.Result {
	f.asked = append(f.asked, "validate "+r.Kind.Kind)
	return nil
}

// TestWhatIsWrittenAboutExceptions has objects of the workflow judged by policies and
// by the Guard, and filled in before they are judged where they need it.
func TestWhatIsWrittenAboutExceptions(t *testing.T) {
	const session = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u5","kind":{"group":"sallyport.io","version":"v1alpha1","kind":"BreakglassSession"},` +
		`"resource":{"group":"sallyport.io","version":"v1alpha1","resource":"breakglasssessions"},"name":"s","operation":"CREATE","userInfo":{"username":"alice"},` +
		`"object":{"apiVersion":"sallyport.io/v1alpha1","kind":"BreakglassSession","metadata":{"name":"s"},"spec":{"cluster":"c","escalationRef":"e"}}}}`
	exception := strings.NewReplacer("BreakglassSession", "PolicyExceptionRequest", "breakglasssessions", "policyexceptionrequests", `"spec":{"cluster":"c","escalationRef":"e"}`, `"spec":{}`).Replace(session)
	o := options(t, &world{}, noExec)
	o.Store.Run(scripted{})
	spec := v1alpha1.AdmissionPolicySpec{Module: "file:///a.wasm", Rules: []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"sallyport.io"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
	}}}
	if problems := o.Store.Replace("modules", policy.Sources{ClusterAdmissionPolicies: []stored.Sourced[*v1alpha1.ClusterAdmissionPolicy]{{Object: &v1alpha1.ClusterAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "refuses"}, Spec: v1alpha1.ClusterAdmissionPolicySpec{AdmissionPolicySpec: spec},
	}}}}); len(problems) > 0 {
		t.Fatal(problems)
	}
	guard := &filling{}
	o.Guard = guard
	_, client, url := running(t, o)
	for _, tt := range []struct {
		name, path, body string
		want, wantNot    string
		asked            string
	}{
		{"a session, to be filled in", "/mutate", session, `"allowed":true,"patchType":"JSONPatch"`, "refuses", "mutate BreakglassSession"},
		{"a session", "/validate", session, `"allowed":false`, "patch", "validate BreakglassSession"},
		{"a session, by one policy", "/policy/clusterwide-refuses/validate", session, "refuses", "patch", ""},
		{"a session, by one policy, for changes", "/policy/clusterwide-refuses/mutate", session, "refuses", "patch", ""},
		{"a request, for changes", "/mutate", exception, `"allowed":false`, "patch", "mutate PolicyExceptionRequest"},
		{"a request", "/validate", exception, `"allowed":false`, "patch", "validate PolicyExceptionRequest"},
		{"what is not of the workflow", "/validate", execReview, `"allowed":true`, "patch", ""},
		{"what is not of the workflow, for changes", "/mutate", execReview, `"allowed":true`, "patch", ""},
		{"a way in at the side door", "/authorize", sar, `"status":{"allowed":false}`, "patch", ""},
		{"what is ours at the side door", "/authorize", strings.Replace(sar, `"resource":"pods","subresource":"exec"`, `"group":"sallyport.io","resource":"breakglasssessions"`, 1), `"status":{"allowed":false}`, "patch", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			guard.asked = nil
			code, body := post(t, client, url+tt.path, tt.body)
			if code != http.StatusOK || !strings.Contains(body, tt.want) || strings.Contains(body, tt.wantNot) {
				t.Errorf("%d %s, want %s and not %s", code, body, tt.want, tt.wantNot)
			}
			if got := strings.Join(guard.asked, ", "); got != tt.asked {
				t.Errorf("the guard was asked to %q, want %q", got, tt.asked)
			}
		})
	}
}
