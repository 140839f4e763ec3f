package policies

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/controller/condition"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// TestStatusOfPolicies writes the condition Ready, and nothing where that is said
// already or for others to say.
func TestStatusOfPolicies(t *testing.T) {
	missing := policy.Description{NotReady: errors.New("the module is missing"), Reason: "NoModule"}
	for _, c := range []struct {
		name, spec string
		describe   policy.Description
		status     any
		// want is the condition; empty where nothing is written.
		want, says string
	}{
		{name: "one that works", spec: soundSpec, want: "True InForce", says: "in force"},
		{name: "one that cannot work", spec: emptySpec, want: "False CannotWork", says: "Until then: "},
		{name: "one whose status has another shape", spec: soundSpec, status: map[string]any{"conditions": "none"}},
		{name: "one that something else keeps from working", spec: soundSpec, describe: missing, want: "False NoModule", says: "the module is missing"},
		{name: "one that cannot work and is kept from it", spec: emptySpec, describe: missing, want: "False CannotWork", says: "Until then: "},
		{name: "one of which another controller says it", spec: soundSpec, describe: policy.Description{Elsewhere: true}},
		{name: "one that is judged by here meanwhile", spec: soundSpec, describe: policy.Description{Meanwhile: true, Conditions: []metav1.Condition{enforcedHere}}},
		{name: "one that cannot work and would be judged by here meanwhile", spec: emptySpec, describe: policy.Description{Meanwhile: true}, want: "False CannotWork"},
		{name: "one that cannot work, of another controller", spec: emptySpec, describe: policy.Description{Elsewhere: true}, want: "False CannotWork"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, document("DenyPolicy", "x", c.spec))
			w.status.Describe = func(stored.Ref) policy.Description { return c.describe }
			if c.status != nil {
				w.cache.Reader = odd{w.client, c.status}
			}
			w.settle(t.Context())
			got, message := w.ready(t, "DenyPolicy", "x")
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			contains(t, message, c.says)
			written := w.applied.Load()
			if (c.want == "" && len(c.describe.Conditions) == 0) != (written == 0) {
				t.Errorf("written %d times", written)
			}
			w.status.Retell()
			w.settle(t.Context())
			if w.applied.Load() != written {
				t.Error("it is written again, though it says so already")
			}
		})
	}
}

// enforcedHere is said of what this Sallyport judges by.
var enforcedHere = metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionTrue, Reason: "Asked", Message: "asked"}

// TestReadyStaysWhole leaves the condition Ready as another controller says it, once
// that is not for this one to say any more.
func TestReadyStaysWhole(t *testing.T) {
	w := newWorld(t, document("DenyPolicy", "x", soundSpec))
	described := policy.Description{Conditions: []metav1.Condition{enforcedHere}}
	w.status.Describe = func(stored.Ref) policy.Description { return described }
	w.settle(t.Context())
	if got, _ := w.ready(t, "DenyPolicy", "x"); got != "True InForce" {
		t.Fatalf("it is %q", got)
	}
	o := w.object(t, "DenyPolicy", "x")
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == v1alpha1.ConditionReady {
			c["status"], c["reason"], c["message"] = "False", "RollingOut", "the server starts"
		}
	}
	if err := unstructured.SetNestedSlice(o.Object, conditions, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Status().Update(t.Context(), o, client.FieldOwner("servers")); err != nil {
		t.Fatal(err)
	}
	enforced := enforcedHere
	enforced.Message = "asked by another webhook"
	for _, d := range []policy.Description{{Meanwhile: true, Conditions: []metav1.Condition{enforced}}, {Elsewhere: true}} {
		described = d
		w.status.Retell()
		w.settle(t.Context())
		if got, message := w.ready(t, "DenyPolicy", "x"); got != "False RollingOut" || message != "the server starts" {
			t.Errorf("%+v: it is %q, %q", d, got, message)
		}
	}
}

