package workflow

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// TestUsesOfSessionsAreKept keeps what cannot be written for the next time, and what is
// about a session that is gone for none.
func TestUsesOfSessionsAreKept(t *testing.T) {
	away := errors.New("etcd is away")
	unlisted := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return away
	}}
	unread := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return away
	}}
	for name, c := range map[string]struct {
		watched, stored interceptor.Funcs
		// known is set where the session is watched already, uid that of the one that is
		// stored, empty for none.
		known         bool
		uid           string
		written, kept bool
	}{
		"written":                            {interceptor.Funcs{}, interceptor.Funcs{}, true, "s1", true, false},
		"watched, and the API server is not": {interceptor.Funcs{}, unlisted, true, "s1", true, false},
		"not watched yet":                    {interceptor.Funcs{}, interceptor.Funcs{}, false, "s1", true, false},
		"no one can tell which there are":    {interceptor.Funcs{}, unlisted, false, "s1", false, true},
		"what is watched cannot be listed":   {unlisted, interceptor.Funcs{}, true, "s1", false, true},
		"it cannot be read":                  {interceptor.Funcs{}, unread, true, "s1", false, true},
		"gone since":                         {interceptor.Funcs{}, interceptor.Funcs{}, true, "", false, false},
		"made again since":                   {interceptor.Funcs{}, interceptor.Funcs{}, true, "s2", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := requested(t)
			var watched, stored []client.Object
			if c.known {
				watched = append(watched, s.DeepCopy())
			}
			if c.uid != "" {
				s.UID = types.UID(c.uid)
				stored = append(stored, s)
			}
			api := newSessions(t, escalationText, stored...)
			r := api.replica()
			r.client, r.direct = interceptor.NewClient(newSessions(t, escalationText, watched...).api, c.watched), interceptor.NewClient(api.api, c.stored)
			r.counts = r.direct
			r.Breakglass.Uses.Restore("s1", breakglass.Uses{Last: noon})
			r.FlushSessions(t.Context())
			if kept := len(r.Breakglass.Uses.Take()) > 0; kept != c.kept {
				t.Errorf("kept %v", kept)
			}
			if c.uid != "" {
				if got := api.session().Status.LastUsedAt; (got != nil) != c.written {
					t.Errorf("used at %v", got)
				}
			}
		})
	}
}

// TestNothingToWrite asks the API server for nothing, and writes nothing, where nothing
// is known that does not stand there.
func TestNothingToWrite(t *testing.T) {
	s := requested(t)
	at := metav1.NewTime(noon)
	s.Status.LastUsedAt = &at
	w := newSessions(t, escalationText, s)
	r := w.replica()
	asked := 0
	r.client = interceptor.NewClient(w.api, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		asked++
		return c.List(ctx, list, opts...)
	}})
	if r.FlushSessions(t.Context()); asked != 0 {
		t.Errorf("asked %d times", asked)
	}
	before := w.session().ResourceVersion
	r.Breakglass.Uses.Restore("s1", breakglass.Uses{Last: noon.Add(-time.Second)})
	if r.FlushSessions(t.Context()); w.session().ResourceVersion != before || asked != 1 {
		t.Errorf("what stands there is written again: %+v", w.session())
	}
	ended, end := context.WithCancel(t.Context())
	end()
	r.Breakglass.Uses = nil
	r.flushSessions(ended)
}

