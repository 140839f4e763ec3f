package replicas

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

var began = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// replica is one with what it reads.
type replica struct {
	*Replicas
	objects []*unstructured.Unstructured
	settled bool
	ready   bool
	leads   bool
	touched []stored.Ref
	changes int
}

// world is some replicas beside one API server.
type world struct {
	client *fake.Clientset
	clock  *clocktesting.FakeClock
}

func newWorld() *world {
	return &world{client: fake.NewClientset(), clock: clocktesting.NewFakeClock(began)}
}

// replica adds one that has heard of none.
func (w *world) replica(place string) *replica {
	r := &replica{settled: true, ready: true}
	r.Replicas = New(Options{
		Client: w.client, Namespace: "sallyport-system", Installation: "sallyport", Identity: place + "-1", Place: place, Staleness: time.Minute,
		Objects: func(context.Context) ([]*unstructured.Unstructured, bool, error) { return r.objects, r.settled, nil },
		Ready:   func() bool { return r.ready }, Leads: func() bool { return r.leads },
		Touch:   func(refs []stored.Ref) { r.touched = append(r.touched, refs...) },
		Changed: func() { r.changes++ }, Clock: w.clock, Log: logr.Discard(),
	})
	r.listed = true
	return r
}

// says has a replica say what it has.
func (r *replica) says(t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	r.objects = objects
	r.Notice()
	if again := r.sum(t.Context()); again != 0 {
		t.Fatalf("it is to be tried again after %s", again)
	}
	if wait := r.write(t.Context()); wait > apart {
		t.Fatalf("the Lease was not written; it is tried again after %s", wait)
	}
}

// hears has a replica hear what the Leases say.
func (w *world) hears(t *testing.T, r *replica) {
	t.Helper()
	list, err := w.client.CoordinationV1().Leases("sallyport-system").List(t.Context(), metav1.ListOptions{LabelSelector: LabelOf + "=sallyport"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		r.hear(&list.Items[i])
	}
}

func object(name string, generation int64, version int) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetKind("DenyPolicy")
	o.SetName(name)
	o.SetUID(types.UID("uid-" + name))
	o.SetGeneration(generation)
	o.SetResourceVersion(fmt.Sprint(version))
	return o
}

func of(o *unstructured.Unstructured) (stored.Ref, policy.Version) {
	return stored.Ref{Kind: o.GetKind(), Name: o.GetName()}, policy.VersionOfObject(o)
}

// standing is what is said of an object: STATUS REASON, or empty.
func (r *replica) standing(o *unstructured.Unstructured) (string, string) {
	c, known := r.InForce(of(o))
	if !known {
		return "", ""
	}
	return string(c.Status) + " " + c.Reason, c.Message
}

