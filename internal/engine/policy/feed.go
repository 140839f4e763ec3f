package policy

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
)

// Feed puts the objects that an API server stores in force, and says what became of
// each. Each is decoded on its own, strictly: one that does not decode is that one's
// problem, and stops none of the others.
type Feed struct {
	store *Store

	// synced is asked while mu is held, by those who are told of a new set.
	synced atomic.Bool

	mu sync.Mutex
	// good has, for each object, the last version that could work. It stays in
	// force while a later one cannot.
	good map[types.UID]*decoded
	read map[types.UID]*decoded
}

// NewFeed makes a Feed of a Store. Nothing of an API server is in force before the
// first Take.
func NewFeed(store *Store) *Feed {
	return &Feed{store: store, good: map[types.UID]*decoded{}, read: map[types.UID]*decoded{}}
}

// Synced reports whether something was taken at least once.
func (f *Feed) Synced() bool { return f.synced.Load() }

// Take puts objects in force in place of those of the last Take. They are all
// that there are of Kinds, in the order in which they count. They are not changed,
// and must not be changed after.
func (f *Feed) Take(objects []*unstructured.Unstructured) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var sources Sources
	good, read := map[types.UID]*decoded{}, make(map[types.UID]*decoded, len(objects))
	for _, object := range objects {
		uid := object.GetUID()
		d := f.decode(object)
		read[uid] = d
		if len(d.problems) == 0 {
			good[uid] = d
		} else if last, ok := f.good[uid]; ok && !d.exception {
			// An exception that cannot work excuses nothing, whatever it said before.
			good[uid] = last
		}
		if good[uid] == nil {
			sources.add(d.standIn())
		}
		if use, ok := good[uid]; ok {
			use.addTo(&sources)
		}
	}
	f.good, f.read = good, read
	f.store.Merge(sources)
	f.synced.Store(true)
}

// Outcome is what became of a stored object.
type Outcome struct {
	// Since is when this version of its spec was read first.
	Since time.Time
	// Problems are why it cannot work. Meanwhile says what is answered in its place
	// then, and LastInForce that its last version that could work stays in force.
	Problems    stored.Problems
	Meanwhile   string
	LastInForce bool
	// Notes are what it leaves open, and which doors it needs.
	Notes stored.Problems
	// Effects are what in it has less effect than it looks.
	Effects stored.Problems
	// Context is what it may read; nil for nothing.
	Context *contextgate.Policy
}

