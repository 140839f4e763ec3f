package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestAutomaticApprovalsOfOddRequests answers nothing that is answered, wrong or on its
// way out, and says why where some rule would.
func TestAutomaticApprovalsOfOddRequests(t *testing.T) {
	rule := func(policies, more string) string {
		return "metadata: {name: auto}\nspec: {policies: [" + policies + "], approvalPolicy: Automatic" + more + "}"
	}
	naming := func(entry string) *v1alpha1.PolicyExceptionRequest {
		return parse[v1alpha1.PolicyExceptionRequest](t, strings.Replace(asked, "{policyName: p, ruleNames: [r]}", entry, 1))
	}
	plain := naming("{policyName: p, ruleNames: [r]}")
	leaving := plain.DeepCopy()
	leaving.Finalizers = []string{"x.io/y"}
	answer := parse[v1alpha1.PolicyExceptionResponse](t, approval)
	second := answer.DeepCopy()
	second.Name, second.UID = "b", "ub"
	denial := second.DeepCopy()
	denial.Spec.Status = v1alpha1.ResponseDenied
	taken, away := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "x"}, "x"), errors.New("etcd is away")
	for name, c := range map[string]struct {
		q       *v1alpha1.PolicyExceptionRequest
		rules   []string
		answers []client.Object
		create  error
		// made is how many answers there are in the end.
		made         int
		reason, says string
		fails        bool
		state        v1alpha1.RequestState
	}{
		"plain":                       {plain, []string{rule("p", "")}, nil, nil, 1, reasonApproved, "approved automatically by ExceptionPolicy auto", false, "Approved"},
		"answered twice":              {plain, []string{rule("p", "")}, []client.Object{answer, second}, nil, 2, "", "", false, "Pending"},
		"approved and denied":         {plain, []string{rule("p", "")}, []client.Object{answer, denial}, nil, 2, "", "", false, "Denied"},
		"being deleted":               {leaving, []string{rule("p", "")}, nil, nil, 0, "", "", false, "Pending"},
		"longer than the rules let":   {plain, []string{rule("p", ""), "metadata: {name: short}\nspec: {policies: [p], maxDuration: 1d}"}, nil, nil, 0, "", "", false, "Pending"},
		"for later":                   {naming("{policyName: x}"), []string{rule("x, dev/x", "")}, nil, nil, 0, reasonRefused, `exceptions[0] names "x", which no policy is called now; a person can answer it`, false, "Pending"},
		"for later, by another rule":  {naming("{policyName: x}"), []string{rule("p", "")}, nil, nil, 0, "", "", false, "Pending"},
		"a pattern":                   {naming("{policyName: 'p*', policyKind: ClusterPolicy}"), []string{rule("'p*'", ", allowAnyPolicy: true")}, nil, nil, 1, reasonApproved, "by ExceptionPolicy auto", false, "Approved"},
		"answered by another replica": {plain, []string{rule("p", "")}, nil, taken, 0, reasonApproved, "by ExceptionPolicy auto", false, "Pending"},
		"what cannot be answered":     {plain, []string{rule("p", "")}, nil, away, 0, "", "", true, "Pending"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSwept(t, c.rules, append([]client.Object{c.q.DeepCopy()}, c.answers...)...)
			api := w.client
			w.client = interceptor.NewClient(api.(client.WithWatch), interceptor.Funcs{Create: func(ctx context.Context, api client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if c.create != nil {
					return c.create
				}
				// The API server gives what is made an identity.
				o.SetUID("made")
				return api.Create(ctx, o, opts...)
			}})
			if len(c.q.Finalizers) > 0 {
				// The policies in force do not know yet that it is.
				if err := api.Delete(t.Context(), c.q.DeepCopy()); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := w.Sweep(t.Context()); (err != nil) != c.fails {
					t.Errorf("says %v", err)
				}
				if c.create == taken {
					break
				}
			}
			var list v1alpha1.PolicyExceptionResponseList
			if err := api.List(t.Context(), &list); err != nil || len(list.Items) != c.made {
				t.Errorf("%d answers, %v, want %d", len(list.Items), err, c.made)
			}
			reason, says := "", ""
			if given := apimeta.FindStatusCondition(w.request().Status.Conditions, ConditionApproval); given != nil {
				reason, says = given.Reason, given.Message
			}
			if reason != c.reason || !strings.Contains(says, c.says) || w.request().Status.State != c.state {
				t.Errorf("%s: %s, state %s", reason, says, w.request().Status.State)
			}
		})
	}
}

