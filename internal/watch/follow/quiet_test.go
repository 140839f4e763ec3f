package follow

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// staysKnown holds that nothing is refused for a time.
func (f *followed) staysKnown(t *testing.T, when string, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		synctest.Wait()
		if m := f.book.Missing(time.Now()); m != nil {
			t.Fatalf("%s: %s", when, m.Facts[0].Detail())
		}
	}
}

// followedFor has a fact known for another time than usual.
func followedFor(t *testing.T, s *server, bound time.Duration) *followed {
	t.Helper()
	var fact *known.Fact
	f := begin(t, s, func(o *Options) {
		fact = known.NewFact(known.NewBook(time.Now()), bound, time.Now())
		o.Fact, o.Staleness = fact, bound
	})
	f.book.Add("denypolicies.sallyport.io", fact)
	synctest.Wait()
	return f
}

// TestQuietWatchesStand: watches that say nothing are heard of, and lead to no list,
// whether they end in their turn or something between ends them sooner.
func TestQuietWatchesStand(t *testing.T) {
	for _, bound := range []time.Duration{MinStaleness, DefaultStaleness} {
		for _, after := range []time.Duration{0, stands, 7 * time.Second} {
			t.Run(fmt.Sprint(bound, " ", after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := two()
					s.takes = stands / 10
					s.began = func(w *watch.FakeWatcher) {
						// It counts from when it was asked.
						asked := -s.takes + time.Duration(*s.watches[len(s.watches)-1].TimeoutSeconds)*time.Second
						if after > 0 {
							asked = min(asked, after)
						}
						time.AfterFunc(asked, w.Stop)
					}
					f := followedFor(t, s, bound)
					time.Sleep(s.takes)
					f.staysKnown(t, "quiet", 10*time.Minute+stands/4)
					s.stream().Modify(object("a", "12"))
					f.want(t, "and it goes on", "", "a", "b")
					if len(s.lists) != 1 {
						t.Errorf("it was listed %d times", len(s.lists))
					}
				})
			})
		}
	}
}

// TestWhatIsHeldIsNotHeard: a watch that stands says nothing where what it brought is not
// handed on yet.
func TestWhatIsHeldIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, nil)
		time.Sleep(staleness / 3)
		s.set(func() {
			s.kindErr = apierrors.NewForbidden(resource, "", errors.New("RBAC"))
			s.began = func(w *watch.FakeWatcher) { w.Delete(object("a", "11")) }
		})
		s.stream().Stop()
		time.Sleep(2*staleness/3 - time.Second)
		f.want(t, "just before", "", "a", "b")
		time.Sleep(time.Second)
		f.want(t, "at the bound", "CustomResourceDefinition denypolicies.sallyport.io", "a", "b")
	})
}