// TestInForce says of an object whether every replica that answers has it.
func TestInForce(t *testing.T) {
	x, y, later := object("x", 1, 10), object("y", 1, 12), object("x", 2, 20)
	for _, c := range []struct {
		name string
		// leader and beside have in force what they have; nil for a replica that is not
		// there.
		leader, beside []*unstructured.Unstructured
		change         func(w *world, leader, beside *replica)
		about          *unstructured.Unstructured
		want, says     string
	}{
		{"alone", []*unstructured.Unstructured{x}, nil, nil, x, "True InForce", "every replica"},
		{"both", []*unstructured.Unstructured{x}, []*unstructured.Unstructured{x}, nil, x, "True InForce", ""},
		{"both, with another status", []*unstructured.Unstructured{object("x", 1, 15)}, []*unstructured.Unstructured{x}, nil, x, "True InForce", ""},
		{"one without it", []*unstructured.Unstructured{x}, []*unstructured.Unstructured{}, nil, x, "False ReplicaBehind", "beside-1 has not said"},
		{"one with an earlier version", []*unstructured.Unstructured{later}, []*unstructured.Unstructured{x}, nil, later, "False ReplicaBehind", ""},
		{"one that is behind with another", []*unstructured.Unstructured{x, y}, []*unstructured.Unstructured{x}, nil, x, "True InForce", ""},
		{"one that is ahead", []*unstructured.Unstructured{x}, []*unstructured.Unstructured{x, y}, nil, x, "True InForce", ""},
		{"a version that the leader has not", []*unstructured.Unstructured{x}, nil, nil, later, "", ""},
		{"one that does not answer", []*unstructured.Unstructured{x}, []*unstructured.Unstructured{}, func(_ *world, _, beside *replica) { beside.ready = false }, x, "True InForce", ""},
		{"one that cannot", []*unstructured.Unstructured{x}, []*unstructured.Unstructured{x}, func(_ *world, _, beside *replica) {
			ref, v := of(x)
			beside.Cannot(ref, v, "NoModule: it is\nmissing")
		}, x, "False ReplicaCannot", "beside-1: NoModule: it is"},
		{"one that only observes", []*unstructured.Unstructured{x}, []*unstructured.Unstructured{x}, func(_ *world, _, beside *replica) { beside.own.observes = true }, x, "False ReplicaCannot", "beside-1: it only observes"},
		{"one that only observes, and is not ready", []*unstructured.Unstructured{x}, []*unstructured.Unstructured{x}, func(_ *world, _, beside *replica) { beside.own.observes, beside.ready = true, false }, x, "False ReplicaCannot", "beside-1: it only observes"},
		{"one that could not do another version", []*unstructured.Unstructured{x}, []*unstructured.Unstructured{x}, func(_ *world, _, beside *replica) {
			ref, v := of(x)
			v.Generation--
			beside.Cannot(ref, v, "NoModule")
		}, x, "True InForce", ""},
		{"one of another installation", []*unstructured.Unstructured{x}, []*unstructured.Unstructured{}, func(_ *world, _, beside *replica) { beside.Installation = "another" }, x, "True InForce", ""},
		{"Leases that cannot be listed", []*unstructured.Unstructured{x}, nil, func(_ *world, leader, _ *replica) {
			leader.listed, leader.failed = false, errors.New("forbidden")
		}, x, "Unknown NotKnown", "forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			leader, beside := w.replica("leader"), w.replica("beside")
			if c.change != nil {
				c.change(w, leader, beside)
			}
			leader.says(t, c.leader...)
			if c.beside != nil {
				beside.says(t, c.beside...)
			}
			w.hears(t, leader)
			if got, _ := leader.standing(c.about); got != c.want && got != "" {
				t.Errorf("%q is said at once", got)
			}
			w.clock.Step(lasts)
			leader.refresh(t.Context())
			got, message := leader.standing(c.about)
			if got != c.want || !strings.Contains(message, c.says) || strings.Contains(message, "\n") {
				t.Errorf("%q %q, want %q with %q", got, message, c.want, c.says)
			}
		})
	}
}

// TestOneThatCatchesUp is said at once, and has the objects looked at again that waited
// for it.
func TestOneThatCatchesUp(t *testing.T) {
	w := newWorld()
	leader, beside := w.replica("leader"), w.replica("beside")
	x := object("x", 1, 10)
	leader.says(t, x)
	beside.says(t)
	w.hears(t, leader)
	leader.standing(x)
	w.clock.Step(lasts)
	leader.refresh(t.Context())
	leader.refresh(t.Context())
	if len(leader.touched) != 1 {
		t.Fatalf("%v are looked at again", leader.touched)
	}
	if got, _ := leader.standing(x); got != "False ReplicaBehind" {
		t.Fatalf("%q", got)
	}
	beside.says(t, x)
	w.hears(t, leader)
	if got, _ := leader.standing(x); got != "True InForce" || len(leader.touched) != 2 {
		t.Errorf("%q; %v were looked at again", got, leader.touched)
	}
	if w.hears(t, leader); len(leader.touched) != 2 {
		t.Error("what is known is looked at again")
	}
}