// Outcome says what became of an object; false where nothing is to be said of it: it
// was not read yet in this version, or others say it, as they do of what is about
// exceptions and sessions.
func (f *Feed) Outcome(object *unstructured.Unstructured) (Outcome, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	uid := object.GetUID()
	d := f.read[uid]
	if d == nil || !HasStatus(object.GetKind()) || d.generation != object.GetGeneration() {
		return Outcome{}, false
	}
	name := stored.Ref{Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
	o := Outcome{
		Since: d.since, Notes: d.notes, Effects: d.effects, Context: d.context, LastInForce: f.good[uid] != nil,
		Problems: append(d.problems[:len(d.problems):len(d.problems)], f.store.problemsOf(name)...),
	}
	if len(o.Problems) > 0 {
		if instead := f.store.Set().insteadOf(name); instead != nil {
			o.Meanwhile = instead.Meanwhile()
		}
	}
	return o, true
}

// HasStatus reports whether the Outcome of objects of a kind is told in their status. Of
// exceptions and sessions the workflow tells, as it depends on more than these.
func HasStatus(kind string) bool {
	return !exception.InWorkflow(kind) && kind != breakglass.KindSession
}

// ToldKinds are the kinds of which Tells is true.
func ToldKinds() []string {
	return slices.DeleteFunc(Kinds(), func(kind string) bool { return !HasStatus(kind) })
}

// decoded is what one object was decoded to. It is kept until what counts of the
// object changes, so that of many objects only those that changed are read again.
type decoded struct {
	version version
	// stored is an exception, passes what else the workflow is about says, and sources
	// what any other object does. There are thousands of the first, and Sources is large.
	stored   *storedException
	passes   *exception.Sources
	sources  *Sources
	problems stored.Problems
	// generation is that of the object, and since when it is known here.
	generation int64
	since      time.Time
	// context is what the policy may read; nil for nothing.
	context *contextgate.Policy
	// notes are what the policy leaves open, and which doors it needs.
	notes stored.Problems
	// effects are what in it has less effect than it looks.
	effects stored.Problems
	// exception is set for the kinds about exceptions, which are judged only all
	// together.
	exception bool
	// broken is set for one that cannot work.
	broken *stored.Broken
}

// addTo adds what the object says.
func (d *decoded) addTo(all *Sources) {
	switch {
	case d.stored != nil:
		all.Exceptions.Stored = append(all.Exceptions.Stored, &d.stored.Stored)
		return
	case d.exception:
		all.Exceptions.Add(*d.passes)
		return
	}
	all.add(*d.sources)
}

// version is what of an object's metadata says which version of it this is.
type version struct {
	resource    string
	generation  int64
	deleted     bool
	labels      map[string]string
	annotations map[string]string
}

func versionOf(object *unstructured.Unstructured) version {
	return version{object.GetResourceVersion(), object.GetGeneration(), object.GetDeletionTimestamp() != nil, object.GetLabels(), object.GetAnnotations()}
}

// same reports whether two versions of an object say the same, so that reading the
// later one again would come to what the earlier came to. The status of most kinds
// changes often and says nothing that counts, which a generation does not count
// either; that of a session is what it says.
func (v version) same(later version, kind string) bool {
	if v.resource == later.resource {
		return true
	}
	return kind != breakglass.KindSession && v.generation == later.generation && v.deleted == later.deleted &&
		maps.Equal(v.labels, later.labels) && maps.Equal(v.annotations, later.annotations)
}

// Changed reports whether a later version of an object says something else than an
// earlier one, as far as decisions go.
func Changed(before, after *unstructured.Unstructured) bool {
	return before.GetUID() != after.GetUID() || !versionOf(before).same(versionOf(after), after.GetKind())
}

// standIn is what answers for an object that cannot work.
func (d *decoded) standIn() Sources {
	if d.broken == nil {
		return Sources{}
	}
	if d.broken.Kind == exception.KindExceptionPolicy {
		return Sources{Broken: []*stored.Broken{d.broken}, Exceptions: exception.Sources{Broken: []exception.BrokenPolicy{exceptionPolicy(d.broken)}}}
	}
	return Sources{Broken: []*stored.Broken{d.broken}}
}

// decode decodes an object and finds the problems that it has on its own.
func (f *Feed) decode(object *unstructured.Unstructured) *decoded {
	known, before := f.read[object.GetUID()]
	if before && known.version.resource == object.GetResourceVersion() {
		return known
	}
	now := versionOf(object)
	if before && known.version.same(now, object.GetKind()) {
		known.version = now
		return known
	}
	d := &decoded{version: now, exception: exception.InWorkflow(object.GetKind()), generation: object.GetGeneration(), since: f.store.now()}
	if before && known.generation == d.generation {
		d.since = known.since
	}
	var sources Sources
	packed := object
	object, d.problems = addObject(&sources, object)
	if stored := storedIn(&sources.Exceptions, packed); stored != nil {
		d.stored = stored
	} else if d.exception {
		passes := sources.Exceptions
		d.passes = &passes
	} else {
		d.sources = new(sources)
	}
	if len(d.problems) == 0 && !d.exception {
		var set *Set
		set, d.problems = f.store.alone(sources)
		d.notes, d.effects = set.Notes(), set.Effects()
		if contexts := set.Contexts(); len(contexts) == 1 {
			d.context = contexts[0]
		}
	}
	if len(d.problems) > 0 {
		d.broken = stored.NewBroken(object, d.problems)
	}
	return d
}

// addObject adds what an object says, and returns it unpacked.
func addObject(sources *Sources, object *unstructured.Unstructured) (*unstructured.Unstructured, stored.Problems) {
	whole, err := unpacked(object)
	if err != nil {
		return object, stored.Problems{{Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(), Detail: err.Error()}}
	}
	raw, err := whole.MarshalJSON()
	if err != nil {
		return whole, stored.Problems{{Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(), Detail: err.Error()}}
	}
	return whole, sources.Add(whole.GroupVersionKind(), raw, "")
}

// Description is what is to be said of a policy beside whether it can be compiled.
type Description struct {
	// NotReady is why the policy is not in force all the same, and Reason the same
	// in one word.
	NotReady error
	Reason   string
	// Elsewhere is set where another controller says whether the policy is in force;
	// here it is only said if it cannot work.
	Elsewhere bool
	// Meanwhile is set where another controller says that too, and the policy is judged
	// by here until it is judged elsewhere.
	Meanwhile bool
	// Conditions are further ones. Their generation is filled in.
	Conditions []metav1.Condition
}
