package follow

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// whole counts the lists of all that there is.
func (s *server) whole() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, o := range s.lists {
		if o.Limit != 1 {
			n++
		}
	}
	return n
}

// from is the version that the watch which begins was asked from.
func (s *server) from() string { return s.watches[len(s.watches)-1].ResourceVersion }

var broken = apierrors.NewInternalError(errors.New("unable to decode an event from the watch stream")).ErrStatus

// fruitless are watches that the API server takes, and that bring nothing.
var fruitless = map[string]func(*watch.FakeWatcher){
	"ended at once":     func(w *watch.FakeWatcher) { w.Stop() },
	"ended soon":        func(w *watch.FakeWatcher) { time.AfterFunc(stands-time.Millisecond, w.Stop) },
	"an error at first": func(w *watch.FakeWatcher) { w.Error(&broken) },
}

// TestWatchesThatBringNothing has all that changes known by lists where each watch
// begins and brings nothing, within the time after which it would be refused.
func TestWatchesThatBringNothing(t *testing.T) {
	for name, began := range fruitless {
		for _, bound := range []time.Duration{MinStaleness, DefaultStaleness} {
			t.Run(fmt.Sprint(name, " ", bound), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := two()
					s.began = began
					f := followedFor(t, s, bound)
					f.staysKnown(t, "at first", 2*bound)
					s.set(func() { s.objects, s.version = []corev1.ConfigMap{*object("b", "14"), *object("c", "15")}, "20" })
					before := s.whole()
					f.staysKnown(t, "after a change", bound)
					f.want(t, "after a change", "", "b", "c")
					f.staysKnown(t, "later", 20*bound)
					if n := s.whole() - before; n < 21 || n > 21*4 {
						t.Errorf("in %s it was listed %d times", 21*bound, n)
					}
					s.set(func() { s.began = nil })
					time.Sleep(stands + longestPause)
					s.stream().Delete(object("b", "21"))
					f.want(t, "once a watch stands", "", "c")
				})
			})
		}
	}
}

// TestWatchesThatBringNothingAreLeft to whoever watches where the watch does not list. He
// waits for up to a minute in between.
func TestWatchesThatBringNothingAreLeft(t *testing.T) {
	for name, began := range fruitless {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := two()
				s.began = began
				f := begin(t, s, nil)
				time.Sleep(5 * time.Minute)
				s.set(func() { s.objects, s.version = []corev1.ConfigMap{*object("b", "14"), *object("c", "15")}, "20" })
				before := s.whole()
				time.Sleep(5 * time.Minute)
				if got := f.cache.GetStore().ListKeys(); slices.Compare(slices.Sorted(slices.Values(got)), []string{"b", "c"}) != 0 {
					t.Errorf("the cache has %v", got)
				}
				if n := s.whole() - before; n < 3 || n > 60 {
					t.Errorf("in 5 minutes it was listed %d times", n)
				}
			})
		})
	}
}

// TestAWatchThatBeginsIsNotHeard refuses within the bound where each watch begins and
// brings nothing, and there are no lists either.
func TestAWatchThatBeginsIsNotHeard(t *testing.T) {
	for name, began := range fruitless {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := two()
				f := begin(t, s, nil)
				s.set(func() {
					s.began = began
					s.listFails = func(o metav1.ListOptions) error {
						if o.Limit == 1 {
							return nil
						}
						return errors.New("it is too much")
					}
				})
				s.stream().Stop()
				time.Sleep(staleness - time.Second)
				f.want(t, "just before", "", "a", "b")
				time.Sleep(time.Second)
				f.want(t, "at the bound", "have not been heard of", "a", "b")
				time.Sleep(time.Minute)
				f.want(t, "later", "have not been heard of", "a", "b")
			})
		})
	}
}

// TestAFewWatchesThatBringNothing lead to no list where they do not come in a row, or get
// on meanwhile, or where the API server asks to wait.
func TestAFewWatchesThatBringNothing(t *testing.T) {
	slow := apierrors.NewTooManyRequests("not so fast", 1).ErrStatus
	inTurn := func(w *watch.FakeWatcher) { time.AfterFunc(staleness/3, w.Stop) }
	event, next := 100, 0
	for name, began := range map[string]func(*server, *watch.FakeWatcher){
		"two in a row": func(_ *server, w *watch.FakeWatcher) {
			if next++; next%3 == 0 {
				inTurn(w)
			} else {
				w.Stop()
			}
		},
		"two errors in a row": func(_ *server, w *watch.FakeWatcher) {
			if next++; next%3 == 0 {
				inTurn(w)
			} else {
				w.Error(&broken)
			}
		},
		"an event before each error": func(s *server, w *watch.FakeWatcher) {
			event++
			s.version = fmt.Sprint(event)
			w.Modify(object("a", s.version))
			w.Error(&broken)
		},
		"wait": func(_ *server, w *watch.FakeWatcher) { w.Error(&slow) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next = 0
				s := two()
				s.began = func(w *watch.FakeWatcher) { began(s, w) }
				f := begin(t, s, nil)
				if name == "wait" {
					time.Sleep(staleness)
					f.want(t, "waiting", "not so fast", "a", "b")
				} else {
					f.staysKnown(t, "all the time", 2*time.Minute)
				}
				if n := s.whole(); n != 1 {
					t.Errorf("it was listed %d times", n)
				}
			})
		})
	}
}

