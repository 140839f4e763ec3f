package reached

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

const word = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

var (
	began = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	exec  = policy.AskedDoor{Operation: request.Connect, Verb: "create", Resource: "pods", Subresource: "exec"}
)

// TestAnswer answers those who know a word, in no words that hold it, and nobody else.
func TestAnswer(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "sallyport.io", Version: "v1alpha1", Kind: "PolicyExceptionResponse"}
	canary := request.Request{Door: request.Admission, Operation: request.Create, DryRun: true, Kind: kind, Name: "sallyport-canary-" + strings.ToLower(word)}
	probe := request.Request{Door: request.Access, User: request.User{Name: "sallyport:probe:" + word}, Verb: "get"}
	for _, c := range []struct {
		name   string
		of     request.Request
		change func(*request.Request)
		want   bool
	}{
		{"a probe", probe, nil, true},
		{"a probe by a word that nobody gave", probe, func(r *request.Request) { r.User.Name = "sallyport:probe:X" }, false},
		{"a probe without a word", probe, func(r *request.Request) { r.User.Name = "sallyport:probe:" }, false},
		{"a user of another name", probe, func(r *request.Request) { r.User.Name = word }, false},
		{"a probe of another cluster", probe, func(r *request.Request) { r.Elsewhere = true }, false},
		{"a user at the front door", canary, func(r *request.Request) { r.User.Name, r.Name = probe.User.Name, "x" }, false},
		{"a canary", canary, nil, true},
		{"a canary that would be made", canary, func(r *request.Request) { r.DryRun = false }, false},
		{"a canary that is changed", canary, func(r *request.Request) { r.Operation = request.Update }, false},
		{"a canary of another kind", canary, func(r *request.Request) { r.Kind.Kind = "PolicyException" }, false},
		{"a canary by a word that nobody gave", canary, func(r *request.Request) { r.Name += "x" }, false},
	} {
		r := c.of
		if c.change != nil {
			c.change(&r)
		}
		got, is := Answer(&r, func(w string) bool { return w == word })
		if is != c.want || strings.Contains(strings.ToUpper(got), word) {
			t.Errorf("%s: %q %v", c.name, got, is)
		}
	}
}

// authorizer is one whose API server answers with this status.
func authorizer(clock *clocktesting.FakeClock, status *authorizationv1.SubjectAccessReviewStatus, fails *error) (*Authorizer, *kubernetesfake.Clientset) {
	client := kubernetesfake.NewClientset()
	client.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if *fails != nil {
			return true, nil, *fails
		}
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		review.Status = *status
		return true, review, nil
	})
	return NewAuthorizer(AuthorizerOptions{Client: client, Word: word, Leads: func() bool { return true }, Changed: func() {}, Clock: clock}), client
}

// TestAuthorizer believes only an answer that is Sallyport's own.
func TestAuthorizer(t *testing.T) {
	ours := "exec is denied: " + answer(word)
	for _, c := range []struct {
		name   string
		status authorizationv1.SubjectAccessReviewStatus
		fails  error
		asks   bool
		says   string
	}{
		{"asked", authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: ours}, nil, true, ""},
		{"asked, and let in all the same", authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: ours}, nil, false, ""},
		{"no one allows it", authorizationv1.SubjectAccessReviewStatus{}, nil, false, ""},
		{"someone lets everyone in", authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "user sallyport:probe:" + word}, nil, false, ""},
		{"refused by another", authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "sallyport:probe:" + word + " is not known"}, nil, false, "in other words"},
		{"no answer", authorizationv1.SubjectAccessReviewStatus{Denied: true, EvaluationError: "connection refused"}, nil, false, "connection refused"},
		{"no right", authorizationv1.SubjectAccessReviewStatus{}, errors.New("forbidden"), false, "cannot be asked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, client := authorizer(clocktesting.NewFakeClock(began), &c.status, &c.fails)
			if _, known, _ := a.Asks(exec); known {
				t.Fatal("it is known before it was asked")
			}
			if !a.ask(t.Context()) {
				t.Error("nothing has changed")
			}
			asks, known, err := a.Asks(exec)
			if asks != c.asks || !known || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v %v %v", asks, known, err)
			}
			review := client.Actions()[0].(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
			if at := review.Spec.ResourceAttributes; at.Verb != "create" || at.Resource != "pods" || at.Subresource != "exec" || !strings.HasPrefix(at.Name, "sallyport-probe-") || len(review.Spec.Groups) > 0 {
				t.Errorf("asked about %+v", review.Spec)
			}
		})
	}
}

