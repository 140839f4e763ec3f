package workflow

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// swept is a Controller of a cluster that a test fills, with a clock that the
// test turns.
type swept struct {
	*Controller
	*testing.T
	clock *clocktesting.FakeClock
	store *policy.Store
}

func newSwept(t *testing.T, rules []string, objects ...client.Object) *swept {
	t.Helper()
	s := scheme(t)
	if err := corev1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	ledger := exception.NewLedger()
	w := &swept{T: t, clock: clocktesting.NewFakeClock(noon)}
	w.store = policy.NewStore(pod.Default(), w.clock.Now, exception.Options{Ledger: ledger})
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "dev"}})
	c := fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.PolicyException{}, &v1alpha1.ClusterPolicyException{}, &v1alpha1.PolicyExceptionRequest{}, &v1alpha1.PolicyExceptionResponse{}).Build()
	w.Controller = &Controller{
		Options: Options{Set: w.store.Set, Ledger: ledger, Clock: w.clock, Log: logr.Discard(), UnusedAfter: 24 * time.Hour, Retention: 48 * time.Hour},
		client:  c,
		direct:  c,
		counts:  c,
	}
	w.reload(rules)
	return w
}

// Sweep looks at everything once, as whoever leads does.
func (w *swept) Sweep(ctx context.Context) error {
	return errors.Join(w.reconcileSessions(ctx), w.reconcileExceptions(ctx))
}

// reload puts what the cluster holds in force, as the informer does.
func (w *swept) reload(rules []string) {
	w.Helper()
	all, err := w.list(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	var sources exception.Sources
	for i := range all.requests {
		sources.Requests = append(sources.Requests, source.Of[*v1alpha1.PolicyExceptionRequest]{Object: &all.requests[i]})
	}
	for i := range all.responses {
		sources.Responses = append(sources.Responses, source.Of[*v1alpha1.PolicyExceptionResponse]{Object: &all.responses[i]})
	}
	for i := range all.exceptions {
		sources.Exceptions = append(sources.Exceptions, source.Of[*v1alpha1.PolicyException]{Object: &all.exceptions[i]})
	}
	for _, text := range rules {
		sources.ExceptionPolicies = append(sources.ExceptionPolicies, source.Of[*v1alpha1.ExceptionPolicy]{Object: parse[v1alpha1.ExceptionPolicy](w.T, text)})
	}
	p := parse[v1alpha1.ClusterPolicy](w.T, plainPolicy)
	w.store.Merge(policy.Sources{Exceptions: sources, ClusterPolicies: []stored.Sourced[*v1alpha1.ClusterPolicy]{{Object: p}}})
}

func (w *swept) sweep() {
	w.Helper()
	if err := w.Sweep(w.Context()); err != nil {
		w.Fatal(err)
	}
}

func (w *swept) request() *v1alpha1.PolicyExceptionRequest {
	w.Helper()
	q := &v1alpha1.PolicyExceptionRequest{}
	if err := w.client.Get(w.Context(), client.ObjectKey{Namespace: "dev", Name: "q"}, q); err != nil {
		w.Fatal(err)
	}
	return q
}

const approval = `
metadata: {name: a, generation: 1, creationTimestamp: "2026-11-28T12:00:00Z", uid: ua}
spec: {name: q, namespace: dev, status: Approved, reason: fine, requestUID: u1, requestGeneration: 3, approver: dave, approvalTime: "2026-11-28T12:00:00Z", expiresAt: "2026-12-08T12:00:00Z"}
`

// TestRequestStates follows a request through its life.
func TestRequestStates(t *testing.T) {
	w := newSwept(t, nil, parse[v1alpha1.PolicyExceptionRequest](t, asked))
	w.sweep()
	if s := w.request().Status; s.State != v1alpha1.RequestPending || s.ObservedGeneration != 3 {
		t.Fatalf("status %+v, want Pending", s)
	}
	before := w.request().ResourceVersion
	w.sweep()
	if after := w.request().ResourceVersion; after != before {
		t.Errorf("nothing changed, and it was written: %s, then %s", before, after)
	}

	a := parse[v1alpha1.PolicyExceptionResponse](t, approval)
	if err := w.client.Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	w.reload(nil)
	w.sweep()
	if s := w.request().Status; s.State != v1alpha1.RequestApproved || s.Reason != "fine" || s.Approver != "dave" || s.Response != "a" || s.ExpiresAt == nil {
		t.Errorf("status %+v, want Approved", s)
	}
	var answered v1alpha1.PolicyExceptionResponse
	if err := w.client.Get(t.Context(), client.ObjectKey{Name: "a"}, &answered); err != nil || answered.Status.State != v1alpha1.ExceptionActive {
		t.Errorf("the response is %s, %v, want Active", answered.Status.State, err)
	}

	w.clock.SetTime(noon.Add(25 * time.Hour))
	w.sweep()
	if s := w.request().Status; s.UnusedSince == nil || !s.UnusedSince.Time.Equal(noon) {
		t.Errorf("unused since %v, want noon", s.UnusedSince)
	}

	w.clock.SetTime(noon.Add(240 * time.Hour))
	w.sweep()
	if s := w.request().Status; s.State != v1alpha1.RequestExpired || s.UnusedSince != nil {
		t.Errorf("status %+v, want Expired", s)
	}

	w.clock.SetTime(noon.Add(240*time.Hour + 48*time.Hour - time.Second))
	w.sweep()
	w.request()
	w.clock.SetTime(noon.Add(240*time.Hour + 48*time.Hour))
	w.sweep()
	if err := w.client.Get(t.Context(), client.ObjectKey{Name: "a"}, &v1alpha1.PolicyExceptionResponse{}); err != nil {
		t.Errorf("the answer went before it was known that the request is gone: %v", err)
	}
	w.sweep()
	for _, object := range []client.Object{&v1alpha1.PolicyExceptionRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "q"}}, &v1alpha1.PolicyExceptionResponse{ObjectMeta: metav1.ObjectMeta{Name: "a"}}} {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			t.Errorf("%T is still there: %v", object, err)
		}
	}
}