// TestMergeUses adds up what replicas saw.
func TestMergeUses(t *testing.T) {
	at := func(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(d)) }
	first, last := at(0), at(time.Minute)
	there := v1alpha1.EnteredPod{Namespace: "dev", Name: "a", UID: "ua", First: first, Last: last}
	seen := there
	seen.AfterUseAt = &last
	full := make([]v1alpha1.EnteredPod, mostEntered)
	for i := range full {
		full[i] = there
		full[i].Name = fmt.Sprint("p", i)
	}
	full[7] = there
	use := func(namespace, name, uid string, from, to time.Duration) breakglass.Uses {
		return breakglass.Uses{Pods: []breakglass.PodUse{{Namespace: namespace, Name: name, UID: uid, Span: breakglass.Span{First: noon.Add(from), Last: noon.Add(to)}}}}
	}
	for name, c := range map[string]struct {
		entered []v1alpha1.EnteredPod
		uses    breakglass.Uses
		// pods is how many stand there then, from and to the times of the first.
		pods, left int
		from, to   time.Duration
	}{
		"the first":               {nil, use("dev", "a", "ua", 0, time.Minute), 1, 0, 0, time.Minute},
		"earlier":                 {[]v1alpha1.EnteredPod{there}, use("dev", "a", "ua", -time.Minute, 0), 1, 0, -time.Minute, time.Minute},
		"later":                   {[]v1alpha1.EnteredPod{there}, use("dev", "a", "ua", time.Minute, time.Hour), 1, 0, 0, time.Hour},
		"in between":              {[]v1alpha1.EnteredPod{there}, use("dev", "a", "ua", time.Second, time.Second), 1, 0, 0, time.Minute},
		"of another name":         {[]v1alpha1.EnteredPod{there}, use("dev", "b", "ua", time.Hour, time.Hour), 2, 0, 0, time.Minute},
		"of another namespace":    {[]v1alpha1.EnteredPod{there}, use("prod", "a", "ua", time.Hour, time.Hour), 2, 0, 0, time.Minute},
		"of another uid":          {[]v1alpha1.EnteredPod{there}, use("dev", "a", "ub", time.Hour, time.Hour), 2, 0, 0, time.Minute},
		"once more, since it was": {[]v1alpha1.EnteredPod{seen}, use("dev", "a", "ua", time.Hour, time.Hour), 2, 0, 0, time.Minute},
		"one too many":            {full, use("dev", "z", "uz", 0, 0), mostEntered, 1, 0, time.Minute},
		"one of many":             {full, use("dev", "a", "ua", 0, 0), mostEntered, 0, 0, time.Minute},
	} {
		status := v1alpha1.BreakglassSessionStatus{Entered: append([]v1alpha1.EnteredPod(nil), c.entered...)}
		left := mergeUses(&status, c.uses)
		if left != c.left || len(status.Entered) != c.pods || !status.Entered[0].First.Time.Equal(noon.Add(c.from)) || !status.Entered[0].Last.Time.Equal(noon.Add(c.to)) {
			t.Errorf("%s: %d left, %d pods, the first %+v", name, left, len(status.Entered), status.Entered[0])
		}
	}
	for name, c := range map[string]struct {
		before     *metav1.Time
		used, want time.Time
	}{
		"the first":  {nil, noon, noon},
		"not at all": {nil, time.Time{}, time.Time{}},
		"later":      {&first, noon.Add(time.Hour), noon.Add(time.Hour)},
		"earlier":    {&last, noon, last.Time},
	} {
		status := v1alpha1.BreakglassSessionStatus{LastUsedAt: c.before}
		mergeUses(&status, breakglass.Uses{Last: c.used})
		if got := status.LastUsedAt; (got == nil) != c.want.IsZero() || got != nil && !got.Time.Equal(c.want) {
			t.Errorf("%s: used at %v, want %v", name, got, c.want)
		}
	}
}