// TestKeeps sees answers that are kept by what no two have in common.
func TestKeeps(t *testing.T) {
	fresh := func() string {
		said, _ := Answer(&request.Request{Door: request.Access, User: request.User{Name: userPrefix + word}}, func(string) bool { return true })
		return said
	}
	kept := fresh()
	for _, c := range []struct {
		name         string
		answers      func() authorizationv1.SubjectAccessReviewStatus
		keeps, known bool
	}{
		{"asked each time", func() authorizationv1.SubjectAccessReviewStatus {
			return authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "exec is denied: " + fresh() + ", for more see the docs"}
		}, false, true},
		{"kept", func() authorizationv1.SubjectAccessReviewStatus {
			return authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: kept}
		}, true, true},
		{"an older version", func() authorizationv1.SubjectAccessReviewStatus {
			return authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: answer(word)}
		}, false, false},
		{"not asked", func() authorizationv1.SubjectAccessReviewStatus {
			return authorizationv1.SubjectAccessReviewStatus{}
		}, false, false},
		{"another that refuses", func() authorizationv1.SubjectAccessReviewStatus {
			return authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "no" + asked + "TWICE"}
		}, false, false},
	} {
		client := kubernetesfake.NewClientset()
		client.PrependReactor("create", "subjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, &authorizationv1.SubjectAccessReview{Status: c.answers()}, nil
		})
		a := NewAuthorizer(AuthorizerOptions{Client: client, Word: word, Clock: clocktesting.NewFakeClock(began)})
		if keeps, known, err := a.Keeps(t.Context(), exec); keeps != c.keeps || known != c.known || err != nil {
			t.Errorf("%s: %v %v %v", c.name, keeps, known, err)
		}
	}
}

// TestAuthorizerIsAskedAgain after a time, for as long as somebody wants to know.
func TestAuthorizerIsAskedAgain(t *testing.T) {
	clock := clocktesting.NewFakeClock(began)
	status, none := authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: answer(word)}, error(nil)
	a, client := authorizer(clock, &status, &none)
	a.Asks(exec)
	for range 3 {
		a.ask(t.Context())
	}
	if n := len(client.Actions()); n != 1 {
		t.Fatalf("asked %d times", n)
	}
	clock.Step(askEvery)
	status = authorizationv1.SubjectAccessReviewStatus{}
	if !a.ask(t.Context()) {
		t.Error("it does not see that the authorizer asks no longer")
	}
	if asks, _, _ := a.Asks(exec); asks || len(client.Actions()) != 2 {
		t.Errorf("asked %d times: %v", len(client.Actions()), asks)
	}
	clock.Step(keptFor + time.Second)
	a.ask(t.Context())
	if len(a.found) != 0 || len(client.Actions()) != 2 {
		t.Error("it is asked about what nobody wants to know")
	}
}

// canary is one whose API server answers a dry run with an error, or none.
func canary(clock *clocktesting.FakeClock, answers *error) (*Canary, *int) {
	scheme := runtime.NewScheme()
	_ = v1alpha1.AddToScheme(scheme)
	changes := 0
	objects := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, _ client.Object, opts ...client.CreateOption) error {
			o := (&client.CreateOptions{}).ApplyOptions(opts)
			if len(o.DryRun) != 1 {
				return errors.New("it would be made")
			}
			return *answers
		},
	}).Build()
	return NewCanary(CanaryOptions{Client: objects, Word: word, Leads: func() bool { return true }, Changed: func() { changes++ }, Clock: clock, Log: logr.Discard()}), &changes
}

// TestCanary says whether webhooks reach Sallyport, and what is wrong only if it lasts.
func TestCanary(t *testing.T) {
	for _, c := range []struct {
		name       string
		answers    error
		want, says string
	}{
		{"reached", errors.New(`admission webhook "exceptions.sallyport.io" denied the request: ` + answer(word)), "True Reached", ""},
		{"not asked", nil, "Unknown NotKnown", "none asks about exceptions"},
		{"another certificate", errors.New(`failed calling webhook "exceptions.sallyport.io": x509: unknown authority`), "False NotReached", "unknown authority"},
		{"no right", errors.New("forbidden"), "Unknown NotKnown", "forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(began)
			answers := c.answers
			one, changes := canary(clock, &answers)
			fine := one.probe(t.Context())
			if _, known := one.Reached(stored.Ref{}, policy.Version{}); fine != known {
				t.Errorf("fine %v, said at once %v", fine, known)
			}
			clock.Step(lasts)
			one.probe(t.Context())
			got, _ := one.Reached(stored.Ref{}, policy.Version{})
			if string(got.Status)+" "+got.Reason != c.want || !strings.Contains(got.Message, c.says) || *changes != 1 {
				t.Errorf("%+v after %d notices", got, *changes)
			}
			// What is wrong for a moment is not said.
			answers = errors.New(answer(word))
			one.probe(t.Context())
			answers = errors.New("timeout")
			one.probe(t.Context())
			if got, _ := one.Reached(stored.Ref{}, policy.Version{}); got.Status != metav1.ConditionTrue {
				t.Errorf("%+v", got)
			}
		})
	}
}
