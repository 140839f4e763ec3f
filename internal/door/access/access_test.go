package access

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/door/doortest"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// exec is a review that is as it should be; tests change one thing in it.
const exec = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{` +
	`"resourceAttributes":{"namespace":"shop","verb":"create","group":"","version":"v1","resource":"pods","subresource":"exec","name":"web"},` +
	`"user":"alice","uid":"7","groups":["dev"],"extra":{"scopes":["a"]}},"status":{"allowed":false}}`

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       request.Request
	}{
		{"exec", exec, request.Request{Verb: "create", Resource: pods, Subresource: "exec", Namespace: "shop", Name: "web"}},
		{"written as one", replace(exec, `"resource":"pods","subresource":"exec"`, `"resource":"pods/exec"`), request.Request{Verb: "create", Resource: pods, Subresource: "exec", Namespace: "shop", Name: "web"}},
		{"in another case", replace(exec, `"resource":"pods","subresource":"exec"`, `"resource":"PODS","subresource":"Exec"`), request.Request{Verb: "create", Resource: pods, Subresource: "exec", Namespace: "shop", Name: "web"}},
		{"unknown fields", replace(exec, `"verb"`, `"Verb":"get","labelSelector":{"rawSelector":"a=b"},"verb"`), request.Request{Verb: "create", Resource: pods, Subresource: "exec", Namespace: "shop", Name: "web"}},
		{"a path", replace(exec, exec[strings.Index(exec, `"resourceAttributes"`):strings.Index(exec, `,"user"`)], `"nonResourceAttributes":{"verb":"get","path":"/metrics"}`), request.Request{Verb: "get", NonResourcePath: "/metrics"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := Parse([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Door = request.Access
			tt.want.User = request.User{Name: "alice", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{"scopes": {"a"}}}
			if diff := cmp.Diff(&tt.want, req); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

func TestParseMalformed(t *testing.T) {
	attributes := exec[strings.Index(exec, `"resourceAttributes"`):strings.Index(exec, `"user"`)]
	for _, tt := range []struct{ name, body, want string }{
		{"empty", "", "nothing was found"},
		{"null", "null", "names no kind"},
		{"not JSON", "kind: SubjectAccessReview", "not JSON"},
		{"trailing data", exec + "x", "not JSON"},
		{"wrong kind", replace(exec, `"SubjectAccessReview"`, `"LocalSubjectAccessReview"`), `kind is "LocalSubjectAccessReview", a SubjectAccessReview belongs here`},
		{"v1beta1", replace(exec, "authorization.k8s.io/v1", "authorization.k8s.io/v1beta1"), "reads only authorization.k8s.io/v1"},
		{"no spec", `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview"}`, "asks for nothing"},
		{"both kinds of attributes", replace(exec, `"user"`, `"nonResourceAttributes":{"path":"/x","verb":"get"},"user"`), "has both"},
		{"both, one of them empty", replace(exec, `"user"`, `"nonResourceAttributes":{},"user"`), "has both"},
		{"neither kind", replace(exec, attributes, ""), "has neither"},
		{"neither, null", replace(exec, attributes, `"resourceAttributes":null,"nonResourceAttributes":null,`), "has neither"},
		{"a path that is empty", replace(exec, attributes, `"nonResourceAttributes":{"verb":"get"},`), "path is missing"},
		{"empty user", replace(exec, `"user":"alice"`, `"user":""`), "spec.user is missing"},
		{"user in another case", replace(exec, `"user":"alice"`, `"User":"alice"`), "spec.user is missing"},
		{"duplicate user", replace(exec, `"user":"alice"`, `"user":"alice","user":"bob"`), "more than once"},
		{"duplicate extra", replace(exec, `"scopes":["a"]`, `"scopes":["a"],"scopes":["b"]`), "more than once"},
		{"groups is text", replace(exec, `["dev"]`, `"dev"`), "spec.groups"},
		{"deep lists", replace(exec, `["dev"]`, strings.Repeat("[", 20000)), "exceeded max depth"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.body))
			wantMalformed(t, err, tt.want)
		})
	}
}