// TestStaleResponses keeps an answer to an earlier version for a while.
func TestStaleResponses(t *testing.T) {
	a := parse[v1alpha1.PolicyExceptionResponse](t, approval)
	a.Spec.RequestGeneration, a.Spec.ExpiresAt = 2, nil
	w := newSwept(t, nil, parse[v1alpha1.PolicyExceptionRequest](t, asked), a)
	w.sweep()
	if s := w.request().Status; s.State != v1alpha1.RequestPending {
		t.Errorf("state %s, want Pending", s.State)
	}
	var stale v1alpha1.PolicyExceptionResponse
	if err := w.client.Get(t.Context(), client.ObjectKey{Name: "a"}, &stale); err != nil || stale.Status.State != v1alpha1.ExceptionNoEffect || len(stale.Status.Conditions) != 1 || stale.Status.Conditions[0].Status != metav1.ConditionFalse {
		t.Errorf("status %+v, %v, want one without effect that says why", stale.Status, err)
	}
	w.clock.SetTime(noon.Add(48 * time.Hour))
	w.sweep()
	if err := w.client.Get(t.Context(), client.ObjectKey{Name: "a"}, &stale); !apierrors.IsNotFound(err) {
		t.Errorf("the stale response is still there: %v", err)
	}
}

// TestAutomaticApprovals answers what a rule approves, once, and nothing else.
func TestAutomaticApprovals(t *testing.T) {
	rule := func(condition string) []string {
		return []string{"metadata: {name: auto}\nspec: {policies: [p], approvalPolicy: Automatic, approvalCondition: \"" + condition + "\"}"}
	}
	for name, c := range map[string]struct {
		rules []string
		want  int
		told  string
	}{
		"no rule":                {nil, 0, ""},
		"a condition that holds": {rule("request.spec.reason == 'why'"), 1, reasonApproved},
		"one that does not":      {rule("request.spec.reason == 'x'"), 0, ""},
		"one that errs":          {rule("request.spec.nothing == 'x'"), 0, reasonCondition},
		"about the namespace":    {rule("namespaceObject.metadata.name == 'dev'"), 1, reasonApproved},
		"for another policy":     {[]string{"metadata: {name: auto}\nspec: {policies: [q], approvalPolicy: Automatic}"}, 0, ""},
		"by hand":                {[]string{"metadata: {name: auto}\nspec: {policies: [p], approvalPolicy: Manual}"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSwept(t, c.rules, parse[v1alpha1.PolicyExceptionRequest](t, asked))
			w.sweep()
			w.sweep()
			var list v1alpha1.PolicyExceptionResponseList
			if err := w.client.List(t.Context(), &list); err != nil || len(list.Items) != c.want {
				t.Fatalf("%d answers, %v, want %d", len(list.Items), err, c.want)
			}
			if c.want == 1 && (list.Items[0].Spec.ApprovalPolicy != "Automatic" || list.Items[0].Spec.RequestUID != "u1" || list.Items[0].Spec.RequestGeneration != 3) {
				t.Errorf("answer %+v", list.Items[0].Spec)
			}
			if told := w.approval(); told != c.told {
				t.Errorf("conditions %+v", w.request().Status.Conditions)
			}
		})
	}
}

// TestAutomaticApprovalOfOtherNamespaces leaves to a person what reaches other
// namespaces, and says so.
func TestAutomaticApprovalOfOtherNamespaces(t *testing.T) {
	w := newSwept(t, []string{"metadata: {name: auto}\nspec: {policies: [p], approvalPolicy: Automatic}"},
		parse[v1alpha1.PolicyExceptionRequest](t, strings.Replace(asked, "kinds: [Pod]", "kinds: [Pod], namespaces: [prod]", 1)))
	w.sweep()
	w.sweep()
	var list v1alpha1.PolicyExceptionResponseList
	if err := w.client.List(t.Context(), &list); err != nil || len(list.Items) != 0 {
		t.Fatalf("answers %v, %v", list.Items, err)
	}
	if w.approval() != reasonRefused || w.request().Status.State != v1alpha1.RequestPending {
		t.Errorf("status %+v", w.request().Status)
	}
}