// TestEnforcedLeaves takes away that a policy is enforced here once it is judged
// elsewhere, and says nothing else of it.
func TestEnforcedLeaves(t *testing.T) {
	w := newWorld(t, document("DenyPolicy", "x", soundSpec))
	described := policy.Description{Meanwhile: true, Conditions: []metav1.Condition{enforcedHere}}
	w.status.Describe = func(stored.Ref) policy.Description { return described }
	w.settle(t.Context())
	enforced := func() bool {
		t.Helper()
		status, err := statusOf(w.object(t, "DenyPolicy", "x"))
		if err != nil {
			t.Fatal(err)
		}
		return apimeta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionEnforced)
	}
	if !enforced() {
		t.Fatal("it is not said to be enforced")
	}
	described = policy.Description{Elsewhere: true}
	w.status.Retell()
	w.settle(t.Context())
	if enforced() {
		t.Error("it is still said to be enforced")
	}
	written := w.applied.Load()
	w.status.Retell()
	w.settle(t.Context())
	if w.applied.Load() != written {
		t.Error("it is written again, though nothing is to be said")
	}
}

// TestEnforcedAtServersStays leaves what is said of a policy by whoever runs its server.
func TestEnforcedAtServersStays(t *testing.T) {
	for _, reason := range []string{modulepolicy.EnforcedAtServer, modulepolicy.NotEnforcedAtServer} {
		status := &v1alpha1.PolicyStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionEnforced, Reason: reason}}}
		if left := (&told{}).leave(status); left != nil {
			t.Errorf("%s: %+v", reason, left)
		}
	}
}

// odd reads objects with a status of another shape.
type odd struct {
	client.Reader
	status any
}

func (o odd) Get(ctx ctx, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	err := o.Reader.Get(ctx, key, object, opts...)
	if u, ok := object.(*unstructured.Unstructured); ok {
		u.Object["status"] = o.status
	}
	return err
}

// TestConditionsOfOthers are not touched, except for those that are not to be there.
func TestConditionsOfOthers(t *testing.T) {
	w := newWorld(t, document("ClusterPolicy", "x", `{rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}`))
	o := w.object(t, "ClusterPolicy", "x")
	others := []any{
		map[string]any{"type": "Audited", "status": "True", "reason": "Seen", "message": "by someone", "lastTransitionTime": "2026-11-02T08:00:00Z"},
		map[string]any{"type": v1alpha1.ConditionModuleReady, "status": "True", "reason": "Loaded", "message": "by a server", "lastTransitionTime": "2026-11-02T08:00:00Z"},
	}
	if err := unstructured.SetNestedSlice(o.Object, others, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	status, err := statusOf(o)
	if err != nil {
		t.Fatal(err)
	}
	outcome, ok := w.feed.Outcome(o)
	if !ok {
		t.Fatal("it was not read")
	}
	told := w.status.conditions(keyOf(o), o, outcome, &status)
	if !told.differs(&status) {
		t.Error("nothing is to be written")
	}
	for _, kind := range told.gone {
		if kind == "Audited" {
			t.Error("what someone else wrote is taken away")
		}
	}
	if err := w.client.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := takeAway(t.Context(), w.client, o, FieldOwner, told.gone); err != nil {
		t.Fatal(err)
	}
	status, err = statusOf(w.object(t, "ClusterPolicy", "x"))
	if err != nil || len(status.Conditions) != 1 || status.Conditions[0].Type != "Audited" {
		t.Errorf("%v %+v", err, status.Conditions)
	}
}

// TestConditionsDiffer only where they say something else.
func TestConditionsDiffer(t *testing.T) {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "InForce", Message: "m", ObservedGeneration: 2}
	for _, c := range []struct {
		name   string
		change func(*told, *v1alpha1.PolicyStatus)
		want   bool
	}{
		{"the same", func(*told, *v1alpha1.PolicyStatus) {}, false},
		{"since another time", func(_ *told, s *v1alpha1.PolicyStatus) { s.Conditions[0].LastTransitionTime = metav1.NewTime(now) }, false},
		{"of a later generation", func(x *told, _ *v1alpha1.PolicyStatus) { x.generation = 3 }, true},
		{"of an earlier version", func(_ *told, s *v1alpha1.PolicyStatus) { s.Conditions[0].ObservedGeneration = 1 }, true},
		{"in other words", func(_ *told, s *v1alpha1.PolicyStatus) { s.Conditions[0].Message = "n" }, true},
		{"not there", func(_ *told, s *v1alpha1.PolicyStatus) { s.Conditions = nil }, true},
		{"not to be there", func(x *told, _ *v1alpha1.PolicyStatus) { x.gone = []string{v1alpha1.ConditionReady} }, true},
		{"not to be there, and not there", func(x *told, _ *v1alpha1.PolicyStatus) { x.gone = []string{v1alpha1.ConditionGaps} }, false},
	} {
		x := &told{generation: 2, conditions: []metav1.Condition{ready}}
		s := &v1alpha1.PolicyStatus{ObservedGeneration: 2, Conditions: []metav1.Condition{ready}}
		c.change(x, s)
		if got := x.differs(s); got != c.want {
			t.Errorf("%s: differs: %v", c.name, got)
		}
	}
}

