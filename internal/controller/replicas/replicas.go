// Package replicas has each replica say, in one Lease of its own, what it has in
// force, and the one that leads compare: of each object, whether every replica that
// answers has it in force.
package replicas

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/watch/follow"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

// Times.
const (
	// lookEvery is how often is looked for what nothing tells of: whether this replica
	// answers, and which others are not heard of any more.
	lookEvery = time.Second
	// apart is the least time between two writes of a Lease, and renewEvery the
	// longest.
	apart      = 250 * time.Millisecond
	renewEvery = 10 * time.Second
	// lasts is how long a replica may be behind before that is said, and differs how
	// long one that is not behind may have other objects.
	lasts   = 2 * time.Second
	differs = 5 * time.Second
	// writeLimit bounds a write, and leaveLimit the one by which a replica ends.
	writeLimit = 5 * time.Second
	leaveLimit = 2 * time.Second
)

// Options are what Replicas are made of.
type Options struct {
	Client kubernetes.Interface
	// Namespace is that of the Leases, and Installation a name that only replicas of
	// the same policies have.
	Namespace, Installation string
	// Identity is who this replica is, and Place where it runs: who is started again
	// there takes the place of the one before.
	Identity, Place string
	// Staleness is how long a replica goes on by what it has without being heard of.
	Staleness time.Duration
	// Objects lists what is watched, and reports whether just that is in force.
	Objects func(context.Context) ([]*unstructured.Unstructured, bool, error)
	// Ready reports whether this replica answers, and Leads whether it is the one that
	// writes.
	Ready, Leads func() bool
	// Shows names the CA of the certificate that this replica shows; nil where it is kept
	// by nobody here.
	Shows func() string
	// Observe is set where this replica refuses nothing.
	Observe bool
	// Touch is called with objects of which there is more to say, and Changed where
	// there may be of any. Both must return soon.
	Touch   func([]stored.Ref)
	Changed func()
	// Line is the way to the API server, shared with what else follows it.
	Line  *follow.Line
	Clock clock.WithTickerAndDelayedExecution
	Log   logr.Logger
}

// Replicas are those of one installation.
type Replicas struct {
	Options
	name    string
	changed notice.Notice

	mu sync.Mutex
	// stale is set where what is in force was not summed up since it changed, and
	// summed where it was once.
	stale, summed bool
	own           saying
	born          map[types.UID]born
	// cannot is what this replica says of what it cannot do.
	cannot map[stored.Ref]trouble
	// others are the other replicas, by the names of their Leases.
	others map[string]*other
	// listed is set once the others were listed, and failed is why they cannot be.
	listed bool
	failed error
	// waiting are the objects of which it was asked and could not be said.
	waiting map[stored.Ref]waiting

	// Only for Run: before when nothing is summed up, what was written, and when.
	nextSum   time.Time
	lease     *coordinationv1.Lease
	written   saying
	writtenAt time.Time
	told      string
}

// waiting is since when a version of an object is asked about.
type waiting struct {
	version policy.Version
	since   time.Time
	told    bool
}

// New makes Replicas. Nothing is sent before Run.
func New(o Options) *Replicas {
	r := &Replicas{
		Options: o, name: nameOf(o.Place), changed: notice.New(), stale: true, cannot: map[stored.Ref]trouble{},
		others: map[string]*other{}, waiting: map[stored.Ref]waiting{},
	}
	// Long enough that it can be renewed in time, and be guessed by no one.
	r.own = saying{identity: o.Identity, word: rand.Text(), observes: o.Observe, lasts: o.Staleness + renewEvery}
	return r
}

// Notice says that what is in force has changed.
func (r *Replicas) Notice() {
	r.mu.Lock()
	r.stale = true
	r.mu.Unlock()
	r.changed.Give()
}

// Cannot notes what keeps this replica from doing what a version of an object says;
// empty for nothing.
func (r *Replicas) Cannot(ref stored.Ref, v policy.Version, why string) {
	t := trouble{ref.Kind, ref.Namespace, ref.Name, string(v.UID), v.Generation, shortened(why)}
	r.mu.Lock()
	before, was := r.cannot[ref]
	switch {
	case why == "":
		delete(r.cannot, ref)
	default:
		r.cannot[ref] = t
	}
	now, is := r.cannot[ref]
	r.mu.Unlock()
	if was != is || before != now {
		r.changed.Give()
	}
}

func shortened(why string) string {
	why = decision.Clean(why)
	if len(why) > longestTrouble {
		why = why[:longestTrouble] + "..."
	}
	return why
}

// Ready is always nil: no decision waits for what other replicas have.
func (r *Replicas) Ready() error { return nil }

// Run says what this replica has in force, and listens to the others, until ctx ends.
func (r *Replicas) Run(ctx context.Context) error {
	var listening sync.WaitGroup
	listening.Go(func() { r.listen(ctx) })
	defer listening.Wait()
	defer r.leave(ctx)
	ticker := r.Clock.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		soon := r.sum(ctx)
		if wait := r.write(ctx); wait > 0 && (soon == 0 || wait < soon) {
			soon = wait
		}
		r.refresh(ctx)
		var later <-chan time.Time
		if soon > 0 {
			later = r.Clock.After(soon)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		case <-later:
		case <-r.changed:
		}
	}
}

