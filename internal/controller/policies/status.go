package policies

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// FieldOwner is in whose name the leader applies the status of policies, and
// FieldOwnerBeside another replica what was refused to them there: each keeps what it
// does not know of the other.
const (
	FieldOwner       = "sallyport-policies"
	FieldOwnerBeside = "sallyport-policies-beside"
)

// Times of the status. What other replicas than the leader find is written only
// when it lasts.
const (
	lasts      = 10 * time.Second
	firstRetry = 250 * time.Millisecond
	lastRetry  = time.Minute
)

// writers is how many statuses are written at a time.
const writers = 4

// StatusOptions are what a Status is made of.
type StatusOptions struct {
	Watch *Watch
	Feed  *policy.Feed
	// Client writes what the leader says, and must not where another replica leads by
	// then; Beside writes what others say. Their pace is what bounds the writing.
	Client, Beside client.Client
	// Leads reports whether this replica is the one that writes. Another one writes only
	// what was refused to a policy there and is not said.
	Leads func() bool
	// Cannot is told what keeps this replica from doing what a version of a policy says;
	// empty for nothing. Nil for nobody.
	Cannot func(ref stored.Ref, version policy.Version, why string)
	// Enforced is the condition Enforced of a version of a policy; false where it cannot
	// be said yet. works is false for one that cannot work. Nil for never.
	Enforced func(ref stored.Ref, version policy.Version, works bool) (metav1.Condition, bool)
	// Describe says more of a policy; nil for nothing.
	Describe func(stored.Ref) policy.Description
	// Inert says why nothing comes of a policy, or of some of its rules, as things are
	// in the cluster; nil for nothing.
	Inert func(stored.Ref) stored.Problems
	// Context says what the status of a policy that may read the cluster says about
	// that, see contexthost.Host.Conditions; nil for nothing.
	Context func(p *contextgate.Policy, existing []metav1.Condition, generation int64, since time.Time) []metav1.Condition
	Clock   clock.WithTicker
	Log     logr.Logger
}

// Status writes into the status of each policy what became of it.
type Status struct {
	StatusOptions
	queue workqueue.TypedRateLimitingInterface[Key]

	mu sync.Mutex
	// said is what this replica said last of each policy. It says it once: of two
	// replicas that differ, neither keeps writing over the other.
	said map[Key]saying
	// doubts are since when this replica finds something wrong that is not said.
	doubts map[Key]time.Time
	// logged is which version of a policy was logged to be one that cannot work.
	logged map[Key]saying
}

// saying is what was said of a version of a policy.
type saying struct {
	uid        types.UID
	generation int64
	conditions []metav1.Condition
}

// NewStatus makes a Status. It must be made before the Watch runs.
func NewStatus(o StatusOptions) *Status {
	s := &Status{StatusOptions: o, said: map[Key]saying{}, doubts: map[Key]time.Time{}, logged: map[Key]saying{}}
	s.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[Key](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[Key]{Name: "policies", Clock: o.Clock})
	o.Watch.OnTouch(func(key Key) {
		if policy.HasStatus(key.Kind) {
			s.queue.Add(key)
		}
	})
	o.Watch.OnReload(s.Retell)
	return s
}

// Touch has the status of some policies looked at again.
func (s *Status) Touch(refs []stored.Ref) {
	for _, ref := range refs {
		if policy.HasStatus(ref.Kind) {
			s.queue.Add(Key(ref))
		}
	}
}

// Retell has the status of all policies looked at. Before they were read there is
// nothing to tell, and all are looked at once they were.
func (s *Status) Retell() {
	if !s.Watch.Synced() {
		return
	}
	objects, err := s.Watch.list(context.Background(), policy.ToldKinds())
	if err != nil {
		s.Log.Error(err, "policies cannot be listed")
		return
	}
	for _, object := range objects {
		s.queue.Add(keyOf(object))
	}
}

// Ready is always nil: no decision waits for a status.
func (s *Status) Ready() error { return nil }

// Run writes until ctx ends.
func (s *Status) Run(ctx context.Context) error {
	var working sync.WaitGroup
	for range writers {
		working.Go(func() {
			for s.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	s.queue.ShutDown()
	working.Wait()
	return nil
}

// next deals with one key, and reports whether there can be more.
func (s *Status) next(ctx context.Context) bool {
	key, end := s.queue.Get()
	if end {
		return false
	}
	defer s.queue.Done(key)
	err := s.update(ctx, key)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.Log.Error(err, "status of policy cannot be written; it is tried again", source.Known("kind", key.Kind, "namespace", key.Namespace, "name", key.Name)...)
		s.queue.AddRateLimited(key)
	default:
		s.queue.Forget(key)
	}
	return true
}

// update writes the status of a policy where it does not say what it should.
func (s *Status) update(ctx context.Context, key Key) error {
	object, err := s.Watch.get(ctx, key)
	if err != nil {
		return err
	}
	if object == nil {
		s.forget(key)
		return nil
	}
	outcome, ok := s.Feed.Outcome(object)
	if !ok {
		return nil
	}
	status, err := statusOf(object)
	if err != nil {
		return err
	}
	told := s.conditions(key, object, outcome, &status)
	if s.Cannot != nil {
		s.Cannot(stored.Ref(key), policy.VersionOfObject(object), told.cannot())
	}
	if told == nil {
		s.forget(key)
		return nil
	}
	leads := s.Leads()
	if !leads {
		told.beside()
	}
	s.logOnce(key, object, outcome)
	if !told.differs(&status) || !s.mayWrite(key, object, told, leads) {
		return nil
	}
	if err := s.write(ctx, object, &status, told, leads); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said[key] = saying{object.GetUID(), object.GetGeneration(), told.conditions}
	delete(s.doubts, key)
	return nil
}

func (s *Status) forget(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.said, key)
	delete(s.doubts, key)
	delete(s.logged, key)
}

// mayWrite reports whether this replica writes what it has to say of a policy, as the
// leader or not.
func (s *Status) mayWrite(key Key, object *unstructured.Unstructured, told *told, leads bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, spoke := s.said[key]
	spoke = spoke && last.uid == object.GetUID() && last.generation == object.GetGeneration()
	switch {
	case spoke && apiequality.Semantic.DeepEqual(last.conditions, told.conditions) && !told.missing:
		// Someone else says otherwise, and was told once.
		return false
	case leads:
		return true
	case !told.adverse && !spoke:
		delete(s.doubts, key)
		return false
	case spoke:
		return true
	}
	since, doubted := s.doubts[key]
	now := s.Clock.Now()
	if !doubted {
		s.doubts[key], since = now, now
	}
	if wait := lasts - now.Sub(since); wait > 0 {
		s.queue.AddAfter(key, wait)
		return false
	}
	return true
}

// logOnce logs that a policy cannot work, once a version of it.
func (s *Status) logOnce(key Key, object *unstructured.Unstructured, o policy.Outcome) {
	if len(o.Problems) == 0 {
		return
	}
	version := saying{object.GetUID(), object.GetGeneration(), nil}
	s.mu.Lock()
	before, logged := s.logged[key]
	s.logged[key] = version
	s.mu.Unlock()
	if logged && before.uid == version.uid && before.generation == version.generation {
		return
	}
	values := source.Known("kind", key.Kind, "namespace", key.Namespace, "name", key.Name, "meanwhile", o.Meanwhile)
	s.Log.Error(o.Problems, "policy cannot work", append(values, "lastVersionInForce", o.LastInForce)...)
}