// TestConditionsOfWhatIsReadAndLeftOpen are there for a policy that works and is about
// something, and are too long for no API server.
func TestConditionsOfWhatIsReadAndLeftOpen(t *testing.T) {
	w := newWorld(t)
	asked := 0
	w.status.Context = func(*contextgate.Policy, []metav1.Condition, int64, time.Time) []metav1.Condition {
		asked++
		return []metav1.Condition{{Type: v1alpha1.ConditionContextDenied, Status: metav1.ConditionTrue, Reason: "NotGranted"}}
	}
	note := stored.Problems{{Path: "spec.podSecurityRules", Detail: "leaves log open"}}
	less := stored.Problems{{Path: "spec.rules[0].exclude", Detail: "excludes all", Reason: "ExcludesAll"}, {Path: "spec.rules[1]", Detail: "says nothing", Reason: "Other"}}
	long := stored.Problems{{Detail: string(make([]byte, 2*condition.LongestMessage))}}
	for _, c := range []struct {
		name                string
		o                   policy.Outcome
		gaps, context, gone bool
		adverse             bool
		// effective is the status, the reason and the message of that condition.
		effective string
	}{
		{"nothing", policy.Outcome{}, false, false, true, false, "True AsWritten all that is written has an effect"},
		{"leaves something open", policy.Outcome{Notes: note}, true, false, true, false, "True AsWritten all that is written has an effect"},
		{"reads something", policy.Outcome{Context: &contextgate.Policy{}}, false, true, false, true, "True AsWritten all that is written has an effect"},
		{"does less than it looks", policy.Outcome{Effects: less}, false, false, true, false, "False ExcludesAll spec.rules[0].exclude: excludes all; spec.rules[1]: says nothing"},
		{"cannot work", policy.Outcome{Notes: note, Effects: less, Context: &contextgate.Policy{}, Problems: long}, false, false, false, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			object.SetGeneration(1)
			x := w.status.conditions(Key{Kind: "DenyPolicy", Name: "x"}, object, c.o, &v1alpha1.PolicyStatus{})
			var gaps, context, gone bool
			effective := ""
			for _, one := range x.conditions {
				gaps = gaps || one.Type == v1alpha1.ConditionGaps && one.Message == "spec.podSecurityRules: leaves log open"
				context = context || one.Type == v1alpha1.ConditionContextDenied
				if one.Type == v1alpha1.ConditionEffective {
					effective = string(one.Status) + " " + one.Reason + " " + one.Message
				}
				if one.Type == v1alpha1.ConditionReady && (one.Status == metav1.ConditionTrue) != (len(c.o.Problems) == 0) {
					t.Errorf("Ready is %s", one.Status)
				}
				if len(one.Message) > condition.LongestMessage || one.ObservedGeneration != 1 {
					t.Errorf("a message of %d bytes, generation %d", len(one.Message), one.ObservedGeneration)
				}
			}
			for _, one := range x.gone {
				gone = gone || one == v1alpha1.ConditionContextDenied
			}
			if effective != c.effective {
				t.Errorf("effective: %q, want %q", effective, c.effective)
			}
			if gaps != c.gaps || context != c.context || gone != c.gone || x.adverse != c.adverse || !x.missing {
				t.Errorf("gaps %v, context %v, gone %v: %+v", gaps, context, gone, x)
			}
		})
	}
	if asked != 1 {
		t.Errorf("what is read was asked %d times", asked)
	}
}

// TestOnlyTheLeaderWrites what all agree on.
func TestOnlyTheLeaderWrites(t *testing.T) {
	w := newWorld(t, document("DenyPolicy", "x", soundSpec))
	w.leads = false
	w.settle(t.Context())
	if w.applied.Load() != 0 {
		t.Fatalf("a replica that does not lead wrote %d times", w.applied.Load())
	}
	w.leads = true
	w.status.Retell()
	w.settle(t.Context())
	if got, _ := w.ready(t, "DenyPolicy", "x"); got != "True InForce" || w.applied.Load() != 1 {
		t.Errorf("%q after %d writes", got, w.applied.Load())
	}
}

