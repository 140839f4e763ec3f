package admission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

func answered(t *testing.T, req *request.Request, results ...decision.Result) *admissionv1.AdmissionResponse {
	t.Helper()
	d := decision.Of(results)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(Answer(req, &d), &review); err != nil {
		t.Fatalf("%s: %v", Answer(req, &d), err)
	}
	if want := (metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: "admission.k8s.io/v1"}); review.TypeMeta != want {
		t.Errorf("type is %+v", review.TypeMeta)
	}
	return review.Response
}

func parsed(t *testing.T, body string) *request.Request {
	t.Helper()
	req, err := Parse([]byte(body), pod.Default())
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func result(status decision.Status) decision.Result {
	return decision.Result{
		Policy: "restricted", Rule: "pods", Kind: "ClusterPolicy", Status: status, Action: decision.Enforce, Message: "violates restricted:latest",
		Findings: []decision.Finding{{Path: "spec.hostPID", Value: "true"}},
	}
}

func TestAnswer(t *testing.T) {
	score := 190
	risk := decision.Result{
		Policy: "strict", Rule: "podSecurityRules", Kind: "DenyPolicy", Status: decision.Warn, Action: decision.Enforce, Message: "Risk score 190",
		Score: &score, Factors: []string{"hostPID", "hostNetwork"},
	}
	excused := result(decision.Skip)
	excused.Exceptions = []decision.Exception{{Kind: "PolicyException", Namespace: "shop", Name: "x"}, {Kind: "ClusterPolicyException", Name: "y"}}
	nosy := result(decision.Pass)
	nosy.Context = &decision.Context{Denied: []decision.DeniedRead{{Resource: "secrets", Verb: "list", Why: "it is not listed"}}}
	for _, tt := range []struct {
		name    string
		results []decision.Result
		want    admissionv1.AdmissionResponse
	}{
		{"nothing applies", nil, admissionv1.AdmissionResponse{
			Allowed: true, AuditAnnotations: map[string]string{"decision": "allow"},
		}},
		{"allowed", []decision.Result{result(decision.Pass), excused}, admissionv1.AdmissionResponse{
			Allowed: true,
			AuditAnnotations: map[string]string{
				"decision": "allow", "policies": "ClusterPolicy/restricted/pods=pass,ClusterPolicy/restricted/pods=skip",
				"exceptions":        "PolicyException/shop/x,ClusterPolicyException/y",
				"exception-details": "PolicyException shop/x; ClusterPolicyException y",
			},
		}},
		{"refused a read", []decision.Result{nosy}, admissionv1.AdmissionResponse{
			Allowed: true,
			AuditAnnotations: map[string]string{
				"decision": "allow", "policies": "ClusterPolicy/restricted/pods=pass", "context-denied": "ClusterPolicy/restricted=list secrets",
			},
		}},
		{"warned", []decision.Result{risk}, admissionv1.AdmissionResponse{
			Allowed: true, Warnings: []string{"DenyPolicy strict, rule podSecurityRules: Risk score 190."},
			AuditAnnotations: map[string]string{
				"decision": "warn", "policies": "DenyPolicy/strict/podSecurityRules=warn", "risk-score": "190", "risk-factors": "hostPID,hostNetwork",
			},
		}},
		{"refused", []decision.Result{result(decision.Fail)}, admissionv1.AdmissionResponse{
			Result: &metav1.Status{Status: "Failure", Reason: "Forbidden", Code: 403, Message: "creating Pod shop/web- is denied by ClusterPolicy restricted, rule pods: " +
				"violates restricted:latest; at spec.hostPID (true). Next: change these fields, or ask for an exception to ClusterPolicy restricted with a PolicyExceptionRequest."},
			AuditAnnotations: map[string]string{"decision": "deny", "policies": "ClusterPolicy/restricted/pods=fail"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.UID = "u1"
			if diff := cmp.Diff(&tt.want, answered(t, parsed(t, create), tt.results...)); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnswerBounds says that an answer stays within what the API server carries
// on, however much there is to say, and that nothing in it can be forged.
func TestAnswerBounds(t *testing.T) {
	var results []decision.Result
	for i := range 300 {
		r := result(decision.Fail)
		r.Policy, r.Message = fmt.Sprintf("policy-%d", i), "bad \x1b[2K\nvalue \xff"
		r.Exceptions = []decision.Exception{{Kind: "PolicyException", Name: fmt.Sprint(i)}}
		r.Factors = []string{fmt.Sprint("factor", i)}
		for range 300 {
			r.Findings = append(r.Findings, decision.Finding{Path: "spec.containers[0].image", Value: strings.Repeat("\"é", 100)})
		}
		results = append(results, r)
		r.Status, r.Action = decision.Warn, decision.ActionWarn
		results = append(results, r)
	}
	req := parsed(t, create)
	for user, limit := range map[string]int{"alice": 4096, "system:serviceaccount:kube-system:replicaset-controller": 768} {
		req.User.Name = user
		response := answered(t, req, results...)
		if message := response.Result.Message; len(message) > limit || len(message) < limit/2 || strings.ContainsAny(message, "\n\x1b") {
			t.Errorf("%s reads %d bytes: %q", user, len(message), message)
		}
		total := 0
		for _, w := range response.Warnings {
			total += len(w)
			if len(w) > 256 || strings.ContainsAny(w, "\n\x1b") {
				t.Errorf("warning of %d bytes: %q", len(w), w)
			}
		}
		if total > 4096 {
			t.Errorf("%d bytes of warnings", total)
		}
		for key, value := range response.AuditAnnotations {
			if len(value) > 1200 || !strings.Contains(value, "more") && key != "decision" {
				t.Errorf("annotation %s: %q", key, value)
			}
			// The API server puts the webhook's name before the key and drops one
			// that is not a qualified name then.
			if problems := validation.IsQualifiedName("pods.sallyport.io/" + key); len(problems) > 0 {
				t.Errorf("annotation %s: %v", key, problems)
			}
		}
	}
}

// apart reads an object a second time, apart from the review.
type apart struct{ *pod.Registry }

func (a apart) DecodeNext(gvk schema.GroupVersionKind, d *apijson.Decoder) (*pod.Object, error) {
	raw, err := d.Raw()
	if err != nil {
		return nil, err
	}
	return a.Decode(gvk, raw)
}

// FuzzAdmissionReview reads and answers any body. Nothing may panic; what cannot
// be read is a 400; an answer repeats the uid, and is JSON. Reading an object
// where it stands gives what reading it apart gives.
func FuzzAdmissionReview(f *testing.F) {
	for _, review := range recordedAdmission() {
		f.Add(review)
	}
	f.Add([]byte(create))
	f.Add([]byte(connect))
	registry := pod.Default()
	decisions := []decision.Decision{
		decision.Of(nil), decision.Of([]decision.Result{result(decision.Fail)}), decision.Of([]decision.Result{result(decision.Warn)}),
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := Parse(body, registry)
		again, errAgain := Parse(body, apart{registry})
		if (err == nil) != (errAgain == nil) {
			t.Fatalf("read where it stands: %v; read apart: %v", err, errAgain)
		}
		if diff := cmp.Diff(again, req, cmpopts.IgnoreUnexported(pod.Object{}, pod.Pod{})); diff != "" {
			t.Fatalf("read apart (-) and where it stands (+):\n%s", diff)
		}
		if err != nil {
			wantMalformed(t, err, "")
			return
		}
		if req.UID == "" || req.Resource.Resource == "" || req.Kind.Kind == "" {
			t.Fatalf("%+v lacks something", req)
		}
		if (req.Operation == request.Create || req.Operation == request.Update) && req.Object == nil {
			t.Fatalf("%s without an object", req.Operation)
		}
		for i := range decisions {
			var answer struct {
				Response struct {
					UID     types.UID
					Allowed *bool
				}
			}
			raw := Answer(req, &decisions[i])
			if err := json.Unmarshal(raw, &answer); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			if answer.Response.UID != req.UID || answer.Response.Allowed == nil || *answer.Response.Allowed == decisions[i].Refuses() {
				t.Fatalf("%q is answered with %s", req.UID, raw)
			}
		}
	})
}