// TestWhatIsOverIsRemoved removes what is over for long enough, and nothing else.
func TestWhatIsOverIsRemoved(t *testing.T) {
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(d)} }
	const kept = 48 * time.Hour
	exception := func(state v1alpha1.ExceptionState, expires *metav1.Time) v1alpha1.PolicyExceptionStatus {
		return v1alpha1.PolicyExceptionStatus{State: state, ExpiresAt: expires}
	}
	for name, c := range map[string]struct {
		status    v1alpha1.PolicyExceptionStatus
		retention time.Duration
		removed   bool
	}{
		"over for long":          {exception("Expired", at(-kept)), kept, true},
		"over for a while":       {exception("Expired", at(-kept+time.Second)), kept, false},
		"kept forever":           {exception("Expired", at(-kept)), 0, false},
		"not over":               {exception("Active", at(-kept)), kept, false},
		"over, no one says when": {exception("Expired", nil), kept, false},
		"over since never":       {exception("Expired", &metav1.Time{}), kept, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := &v1alpha1.PolicyException{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "dev"}}
			wide := &v1alpha1.ClusterPolicyException{ObjectMeta: metav1.ObjectMeta{Name: "w"}}
			w := newSwept(t, nil, e, wide)
			w.Retention = c.retention
			all, err := w.list(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all.exceptions[0].Status, all.wide[0].Status = c.status, c.status
			if err := w.cleanUp(t.Context(), all); err != nil {
				t.Fatal(err)
			}
			for _, o := range []client.Object{e, wide} {
				if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); apierrors.IsNotFound(err) != c.removed {
					t.Errorf("%T: %v", o, err)
				}
			}
		})
	}
	for name, c := range map[string]struct {
		created, expires *metav1.Time
		removed          bool
	}{
		"stale for long":                     {at(-kept), nil, true},
		"stale for a while":                  {at(-kept + time.Second), nil, false},
		"made at no time that is known":      {&metav1.Time{}, nil, false},
		"stale, and was to hold for longer":  {at(-kept), at(time.Hour), true},
		"stale, and expired a while ago":     {at(-2 * kept), at(-kept + time.Second), false},
		"stale, and expired long ago":        {at(-2 * kept), at(-kept), true},
		"stale, and expired before its time": {at(-kept + time.Second), at(-2 * kept), false},
	} {
		t.Run(name, func(t *testing.T) {
			a := parse[v1alpha1.PolicyExceptionResponse](t, approval)
			w := newSwept(t, nil, a)
			all, err := w.list(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all.responses[0].CreationTimestamp, all.responses[0].Spec.ExpiresAt = *c.created, c.expires
			if err := w.cleanUp(t.Context(), all); err != nil {
				t.Fatal(err)
			}
			if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(a), a); apierrors.IsNotFound(err) != c.removed {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestFaultsOfWrites are told, except for those after which there is nothing to be done.
func TestFaultsOfWrites(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		fails bool
	}{
		"none":          {nil, false},
		"gone since":    {apierrors.NewNotFound(schema.GroupResource{Resource: "x"}, "x"), false},
		"changed since": {apierrors.NewConflict(schema.GroupResource{Resource: "x"}, "x", errors.New("y")), false},
		"not writable":  {errors.New("etcd is away"), true},
	} {
		e := &v1alpha1.PolicyException{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "dev"}}
		w := newSwept(t, nil, e)
		w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
			Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return c.err },
			SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
				return c.err
			},
		})
		if err := w.remove(t.Context(), e); (err != nil) != c.fails {
			t.Errorf("%s: removing says %v", name, err)
		}
		if err := w.write(t.Context(), e, e.DeepCopy(), false); (err != nil) != c.fails {
			t.Errorf("%s: writing says %v", name, err)
		}
		if err := w.write(t.Context(), e, e.DeepCopy(), true); err != nil {
			t.Errorf("%s: writing nothing says %v", name, err)
		}
	}
}

// TestStatesOfResponses says of each answer whether it counts, and why not.
func TestStatesOfResponses(t *testing.T) {
	change := func(from, to string) *v1alpha1.PolicyExceptionResponse {
		return parse[v1alpha1.PolicyExceptionResponse](t, strings.Replace(approval, from, to, 1))
	}
	const end = `, expiresAt: "2026-12-08T12:00:00Z"`
	for name, c := range map[string]struct {
		a     *v1alpha1.PolicyExceptionResponse
		at    time.Duration
		state v1alpha1.ExceptionState
		ready bool
		says  string
	}{
		"in force":             {change("", ""), 0, v1alpha1.ExceptionActive, true, "the answer counts"},
		"with no end":          {change(end, ""), 0, v1alpha1.ExceptionActive, true, "the answer counts"},
		"expired":              {change("", ""), 240 * time.Hour, v1alpha1.ExceptionExpired, true, "the answer counts"},
		"a denial":             {change("Approved", "Denied"), 240 * time.Hour, v1alpha1.ExceptionNoEffect, true, "the answer counts"},
		"of an earlier one":    {change("Generation: 3", "Generation: 2"), 240 * time.Hour, v1alpha1.ExceptionNoEffect, false, "answers version 2 of the request"},
		"of nothing":           {change("name: q", "name: x"), 0, v1alpha1.ExceptionNoEffect, false, "there is no PolicyExceptionRequest dev/x"},
		"a denial of nothing":  {change("name: q, namespace: dev, status: Approved", "name: x, namespace: dev, status: Denied"), 0, v1alpha1.ExceptionNoEffect, false, "there is no PolicyExceptionRequest dev/x"},
		"a denial of what was": {change("status: Approved, reason: fine, requestUID: u1, requestGeneration: 3", "status: Denied, requestUID: u1, requestGeneration: 2"), 0, v1alpha1.ExceptionNoEffect, true, "the answer counts"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSwept(t, nil, parse[v1alpha1.PolicyExceptionRequest](t, asked), c.a)
			w.Retention = 0
			w.clock.SetTime(noon.Add(c.at))
			w.sweep()
			if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(c.a), c.a); err != nil {
				t.Fatal(err)
			}
			ready := apimeta.FindStatusCondition(c.a.Status.Conditions, v1alpha1.ConditionReady)
			if c.a.Status.State != c.state || (ready.Status == metav1.ConditionTrue) != c.ready || !strings.Contains(ready.Message, c.says) {
				t.Errorf("state %s, %+v", c.a.Status.State, ready)
			}
		})
	}
	if cannotTell("why") != "why" || !strings.Contains(cannotTell(""), "or is gone") {
		t.Errorf("%q, %q", cannotTell("why"), cannotTell(""))
	}
}