// refused is what is said of a policy to which something was refused on a replica.
func refused(*contextgate.Policy, []metav1.Condition, int64, time.Time) []metav1.Condition {
	return []metav1.Condition{{Type: v1alpha1.ConditionContextDenied, Status: metav1.ConditionTrue, Reason: "NotGranted", Message: "secrets"}}
}

// readingSpec is that of a ClusterPolicy that may read something.
const readingSpec = `{contextAware: [{version: v1, resource: services}], rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]}`

func (w *world) denied(t *testing.T) string {
	t.Helper()
	status, err := statusOf(w.object(t, "ClusterPolicy", "x"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range status.Conditions {
		if c.Type == v1alpha1.ConditionContextDenied {
			return string(c.Status)
		}
	}
	return ""
}

// TestReplicasThatDiffer say so once, each for itself, and do not fight: another
// replica than the leader writes only what was refused to a policy there.
func TestReplicasThatDiffer(t *testing.T) {
	leader := newWorld(t, document("ClusterPolicy", "x", readingSpec))
	leader.settle(t.Context())
	other := *leader
	other.leads = false
	other.replica()
	other.status.Context = refused
	other.watch.reload(t.Context())
	other.settle(t.Context())
	if got := other.denied(t); got != "" {
		t.Fatalf("what may pass is said at once: %q", got)
	}
	other.clock.Step(lasts)
	waitFor(t, "the doubt to be looked at again", func() bool { return other.status.queue.Len() > 0 })
	other.settle(t.Context())
	if got := other.denied(t); got != "True" {
		t.Fatalf("what lasts is not said: %q", got)
	}
	before := other.applied.Load()
	for range 3 {
		other.status.Retell()
		other.settle(t.Context())
	}
	if after := other.applied.Load(); after != before {
		t.Errorf("it is written %d times more", after-before)
	}
}

// TestWhatAReplicaCannot is told to the leader, and not written.
func TestWhatAReplicaCannot(t *testing.T) {
	w := newWorld(t, document("DenyPolicy", "x", soundSpec))
	w.leads = false
	wrong := policy.Description{NotReady: errors.New("not here"), Reason: "NoModule"}
	w.status.Describe = func(stored.Ref) policy.Description { return wrong }
	var said []string
	w.status.Cannot = func(ref stored.Ref, v policy.Version, why string) {
		said = append(said, fmt.Sprintf("%s %s %d %s", ref.Name, v.UID, v.Generation, why))
	}
	w.settle(t.Context())
	wrong = policy.Description{}
	w.status.Retell()
	w.clock.Step(2 * lasts)
	w.settle(t.Context())
	if want := []string{"x DenyPolicyx 1 NoModule: not here", "x DenyPolicyx 1 "}; !slices.Equal(said, want) || w.applied.Load() != 0 {
		t.Errorf("%q after %d writes, want %q", said, w.applied.Load(), want)
	}
}

// TestEnforced is said of the version that it is about, and of no later one.
func TestEnforced(t *testing.T) {
	w := newWorld(t, document("DenyPolicy", "x", soundSpec))
	known := true
	w.status.Enforced = func(_ stored.Ref, _ policy.Version, works bool) (metav1.Condition, bool) {
		if !works {
			t.Error("it works")
		}
		return metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionTrue, Reason: "Asked", Message: "all"}, known
	}
	enforced := func() string {
		t.Helper()
		status, err := statusOf(w.object(t, "DenyPolicy", "x"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range status.Conditions {
			if c.Type == v1alpha1.ConditionEnforced {
				return fmt.Sprint(c.Status, c.ObservedGeneration)
			}
		}
		return ""
	}
	w.settle(t.Context())
	if got := enforced(); got != "True1" {
		t.Fatalf("%q", got)
	}
	known = false
	w.status.Retell()
	w.settle(t.Context())
	if got := enforced(); got != "True1" {
		t.Errorf("what is not known to have changed is taken back: %q", got)
	}
	o := w.object(t, "DenyPolicy", "x")
	o.SetGeneration(2)
	if err := w.client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.watch.reload(t.Context())
	w.settle(t.Context())
	if got := enforced(); got != "" {
		t.Errorf("%q is said of a version of which it is not known", got)
	}
}

// TestDoubtsThatPass are not said, and not remembered.
func TestDoubtsThatPass(t *testing.T) {
	w := newWorld(t, document("ClusterPolicy", "x", readingSpec))
	w.leads = false
	w.status.Context = refused
	w.settle(t.Context())
	w.status.Context = nil
	w.status.Retell()
	w.settle(t.Context())
	w.status.Context = refused
	w.clock.Step(lasts - time.Second)
	w.status.Retell()
	w.settle(t.Context())
	if w.applied.Load() != 0 || len(w.status.doubts) != 1 {
		t.Errorf("%d writes, %d doubts", w.applied.Load(), len(w.status.doubts))
	}
}

// TestStatusThatSomeoneTookAway is written again by the leader.
func TestStatusThatSomeoneTookAway(t *testing.T) {
	w := newWorld(t, document("DenyPolicy", "x", soundSpec))
	w.settle(t.Context())
	o := w.object(t, "DenyPolicy", "x")
	o.Object["status"] = map[string]any{}
	if err := w.client.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.status.Retell()
	w.settle(t.Context())
	if got, _ := w.ready(t, "DenyPolicy", "x"); got != "True InForce" {
		t.Errorf("%q", got)
	}
}

// TestStatusThatCannotBeWritten is tried again, and keeps no other from being told.
func TestStatusThatCannotBeWritten(t *testing.T) {
	w := newWorld(t, document("DenyPolicy", "x", soundSpec), document("DenyPolicy", "z", soundSpec))
	logged := 0
	w.status.Log = funcr.New(func(string, string) { logged++ }, funcr.Options{})
	w.failing = errAPI
	w.settle(t.Context())
	if logged != 2 {
		t.Errorf("%d lines are logged", logged)
	}
	w.failing = nil
	w.clock.Step(firstRetry)
	waitFor(t, "both to be tried again", func() bool { return w.status.queue.Len() == 2 })
	w.settle(t.Context())
	for _, name := range []string{"x", "z"} {
		if got, _ := w.ready(t, "DenyPolicy", name); got != "True InForce" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestWhatCannotWorkIsLoggedOnce and not at each look.
func TestWhatCannotWorkIsLoggedOnce(t *testing.T) {
	w := newWorld(t, document("DenyPolicy", "x", emptySpec))
	var lines []string
	w.status.Log = funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	for range 3 {
		w.status.Retell()
		w.settle(t.Context())
	}
	if len(lines) != 1 {
		t.Fatalf("%q", lines)
	}
	contains(t, lines[0], "meanwhile")
}

// TestPoliciesThatAreGone are forgotten.
func TestPoliciesThatAreGone(t *testing.T) {
	w := newWorld(t, document("DenyPolicy", "x", emptySpec))
	w.settle(t.Context())
	if len(w.status.said) != 1 || len(w.status.logged) != 1 {
		t.Fatalf("%v", w.status.said)
	}
	if err := w.client.Delete(t.Context(), w.object(t, "DenyPolicy", "x")); err != nil {
		t.Fatal(err)
	}
	w.status.queue.Add(Key{Kind: "DenyPolicy", Name: "x"})
	w.settle(t.Context())
	if len(w.status.said)+len(w.status.logged)+len(w.status.doubts) != 0 {
		t.Errorf("%v", w.status.said)
	}
}

// TestStatusThatCannotBeRead is an error, and is tried again.
func TestStatusThatCannotBeRead(t *testing.T) {
	w := newWorld(t, document("DenyPolicy", "x", soundSpec))
	w.cache.listErr = errAPI
	if err := w.status.update(t.Context(), Key{Kind: "DenyPolicy", Name: "x"}); !errors.Is(err, errAPI) {
		t.Error(err)
	}
	if before := w.status.queue.Len(); before != 1 {
		t.Fatalf("%d wait", before)
	}
	w.status.Retell()
	if after := w.status.queue.Len(); after != 1 {
		t.Errorf("%d wait", after)
	}
}

// TestRunOfTheStatus writes what there is and ends with its context.
func TestRunOfTheStatus(t *testing.T) {
	var documents []string
	for i := range 20 {
		documents = append(documents, document("DenyPolicy", fmt.Sprintf("x%d", i), soundSpec))
	}
	w := newWorld(t, documents...)
	ctx, end := withCancel(t)
	ended := make(chan error, 1)
	go func() { ended <- w.status.Run(ctx) }()
	waitFor(t, "all to be told", func() bool {
		w.status.mu.Lock()
		defer w.status.mu.Unlock()
		return len(w.status.said) == len(documents)
	})
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