// TestAnErrorThatComesAgain lists again where the watches from one version all come to
// the same error, as where an event cannot be read, and hands on what has changed, what
// was deleted among it.
func TestAnErrorThatComesAgain(t *testing.T) {
	for name, first := range map[string]func(*server, *watch.FakeWatcher){
		"at first":         func(*server, *watch.FakeWatcher) {},
		"after a bookmark": func(s *server, w *watch.FakeWatcher) { w.Action(watch.Bookmark, object("", s.from())) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := two()
				f := begin(t, s, nil)
				s.stream().Modify(object("a", "11"))
				synctest.Wait()
				stuck := 0
				s.set(func() {
					s.objects, s.version = []corev1.ConfigMap{*object("a", "11"), *object("c", "13")}, "20"
					s.began = func(w *watch.FakeWatcher) {
						if s.from() == "11" {
							stuck++
							first(s, w)
							w.Error(&broken)
						}
					}
				})
				s.stream().Error(&broken)
				f.staysKnown(t, "all the time", 5*time.Second)
				f.want(t, "listed again", "", "a", "c")
				s.set(func() {
					// The watch that there was is the first of the few.
					if last := s.watches[len(s.watches)-1]; stuck != few-1 || last.ResourceVersion != "20" {
						t.Errorf("%d watches came to the error; the last is from %s", stuck, last.ResourceVersion)
					}
				})
				s.stream().Delete(object("a", "21"))
				f.want(t, "and it goes on", "", "c")
				if n := s.whole(); n != 2 {
					t.Errorf("it was listed %d times", n)
				}
			})
		})
	}
}

// TestWatchesThatAreNotEnded lists again where watches are not ended when they were asked
// to end, time after time, as where something answers that the API server is not behind.
func TestWatchesThatAreNotEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, nil)
		silence := staleness/3 + staleness/6
		time.Sleep(silence + 2*firstPause)
		synctest.Wait()
		if n, lists := len(s.watches), s.whole(); n != 2 || lists != 1 {
			t.Fatalf("after one of them it was watched %d times and listed %d times", n, lists)
		}
		s.set(func() { s.objects, s.version = []corev1.ConfigMap{*object("c", "15")}, "20" })
		f.staysKnown(t, "all the time", silence)
		f.want(t, "after two", "", "c")
	})
}

// TestAVersionThatIsNotTaken lists again where no watch is begun from the version that
// there is, and not where the API server cannot answer.
func TestAVersionThatIsNotTaken(t *testing.T) {
	for err, want := range map[error]int{
		apierrors.NewBadRequest("invalid resource version"):                  2,
		apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil): 2,
		apierrors.NewInternalError(errors.New("etcdserver: leader changed")): 1,
		apierrors.NewForbidden(resource, "", errors.New("RBAC")):             1,
		apierrors.NewTooManyRequests("not so fast", 1):                       1,
		errors.New("connection refused"):                                     1,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := two()
			f := begin(t, s, nil)
			s.set(func() {
				s.objects, s.version = []corev1.ConfigMap{*object("c", "15")}, "20"
				s.watchFails = func(o metav1.ListOptions) error {
					if o.ResourceVersion == "20" {
						return nil
					}
					return err
				}
			})
			s.stream().Error(&broken)
			time.Sleep(10 * time.Second)
			if n := s.whole(); n != want {
				t.Errorf("%v: it was listed %d times, want %d", err, n, want)
			}
			if want > 1 {
				f.want(t, "listed again", "", "c")
			}
		})
	}
}

// TestSoonAfterAnOutage: once a watch stands, or has brought something, the next one that
// breaks is tried again as soon as the first was.
func TestSoonAfterAnOutage(t *testing.T) {
	for name, heard := range map[string]func(*server){
		"stands": func(*server) { time.Sleep(stands) },
		"brings": func(s *server) { s.bookmark("11") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := two()
				begin(t, s, nil)
				s.set(func() { s.fails = errors.New("connection refused") })
				s.stream().Stop()
				time.Sleep(time.Minute)
				s.set(func() { s.fails = nil })
				time.Sleep(longestPause)
				synctest.Wait()
				heard(s)
				synctest.Wait()
				before := len(s.watches)
				s.stream().Error(&broken)
				time.Sleep(firstPause)
				synctest.Wait()
				if n := len(s.watches) - before; n != 1 {
					t.Errorf("it was watched %d times", n)
				}
			})
		})
	}
}