// TestStatusIsWrittenOnce writes the status of what has no end, or no effect, once.
func TestStatusIsWrittenOnce(t *testing.T) {
	const text = "metadata: {name: e, namespace: dev, uid: ue, creationTimestamp: \"2026-11-28T12:00:00Z\"}\nspec: {exceptions: [{policyName: p}], match: {resources: {kinds: [Pod], names: [x]}}}"
	for name, c := range map[string]struct {
		text  string
		state v1alpha1.ExceptionState
		ends  bool
	}{
		"no end":    {text, v1alpha1.ExceptionActive, false},
		"an end":    {strings.Replace(text, "spec: {", `spec: {expiresAt: "2026-12-08T12:00:00Z", `, 1), v1alpha1.ExceptionActive, true},
		"no effect": {strings.Replace(text, "policyName: p", "policyName: ''", 1), v1alpha1.ExceptionNoEffect, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := parse[v1alpha1.PolicyException](t, c.text)
			w := newSwept(t, nil, e)
			w.sweep()
			if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil || e.Status.State != c.state || (e.Status.ExpiresAt != nil) != c.ends {
				t.Fatalf("%v, status %+v", err, e.Status)
			}
			before := e.ResourceVersion
			w.sweep()
			if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil || e.ResourceVersion != before {
				t.Errorf("written again: %v, %+v", err, e.Status)
			}
		})
	}
}

// TestUnusedSince is told of what is in force and was not used for long enough.
func TestUnusedSince(t *testing.T) {
	early, late := metav1.NewTime(noon.Add(-time.Hour)), metav1.NewTime(noon.Add(-time.Minute))
	for name, c := range map[string]struct {
		inForce     bool
		last, begun *metav1.Time
		after       time.Duration
		want        *metav1.Time
	}{
		"never used":        {true, nil, &early, time.Hour, &early},
		"used long ago":     {true, &early, &late, time.Hour, &early},
		"used lately":       {true, &late, &early, time.Hour, nil},
		"not in force":      {false, nil, &early, time.Hour, nil},
		"begun at no time":  {true, nil, nil, time.Hour, nil},
		"no one wants that": {true, nil, &early, 0, nil},
	} {
		w := &Controller{Options: Options{UnusedAfter: c.after}}
		if got := w.unusedSince(c.inForce, c.last, c.begun, noon); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestOverlaps names others that excuse the same, each once, and not too many.
func TestOverlaps(t *testing.T) {
	exception := func(name, policy, rules string) client.Object {
		return parse[v1alpha1.PolicyException](t, "metadata: {name: "+name+", namespace: dev, uid: u-"+name+"}\nspec: {exceptions: [{policyName: "+policy+", ruleNames: ["+rules+"]}], match: {resources: {kinds: [Pod], names: [x]}}}")
	}
	many := make([]client.Object, maxOverlaps+2)
	for i := range many {
		many[i] = exception(fmt.Sprint("m", i), "q", "r")
	}
	objects := append(many, exception("a", "p", "r, s"), exception("b", "p", "r, s"), exception("c", "p", "t"))
	w := newSwept(t, nil, objects...)
	found := overlapsIn(w.store.Set().Exceptions())
	for uid, want := range map[types.UID][]string{"u-a": {"PolicyException dev/b"}, "u-b": {"PolicyException dev/a"}, "u-c": nil} {
		if !slices.Equal(found[uid], want) {
			t.Errorf("%s overlaps with %q, want %q", uid, found[uid], want)
		}
	}
	if got := found["u-m0"]; len(got) != maxOverlaps || slices.Contains(got, "PolicyException dev/m0") || !slices.IsSorted(got) {
		t.Errorf("overlaps with %q", got)
	}
}

// TestSweepsWithoutTheLists says that exceptions cannot be listed.
func TestSweepsWithoutTheLists(t *testing.T) {
	w := newSwept(t, nil)
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, ok := list.(*v1alpha1.ClusterPolicyExceptionList); ok {
			return errors.New("etcd is away")
		}
		return c.List(ctx, list, opts...)
	}})
	if err := w.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "exceptions cannot be listed") {
		t.Errorf("says %v", err)
	}
}