// settles is how soon is looked again at what is not in force yet, and share the part of
// the time that may be spent on looking. Nothing is looked at later for it than after
// mostRest.
const (
	settles  = 50 * time.Millisecond
	share    = 10
	mostRest = 2 * time.Second
)

// sum sums up what is in force, where that has changed. It returns after what time
// that is to be tried again; zero for not at all.
func (r *Replicas) sum(ctx context.Context) time.Duration {
	began := r.Clock.Now()
	r.mu.Lock()
	stale := r.stale
	if early := r.nextSum.Sub(began); stale && early > 0 {
		r.mu.Unlock()
		return early
	}
	r.stale = false
	r.mu.Unlock()
	if !stale {
		return 0
	}
	// Caches that cannot be read yet are waited for, which costs nothing and must not
	// keep what they hold from being said for ten times as long.
	defer func() { r.nextSum = r.Clock.Now().Add(min(share*r.Clock.Since(began), mostRest)) }()
	objects, settled, err := r.Objects(ctx)
	if err != nil || !settled {
		r.mu.Lock()
		r.stale = true
		r.mu.Unlock()
		return settles
	}
	content := contentOf(objects)
	r.mu.Lock()
	r.own.content, r.summed = content, true
	r.born = bornOf(objects, r.born)
	for ref, t := range r.cannot {
		if b, ok := r.born[types.UID(t.UID)]; !ok || b.generation != t.Generation {
			delete(r.cannot, ref)
		}
	}
	for ref, w := range r.waiting {
		if _, ok := r.born[w.version.UID]; !ok && r.Clock.Since(w.since) > lasts {
			delete(r.waiting, ref)
		}
	}
	touched := r.waitingLocked()
	r.mu.Unlock()
	r.touch(touched)
	return 0
}

// now is what this replica has to say.
func (r *Replicas) now() (saying, bool) {
	ready := r.Options.Ready()
	shows := ""
	if r.Shows != nil {
		shows = r.Shows()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.own
	s.ready, s.shows = ready, shows
	s.troubles = slices.SortedFunc(maps.Values(r.cannot), func(a, b trouble) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if len(s.troubles) > mostTroubles {
		s.troubles = s.troubles[:mostTroubles]
	}
	return s, r.summed
}

// write writes the Lease, where it says something else or was written long ago. It
// returns after what time it is to be tried again; zero for not at all.
func (r *Replicas) write(ctx context.Context) time.Duration {
	s, summed := r.now()
	ago := r.Clock.Since(r.writtenAt)
	switch {
	case !summed, s.same(&r.written) && ago < renewEvery:
		return 0
	case ago < apart:
		return apart - ago
	}
	r.writtenAt = r.Clock.Now()
	err := r.save(ctx, &s)
	r.reportError(ctx, err)
	if err != nil {
		return apart
	}
	r.written = s
	return 0
}

// save writes the Lease. It is read only where it is not the one that was written last.
// A write that has begun is ended though ctx has: one that is broken off may still
// arrive, after the Lease was deleted.
func (r *Replicas) save(ctx context.Context, s *saying) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeLimit)
	defer cancel()
	leases := r.Client.CoordinationV1().Leases(r.Namespace)
	lease, absent := r.lease, false
	r.lease = nil
	if lease == nil {
		var err error
		lease, err = leases.Get(ctx, r.name, metav1.GetOptions{})
		if absent = apierrors.IsNotFound(err); absent {
			lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.name}}
		} else if err != nil {
			return fmt.Errorf("the Lease %s/%s, by which this replica says what it has in force, cannot be read: %w", r.Namespace, r.name, err)
		}
	}
	if err := s.put(lease, r.Installation, r.writtenAt); err != nil {
		return err
	}
	var err error
	if absent {
		lease, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		lease, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("the Lease %s/%s, by which this replica says what it has in force, cannot be written: %w", r.Namespace, r.name, err)
	}
	r.lease = lease
	return nil
}

// leave deletes the Lease, so that no other waits for this replica. There may be one
// though nothing was written: that of a write that failed, or of who was in this place
// before.
func (r *Replicas) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	if err := r.Client.CoordinationV1().Leases(r.Namespace).Delete(ctx, r.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		r.Log.Error(err, "the Lease of this replica could not be deleted; it counts until it runs out", "namespace", r.Namespace, "name", r.name)
	}
}

// reportError logs what keeps this replica from saying what it has, once.
func (r *Replicas) reportError(ctx context.Context, err error) {
	why := ""
	if err != nil && ctx.Err() == nil {
		why = err.Error()
		if why != r.told {
			r.Log.Error(err, "other replicas cannot know what is in force here; it is tried again")
		}
	}
	r.told = why
}