// TestUsesOfExceptions counts in the status of each kind, keeps what cannot be written,
// and writes nothing where nothing was used.
func TestUsesOfExceptions(t *testing.T) {
	q := parse[v1alpha1.PolicyExceptionRequest](t, asked)
	q.Spec.Exceptions = append(q.Spec.Exceptions, v1alpha1.RequestedException{ExceptedRules: v1alpha1.ExceptedRules{PolicyName: "local", RuleNames: []string{"r"}}})
	answer := parse[v1alpha1.PolicyExceptionResponse](t, approval)
	narrow := `match: {resources: {kinds: [Pod], namespaces: [dev], names: [x]}}`
	e := parse[v1alpha1.PolicyException](t, "metadata: {name: e, namespace: dev, uid: ue}\nspec: {exceptions: [{policyName: p, ruleNames: [r]}], "+narrow+"}")
	wide := parse[v1alpha1.ClusterPolicyException](t, "metadata: {name: w, uid: uw}\nspec: {exceptions: [{policyName: p, ruleNames: [r]}], "+narrow+"}")
	uses := func(c client.Client) (counts [3]int64, last [3]*metav1.Time) {
		t.Helper()
		q, e, wide := &v1alpha1.PolicyExceptionRequest{}, &v1alpha1.PolicyException{}, &v1alpha1.ClusterPolicyException{}
		if err := errors.Join(c.Get(t.Context(), client.ObjectKey{Namespace: "dev", Name: "q"}, q), c.Get(t.Context(), client.ObjectKey{Namespace: "dev", Name: "e"}, e), c.Get(t.Context(), client.ObjectKey{Name: "w"}, wide)); err != nil {
			t.Fatal(err)
		}
		return [3]int64{q.Status.Uses, e.Status.Uses, wide.Status.Uses}, [3]*metav1.Time{q.Status.LastUsedAt, e.Status.LastUsedAt, wide.Status.LastUsedAt}
	}
	ledger := exception.NewLedger()
	sources := sourcesOfKinds(t)
	sources.Exceptions = exception.Sources{
		Requests: []source.Of[*v1alpha1.PolicyExceptionRequest]{{Object: q}}, Responses: []source.Of[*v1alpha1.PolicyExceptionResponse]{{Object: answer}},
		Exceptions: []source.Of[*v1alpha1.PolicyException]{{Object: e}}, ClusterExceptions: []source.Of[*v1alpha1.ClusterPolicyException]{{Object: wide}},
	}
	set, problems := policy.Compile(sources, pod.Default(), exception.Options{Ledger: ledger})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	used := func(at time.Time) {
		done := map[types.UID]bool{}
		for _, p := range set.Exceptions().Exceptions() {
			if !done[p.UID()] {
				done[p.UID()] = true
				p.Used(at)
			}
		}
		if len(done) != 3 || len(set.Exceptions().Exceptions()) != 4 {
			t.Fatalf("%d objects, %d passes", len(done), len(set.Exceptions().Exceptions()))
		}
	}
	api := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(q, e, wide).WithStatusSubresource(q, e, wide).Build()
	patches := 0
	var broken error
	c := &Controller{Options: Options{Set: func() *policy.Set { return set }, Ledger: ledger, Clock: clocktesting.NewFakeClock(noon), Log: logr.Discard()}}
	watched := interceptor.NewClient(api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if broken != nil {
				patches++
				return broken
			}
			return c.Get(ctx, key, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			patches++
			return c.SubResource(sub).Patch(ctx, o, patch, opts...)
		},
	})
	c.client, c.counts = watched, watched
	if c.Flush(t.Context()); patches != 0 {
		t.Errorf("%d writes of nothing", patches)
	}
	used(noon)
	broken = errors.New("etcd is away")
	if c.Flush(t.Context()); patches != 3 {
		t.Errorf("%d attempts at three objects", patches)
	}
	broken = nil
	c.Flush(t.Context())
	used(noon.Add(-time.Hour))
	c.Flush(t.Context())
	if counts, last := uses(api); counts != [3]int64{2, 2, 2} || !last[0].Time.Equal(noon) || !last[1].Time.Equal(noon) || !last[2].Time.Equal(noon) {
		t.Errorf("%v at %v", counts, last)
	}
	used(noon.Add(time.Hour))
	c.Flush(t.Context())
	if counts, last := uses(api); counts != [3]int64{3, 3, 3} || !last[0].Time.Equal(noon.Add(time.Hour)) {
		t.Errorf("%v at %v", counts, last)
	}
	// What is gone is counted no more.
	used(noon)
	broken = apierrors.NewNotFound(schema.GroupResource{Resource: "x"}, "x")
	patches = 0
	c.Flush(t.Context())
	broken = nil
	c.Flush(t.Context())
	if counts, _ := uses(api); counts != [3]int64{3, 3, 3} || patches != 3 {
		t.Errorf("%v after %d attempts", counts, patches)
	}
}