// TestOneThatIsGone counts for as long as it may still answer by what it has, is said to
// be silent, and its Lease goes away after that.
func TestOneThatIsGone(t *testing.T) {
	w := newWorld()
	leader, beside := w.replica("leader"), w.replica("beside")
	leader.leads = true
	x := object("x", 1, 10)
	leader.says(t, x)
	beside.says(t)
	w.hears(t, leader)
	leader.standing(x)
	w.clock.Step(3 * renewEvery)
	if got, message := leader.standing(x); got != "False ReplicaBehind" || !strings.Contains(message, "not heard of since 2026-11-02T09:00:00Z") {
		t.Errorf("%q %q", got, message)
	}
	before := leader.changes
	w.clock.SetTime(began.Add(time.Minute + renewEvery + lookEvery/2))
	leader.refresh(t.Context())
	if got, _ := leader.standing(x); got != "True InForce" || leader.changes != before+1 {
		t.Errorf("%q after %d notices", got, leader.changes-before)
	}
	lease := func() error {
		_, err := w.client.CoordinationV1().Leases("sallyport-system").Get(t.Context(), beside.name, metav1.GetOptions{})
		return err
	}
	if err := lease(); err != nil {
		t.Fatal(err)
	}
	w.clock.SetTime(began.Add(3 * time.Minute))
	leader.refresh(t.Context())
	if err := lease(); !apierrors.IsNotFound(err) {
		t.Errorf("its Lease: %v", err)
	}
	// It was only cut off.
	beside.objects = []*unstructured.Unstructured{x}
	beside.Notice()
	beside.sum(t.Context())
	if beside.write(t.Context()) == 0 {
		t.Error("it does not see that its Lease is gone")
	}
	w.clock.Step(apart)
	beside.says(t, x)
	if err := lease(); err != nil {
		t.Error(err)
	}
	beside.leave(t.Context())
	if err := lease(); !apierrors.IsNotFound(err) {
		t.Errorf("the Lease of one that ended: %v", err)
	}
}

// TestOneThatMissedADeletion has other objects for long, though it is not behind.
func TestOneThatMissedADeletion(t *testing.T) {
	w := newWorld()
	leader, beside := w.replica("leader"), w.replica("beside")
	x, gone := object("x", 1, 10), object("gone", 1, 5)
	leader.says(t, x)
	beside.says(t, x, gone)
	w.hears(t, leader)
	if got, _ := leader.standing(x); got != "True InForce" {
		t.Fatalf("what may pass is said at once: %q", got)
	}
	w.clock.Step(differs)
	before := leader.changes
	leader.refresh(t.Context())
	if got, message := leader.standing(x); got != "False ReplicaDiffers" || leader.changes == before || !strings.Contains(message, "beside-1 has other objects of kind DenyPolicy") {
		t.Errorf("%q %q", got, message)
	}
	if ready, behind := leader.State(); ready != 2 || behind != 1 {
		t.Errorf("%d answer, %d are behind", ready, behind)
	}
}

// TestLeaseIsWrittenWhereSomethingChanged, not too often, and once in a while.
func TestLeaseIsWrittenWhereSomethingChanged(t *testing.T) {
	w := newWorld()
	r := w.replica("one")
	writes := func() (n int) {
		for _, a := range w.client.Actions() {
			if a.Matches("create", "leases") || a.Matches("update", "leases") {
				n++
			}
		}
		return n
	}
	if r.write(t.Context()); writes() != 0 {
		t.Fatal("it says something before it knows")
	}
	r.says(t, object("x", 1, 10))
	r.Notice()
	for range 3 {
		r.sum(t.Context())
		r.write(t.Context())
	}
	if writes() != 1 {
		t.Fatalf("%d writes where nothing changed", writes())
	}
	r.objects = append(r.objects, object("y", 1, 11))
	r.Notice()
	r.sum(t.Context())
	if wait := r.write(t.Context()); wait != apart || writes() != 1 {
		t.Fatalf("%d writes; the next after %s", writes(), wait)
	}
	w.clock.Step(apart)
	if r.write(t.Context()); writes() != 2 {
		t.Fatalf("%d writes", writes())
	}
	w.clock.Step(renewEvery)
	if r.write(t.Context()); writes() != 3 {
		t.Fatalf("%d writes", writes())
	}
	// What is not in force yet is not said.
	r.settled = false
	r.Notice()
	if again := r.sum(t.Context()); again != settles {
		t.Errorf("it is looked at again after %s", again)
	}
}

// TestTroublesAreBounded in number and length.
func TestTroublesAreBounded(t *testing.T) {
	w := newWorld()
	r := w.replica("one")
	for i := range 2 * mostTroubles {
		r.Cannot(stored.Ref{Kind: "DenyPolicy", Name: fmt.Sprint(i)}, policy.Version{UID: "u", Generation: 1}, strings.Repeat("x", 10*longestTrouble))
	}
	s, _ := r.now()
	if len(s.troubles) != mostTroubles || len(s.troubles[0].Why) > longestTrouble+3 {
		t.Errorf("%d troubles, the first of %d bytes", len(s.troubles), len(s.troubles[0].Why))
	}
}