// TestTwoApprovals count for nothing, both, until one of them is taken away.
func TestTwoApprovals(t *testing.T) {
	first := parse[v1alpha1.PolicyExceptionResponse](t, approval)
	second := first.DeepCopy()
	second.Name, second.UID = "b", "ub"
	w := newSwept(t, nil, parse[v1alpha1.PolicyExceptionRequest](t, asked), first, second)
	w.sweep()
	if s := w.request().Status; s.State != v1alpha1.RequestPending || !strings.Contains(s.Reason, "answered twice") {
		t.Errorf("status %+v", s)
	}
	w.clock.SetTime(noon.Add(49 * time.Hour))
	w.sweep()
	w.sweep()
	for _, name := range []string{"a", "b"} {
		if err := w.client.Get(t.Context(), client.ObjectKey{Name: name}, &v1alpha1.PolicyExceptionResponse{}); err != nil {
			t.Errorf("answer %s: %v", name, err)
		}
	}
}

// TestAnswersThatAreDeleted count for nothing, whatever finalizers keep them.
func TestAnswersThatAreDeleted(t *testing.T) {
	a := parse[v1alpha1.PolicyExceptionResponse](t, approval)
	a.Finalizers = []string{"x.io/y"}
	w := newSwept(t, nil, parse[v1alpha1.PolicyExceptionRequest](t, asked), a)
	w.sweep()
	if s := w.request().Status; s.State != v1alpha1.RequestApproved {
		t.Fatalf("status %+v", s)
	}
	if err := w.client.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	w.reload(nil)
	w.sweep()
	if s := w.request().Status; s.State != v1alpha1.RequestPending {
		t.Errorf("status %+v", s)
	}
}

// approval is the reason of the condition on automatic approval, or empty.
func (w *swept) approval() string {
	if c := apimeta.FindStatusCondition(w.request().Status.Conditions, ConditionApproval); c != nil {
		return c.Reason
	}
	return ""
}

// TestAutomaticApprovalTakenBack does not give again what a person took away,
// until something else is asked for.
func TestAutomaticApprovalTakenBack(t *testing.T) {
	w := newSwept(t, []string{"metadata: {name: auto}\nspec: {policies: [p], approvalPolicy: Automatic}"}, parse[v1alpha1.PolicyExceptionRequest](t, asked))
	answers := func() []v1alpha1.PolicyExceptionResponse {
		t.Helper()
		w.sweep()
		w.sweep()
		var list v1alpha1.PolicyExceptionResponseList
		if err := w.client.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		return list.Items
	}
	given := answers()
	if len(given) != 1 || w.request().Status.State != v1alpha1.RequestApproved {
		t.Fatalf("answers %v, status %+v", given, w.request().Status)
	}
	if err := w.client.Delete(t.Context(), &given[0]); err != nil {
		t.Fatal(err)
	}
	if again := answers(); len(again) != 0 || w.approval() != reasonRevoked || w.request().Status.State != v1alpha1.RequestPending {
		t.Fatalf("answers %v after it was taken back, status %+v", again, w.request().Status)
	}
	changed := w.request()
	changed.Generation++
	if err := w.client.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if again := answers(); len(again) != 1 || w.approval() != reasonApproved {
		t.Errorf("answers %v after another request, status %+v", again, w.request().Status)
	}
}

// TestUses adds what replicas counted.
func TestUses(t *testing.T) {
	e := parse[v1alpha1.PolicyException](t, `
metadata: {name: e, namespace: dev, uid: ue, creationTimestamp: "2026-11-20T12:00:00Z"}
spec: {exceptions: [{policyName: p, ruleNames: [r]}], match: {resources: {kinds: [Pod], names: [x]}}}
`)
	twin := e.DeepCopy()
	twin.Name, twin.UID = "twin", "ut"
	w := newSwept(t, nil, e, twin)
	for range 3 {
		w.store.Set().Exceptions().Exceptions()[0].Used(noon)
	}
	w.Flush(t.Context())
	w.Flush(t.Context())
	w.sweep()
	got := &v1alpha1.PolicyException{}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(e), got); err != nil {
		t.Fatal(err)
	}
	if s := got.Status; s.Uses != 3 || s.LastUsedAt == nil || !s.LastUsedAt.Time.Equal(noon) || s.State != v1alpha1.ExceptionActive || s.UnusedSince != nil || len(s.Overlaps) != 1 {
		t.Errorf("status %+v", s)
	}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(twin), got); err != nil || got.Status.UnusedSince == nil {
		t.Errorf("status %+v, %v, want one that says since when it is unused", got.Status, err)
	}
}
