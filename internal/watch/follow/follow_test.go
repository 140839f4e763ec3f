package follow

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/watch/known"
)

var resource = schema.GroupResource{Group: "sallyport.io", Resource: "denypolicies"}

// server is an API server with one resource.
type server struct {
	mu       sync.Mutex
	lists    []metav1.ListOptions
	watches  []metav1.ListOptions
	reads    int
	objects  []corev1.ConfigMap
	version  string
	fails    error
	silent   bool
	open     *watch.FakeWatcher
	kind     Definition
	kindErr  error
	duringGo func()
	// began is called with each watch that begins, of which watches has the options by then.
	began func(*watch.FakeWatcher)
	// takes is how long the API server takes to begin one.
	takes time.Duration
	// listFails and watchFails are asked for the error of one.
	listFails, watchFails func(metav1.ListOptions) error
}

func (s *server) List(o metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists = append(s.lists, o)
	if s.fails != nil {
		return nil, s.fails
	}
	if s.listFails != nil {
		if err := s.listFails(o); err != nil {
			return nil, err
		}
	}
	if s.duringGo != nil {
		s.duringGo()
	}
	return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: s.version}, Items: s.objects}, nil
}

func (s *server) Watch(o metav1.ListOptions) (watch.Interface, error) { panic("not asked") }

func (s *server) ListWithContext(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
	return s.List(o)
}

func (s *server) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	s.watches = append(s.watches, o)
	fails, silent := s.fails, s.silent
	if fails == nil && s.watchFails != nil {
		fails = s.watchFails(o)
	}
	s.mu.Unlock()
	if silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if fails != nil {
		return nil, fails
	}
	w := watch.NewFakeWithChanSize(4096, false)
	time.Sleep(s.takes)
	s.mu.Lock()
	s.open = w
	if s.began != nil {
		s.began(w)
	}
	s.mu.Unlock()
	return w, nil
}

func (s *server) Definition(context.Context, string) (Definition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return s.kind, s.kindErr
}

func (s *server) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *server) stream() *watch.FakeWatcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

func object(name, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version}}
}

func (s *server) bookmark(version string) { s.stream().Action(watch.Bookmark, object("", version)) }

// followed is a cache that is fed from a server.
type followed struct {
	*server
	cache cache.SharedIndexInformer
	book  *known.Book
}

const staleness = 30 * time.Second

// begin feeds a cache until the test ends, in a bubble of synctest.
func begin(t *testing.T, s *server, edit func(*Options)) *followed {
	t.Helper()
	f := &followed{server: s, book: known.NewBook(time.Now())}
	fact := f.book.NewFact("denypolicies.sallyport.io", staleness, time.Now())
	o := Options{Fact: fact, Staleness: staleness, Clock: clock.RealClock{}, Log: logr.Discard(), Kind: &Kind{Name: "denypolicies.sallyport.io", From: s}}
	if edit != nil {
		edit(&o)
	}
	f.cache = cache.NewSharedIndexInformer(Source(s, o), &corev1.ConfigMap{}, 0, nil)
	fact.Once(f.cache.HasSynced)
	if err := f.cache.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.cache.RunWithContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	synctest.Wait()
	return f
}

func (f *followed) want(t *testing.T, when string, missing string, names ...string) {
	t.Helper()
	synctest.Wait()
	m := f.book.Missing(time.Now())
	switch {
	case m == nil && missing != "":
		t.Errorf("%s: everything is known, and %q should not be", when, missing)
	case m != nil && (missing == "" || !strings.Contains(m.Facts[0].Detail(), missing)):
		t.Errorf("%s: %s; want %q", when, m.Facts[0].Detail(), missing)
	}
	got := f.cache.GetStore().ListKeys()
	if len(got) != len(names) {
		t.Errorf("%s: the cache has %v, want %v", when, got, names)
	}
	for _, name := range names {
		if _, there, _ := f.cache.GetStore().GetByKey(name); !there {
			t.Errorf("%s: the cache lacks %s", when, name)
		}
	}
}

func two() *server {
	return &server{version: "10", objects: []corev1.ConfigMap{*object("a", "3"), *object("b", "4")}, kind: Definition{UID: "one"}}
}

// TestTriesAgain has what cannot be listed tried at least every two seconds, however
// long that lasts.
func TestTriesAgain(t *testing.T) {
	for name, fails := range map[string]error{
		"forbidden":   apierrors.NewForbidden(resource, "", errors.New("RBAC")),
		"not decoded": errors.New("json: cannot unmarshal"),
		"away":        errors.New("connection refused"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := two()
				s.fails = fails
				f := begin(t, s, nil)
				f.want(t, "at first", "were not read yet")
				time.Sleep(10 * time.Minute)
				f.want(t, "after long", fails.Error())
				if n := len(s.lists); n < 290 {
					t.Errorf("it was tried %d times in 10 minutes", n)
				}
				s.set(func() { s.fails = nil })
				time.Sleep(longestPause + 50*time.Millisecond)
				f.want(t, "once it can be read", "", "a", "b")
				if o := s.lists[0]; o.ResourceVersion != "" {
					t.Errorf("the list was of version %q, which may be old", o.ResourceVersion)
				}
			})
		})
	}
}

// TestAKindThatIsNotThere is one that was never installed.
func TestAKindThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		s.fails, s.kindErr = apierrors.NewNotFound(resource, ""), apierrors.NewNotFound(resource, "")
		f := begin(t, s, nil)
		time.Sleep(time.Minute)
		f.want(t, "before", "were not read yet")
		s.set(func() { s.fails, s.kindErr = nil, nil })
		time.Sleep(longestPause + 50*time.Millisecond)
		f.want(t, "after", "", "a", "b")
	})
}