// TestWhoObservesSaysSo in the Lease, for the others to read.
func TestWhoObservesSaysSo(t *testing.T) {
	for _, observes := range []bool{false, true} {
		lease := &coordinationv1.Lease{}
		s := New(Options{Identity: "a", Observe: observes}).own
		if err := s.put(lease, "sallyport", time.Now()); err != nil {
			t.Fatal(err)
		}
		if read := sayingOf(lease); read.observes != observes || !read.same(&s) {
			t.Errorf("observing %v: %+v", observes, read)
		}
	}
}

// TestWordsAreKnown of replicas that are there, and no others.
func TestWordsAreKnown(t *testing.T) {
	w := newWorld()
	one, other, foreign := w.replica("one"), w.replica("other"), w.replica("foreign")
	other.says(t)
	w.hears(t, one)
	if !one.Asks(one.Word()) || !one.Asks(other.Word()) || one.Asks(foreign.Word()) || one.Asks("") {
		t.Error("a word is not known, or one that nobody gave")
	}
}

// TestShows says of each replica which certificate it shows, until it is gone.
func TestShows(t *testing.T) {
	w := newWorld()
	one, other := w.replica("one"), w.replica("other")
	shows := "first"
	other.Shows = func() string { return shows }
	for _, want := range []string{"first", "second"} {
		shows = want
		w.clock.Step(time.Second)
		other.says(t, object("x", 1, 10))
		w.hears(t, one)
		if got, known := one.Others(); !known || len(got) != 1 || got["other-1"] != want {
			t.Errorf("%v %v, want %s", got, known, want)
		}
	}
	w.clock.Step(time.Minute + renewEvery + time.Second)
	if got, _ := one.Others(); len(got) != 0 {
		t.Errorf("one that is gone shows %v", got)
	}
	one.cannotListen(errors.New("forbidden"))
	if _, known := one.Others(); known {
		t.Error("what cannot be listed is known")
	}
}

// TestSayingsThatCannotBeRead say nothing.
func TestSayingsThatCannotBeRead(t *testing.T) {
	s := sayingOf(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "x", Annotations: map[string]string{annotationInForce: "{", annotationTroubles: "[", annotationReady: "yes"}}})
	if s.content != nil || s.troubles != nil || s.ready || s.identity != "x" {
		t.Errorf("%+v", s)
	}
}

// TestRun says what is in force, hears of another, and deletes its Lease at its end.
func TestRun(t *testing.T) {
	w := newWorld()
	one, other := w.replica("one"), w.replica("other")
	x := object("x", 1, 10)
	one.objects = []*unstructured.Unstructured{x}
	heard := make(chan struct{}, 100)
	one.Changed = func() { heard <- struct{}{} }
	// Two goroutines call it.
	one.Touch = func([]stored.Ref) {}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- one.Run(ctx) }()
	<-heard
	other.says(t, x)
	<-heard
	deadline := time.Now().Add(10 * time.Second)
	for {
		if got, _ := one.standing(x); got == "True InForce" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it is not in force")
		}
	}
	for {
		if _, err := w.client.CoordinationV1().Leases("sallyport-system").Get(t.Context(), one.name, metav1.GetOptions{}); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := w.client.CoordinationV1().Leases("sallyport-system").Get(t.Context(), one.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("its Lease: %v", err)
	}
}

// TestCachesThatAreWaitedFor keep what they hold from being said for no longer than that
// costs: a kind that cannot be listed at first takes any time.
func TestCachesThatAreWaitedFor(t *testing.T) {
	w := newWorld()
	r := w.replica("a")
	objects := r.Options.Objects
	r.Options.Objects = func(ctx context.Context) ([]*unstructured.Unstructured, bool, error) {
		w.clock.Step(time.Minute)
		return nil, false, errors.New("the cache is not synced")
	}
	r.Notice()
	if again := r.sum(t.Context()); again != settles {
		t.Errorf("it is tried again after %s", again)
	}
	r.Options.Objects = objects
	again := r.sum(t.Context())
	if again <= 0 || again > mostRest {
		t.Errorf("it rests for %s", again)
	}
	w.clock.Step(again)
	if again := r.sum(t.Context()); again != 0 || !r.summed {
		t.Errorf("nothing was summed up, and is to be in %s", again)
	}
}