func TestParseRecorded(t *testing.T) {
	read := 0
	for _, review := range doortest.Recorded() {
		if review.Admission {
			continue
		}
		read++
		req, err := Parse(review.Body)
		switch {
		case err != nil:
			t.Errorf("%s: %v", review.File, err)
		case req.User.Name == "" || req.Verb == "" || (req.Resource.Resource == "") == (req.NonResourcePath == ""):
			t.Errorf("%s: %+v lacks something", review.File, req)
		}
	}
	if read < 140 {
		t.Errorf("only %d reviews are there", read)
	}
}

func TestAnswer(t *testing.T) {
	refusal := decision.Result{Policy: "guard", Rule: "rules[0]", Kind: "DenyPolicy", Status: decision.Fail, Action: decision.Enforce, Message: "no exec here"}
	warning := refusal
	warning.Status = decision.Warn
	for _, tt := range []struct {
		name   string
		result decision.Result
		want   authorizationv1.SubjectAccessReviewStatus
	}{
		{"no opinion", decision.Result{Status: decision.Pass}, authorizationv1.SubjectAccessReviewStatus{}},
		{"warning", warning, authorizationv1.SubjectAccessReviewStatus{Reason: "warning: DenyPolicy guard, rule rules[0]: no exec here."}},
		{"denied", refusal, authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "exec into pod shop/web is denied by DenyPolicy guard, rule rules[0]: no exec here. Next: ask for an exception to DenyPolicy guard with a PolicyExceptionRequest."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := Parse([]byte(exec))
			if err != nil {
				t.Fatal(err)
			}
			d := decision.Of([]decision.Result{tt.result})
			var got authorizationv1.SubjectAccessReview
			if err := json.Unmarshal(Answer(req, &d), &got); err != nil {
				t.Fatal(err)
			}
			want := authorizationv1.SubjectAccessReview{
				TypeMeta: metav1.TypeMeta{Kind: "SubjectAccessReview", APIVersion: "authorization.k8s.io/v1"}, Status: tt.want,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("review (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzSubjectAccessReview reads and answers any body. Nothing may panic; what
// cannot be read is a 400; no answer ever allows.
func FuzzSubjectAccessReview(f *testing.F) {
	for _, review := range doortest.Recorded() {
		if !review.Admission {
			f.Add(review.Body)
		}
	}
	f.Add([]byte(exec))
	decisions := []decision.Decision{
		decision.Of(nil),
		decision.Of([]decision.Result{{Status: decision.Fail, Action: decision.Enforce}}),
		decision.Of([]decision.Result{{Status: decision.Warn}}),
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := Parse(body)
		if err != nil {
			wantMalformed(t, err, "")
			return
		}
		if req.User.Name == "" {
			t.Fatal("nobody asks")
		}
		for i := range decisions {
			var got authorizationv1.SubjectAccessReview
			raw := Answer(req, &decisions[i])
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			if got.Status.Allowed || got.Status.Denied != decisions[i].Refuses() {
				t.Fatalf("answered with %s", raw)
			}
		}
	})
}

func wantMalformed(t *testing.T, err error, text string) {
	t.Helper()
	var malformed *door.Error
	switch {
	case !errors.As(err, &malformed):
		t.Fatalf("got %v, want a *door.Error", err)
	case malformed.Status != http.StatusBadRequest:
		t.Errorf("status %d, want 400", malformed.Status)
	case !strings.Contains(malformed.Message, text):
		t.Errorf("message %q does not hold %q", malformed.Message, text)
	}
}

func replace(in string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(in, pairs[i]) {
			panic(pairs[i] + " is not in the review")
		}
		in = strings.Replace(in, pairs[i], pairs[i+1], 1)
	}
	return in
}

// TestAnswerSaysWhatDoesNotCount has no opinion say why a session is of no use, which the
// API server shows if no one else lets the user in.
func TestAnswerSaysWhatDoesNotCount(t *testing.T) {
	d := decision.Of(nil)
	d.NotGranted = "BreakglassSession s does not count: bob is in none of the groups"
	got := string(Answer(&request.Request{Door: request.Access}, &d))
	if want := `"status":{"allowed":false,"reason":"BreakglassSession s does not count: bob is in none of the groups"}`; !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