// TestAWatchThatIsQuiet stays known, as it is begun again before its time is over.
func TestAWatchThatIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, nil)
		for range 30 {
			time.Sleep(staleness / 3)
			f.want(t, "quiet", "", "a", "b")
			s.bookmark("11")
			s.stream().Stop() // the API server ends it in its turn
			synctest.Wait()
		}
		last := s.watches[len(s.watches)-1]
		if last.ResourceVersion != "11" || *last.TimeoutSeconds != int64(staleness.Seconds()/3) || !last.AllowWatchBookmarks {
			t.Errorf("the watch was begun again by %+v", last)
		}
		if len(s.lists) != 1 {
			t.Errorf("it was listed %d times", len(s.lists))
		}
	})
}

// TestAServerThatSaysNothing is lost within the bound, and found again by itself.
func TestAServerThatSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, nil)
		s.set(func() { s.silent = true })
		time.Sleep(staleness - time.Second)
		f.want(t, "just before", "", "a", "b")
		time.Sleep(time.Second)
		f.want(t, "at the bound", "have not been heard of", "a", "b")
		time.Sleep(time.Hour)
		f.want(t, "much later", "have not been heard of", "a", "b")
		s.set(func() { s.silent = false })
		time.Sleep(staleness/6 + longestPause + stands + 50*time.Millisecond)
		f.want(t, "once it speaks", "", "a", "b")
		s.stream().Add(object("c", "12"))
		f.want(t, "and goes on", "", "a", "b", "c")
	})
}

// TestDeleted takes away what somebody deleted, with one question for many.
func TestDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, nil)
		before := s.reads
		for n := range 1000 {
			s.stream().Delete(object("b", "2"+string(rune('0'+n%10))))
		}
		f.want(t, "after that", "", "a")
		if n := s.reads - before; n == 0 || n > 500 {
			t.Errorf("the kind was looked at %d times", n)
		}
	})
}

// TestAKindThatIsTakenAway keeps what was read until it is gone, and is not known then.
func TestAKindThatIsTakenAway(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := two()
			f := begin(t, s, func(o *Options) { o.KeepGone = keep })
			s.set(func() { s.kind.Leaving = true })
			s.stream().Delete(object("a", "11"))
			s.stream().Modify(object("b", "12"))
			s.stream().Delete(object("b", "13"))
			f.want(t, "while it goes", "", "a", "b")
			if all := f.book.All(time.Now()); !strings.Contains(all[0].Why, "is being deleted") {
				t.Errorf("that it goes is not said: %+v", all)
			}
			s.set(func() {
				s.fails, s.kindErr = apierrors.NewNotFound(resource, ""), apierrors.NewNotFound(resource, "")
			})
			s.stream().Stop()
			time.Sleep(5 * time.Second)
			if keep {
				f.want(t, "kept", "", "a", "b")
				time.Sleep(time.Hour)
				f.want(t, "kept for long", "", "a", "b")
			} else {
				f.want(t, "gone", "do not exist any more", "a", "b")
			}
			s.set(func() {
				s.fails, s.kindErr, s.kind = nil, nil, Definition{UID: "two"}
				s.objects, s.version = []corev1.ConfigMap{*object("new", "20")}, "21"
			})
			time.Sleep(10 * time.Second)
			f.want(t, "made again", "", "new")
			s.stream().Delete(object("new", "22"))
			f.want(t, "and deleted", "")
		})
	}
}

// handedOn is an object that notices when it is read after it was handed on.
type handedOn struct {
	corev1.ConfigMap
	handed atomic.Bool
	read   atomic.Int32
}

func (h *handedOn) GetResourceVersion() string {
	if h.handed.Load() {
		h.read.Add(1)
	}
	return h.ResourceVersion
}

// TestWhatIsHandedOnIsNotRead: a cache changes the objects that it is given, and whoever
// reads one at the same moment ends the process.
func TestWhatIsHandedOnIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		ctx, cancel := context.WithCancel(t.Context())
		w, err := Source(s, Options{Clock: clock.RealClock{}, Log: logr.Discard()}).(cache.ListerWatcherWithContext).WatchWithContext(ctx, metav1.ListOptions{ResourceVersion: "10"})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 200 {
			o := &handedOn{ConfigMap: *object("a", strconv.Itoa(100+n))}
			s.stream().Action(watch.Modified, o)
			// It waits to be taken, so that whoever takes it goes on first.
			synctest.Wait()
			event := <-w.ResultChan()
			o.handed.Store(true)
			synctest.Wait()
			if event.Object != runtime.Object(o) || o.read.Load() > 0 {
				t.Fatalf("event %d: %v was read %d times after it was handed on", n, event.Object, o.read.Load())
			}
		}
		s.stream().Stop()
		synctest.Wait()
		if o := s.watches[len(s.watches)-1]; len(s.watches) != 2 || o.ResourceVersion != "299" {
			t.Errorf("it goes on from %q", o.ResourceVersion)
		}
		cancel()
		synctest.Wait()
	})
}

// TestWhyIsNotKnown holds deletions back while nobody says whether the kind goes.
func TestWhyIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, nil)
		s.set(func() { s.kindErr = apierrors.NewForbidden(resource, "", errors.New("RBAC")) })
		s.stream().Delete(object("a", "11"))
		for range 10 {
			time.Sleep(staleness / 3)
			s.stream().Stop()
		}
		f.want(t, "while nobody says", "CustomResourceDefinition denypolicies.sallyport.io", "a", "b")
		s.set(func() { s.kindErr = nil })
		time.Sleep(longestPause + 50*time.Millisecond)
		s.stream().Delete(object("a", "11"))
		f.want(t, "once it is said", "", "b")
	})
}
