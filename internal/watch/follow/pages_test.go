package follow

import (
	"context"
	"errors"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// TestPagesThatAreTooOld: where each page but the first is too old, everything is taken
// at once, and never the first page for everything.
func TestPagesThatAreTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPages(1).ten()
		informer := p.cached(t)
		p.same(t, "at first", informer)
		time.Sleep(time.Minute)
		synctest.Wait()
		p.write("o-5")
		p.open.Error(&tooOld)
		time.Sleep(time.Minute)
		synctest.Wait()
		p.same(t, "listed again", informer)
		if p.lists > 10 {
			t.Errorf("it was listed %d times", p.lists)
		}
		before := 0
		p.set(func() { p.old, before = 1<<30, p.lists })
		p.open.Error(&tooOld)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if p.same(t, "in pages again", informer); p.lists != before+4 {
			t.Errorf("4 pages were read in %d lists", p.lists-before)
		}
	})
}

// TestEverythingAtOnceIsTooMuch goes back to pages where everything at once is not given.
func TestEverythingAtOnceIsTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPages(1).ten()
		p.never = true
		informer := p.cached(t)
		time.Sleep(time.Minute)
		synctest.Wait()
		p.same(t, "at first", informer)
		p.set(func() { p.old = 1 })
		p.write("o-5")
		p.open.Error(&tooOld)
		time.Sleep(time.Minute)
		synctest.Wait()
		if p.same(t, "listed again", informer); p.lists > 30 {
			t.Errorf("it was listed %d times", p.lists)
		}
	})
}

// TestAPartForEverything takes no part that is given for everything.
func TestAPartForEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPages(1).ten()
		p.parts = true
		informer := p.cached(t)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := informer.GetStore().ListKeys(); len(got) > 0 {
			t.Errorf("the cache has %v", got)
		}
		p.set(func() { p.old = 1 << 30 })
		time.Sleep(time.Minute)
		synctest.Wait()
		p.same(t, "in pages", informer)
	})
}

// TestNoWatchOfAPart: what was not listed to its end is not watched on.
func TestNoWatchOfAPart(t *testing.T) {
	p := newPages(1).ten()
	s := Source(p, Options{Clock: clock.RealClock{}, Log: logr.Discard()}).(cache.ListerWatcherWithContext)
	if _, err := s.ListWithContext(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WatchWithContext(t.Context(), metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("the watch of a part: %v", err)
	}
}

// TestPagesThatAreNotTaken begins a list again where the API server does not take what
// it said itself of where the next page begins, however long that lasts.
func TestPagesThatAreNotTaken(t *testing.T) {
	for _, err := range []error{
		apierrors.NewBadRequest("continue key is not valid"),
		apierrors.NewInternalError(errors.New("continue key is not valid")),
		&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonGone, Message: "the page is not there any more"}},
		apierrors.NewForbidden(resource, "", errors.New("RBAC")),
		errors.New("json: cannot unmarshal"),
	} {
		t.Run(err.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPages(1 << 30).ten()
				p.refuses = func() error { return err }
				informer := p.cached(t)
				time.Sleep(2 * longestPause)
				synctest.Wait()
				p.same(t, "at first", informer)
				p.write("o-5")
				p.set(func() { delete(p.objects, "o-9"); p.version++ })
				p.open.Error(&tooOld)
				time.Sleep(2 * longestPause)
				synctest.Wait()
				if p.same(t, "listed again", informer); p.lists > 10 {
					t.Errorf("it was listed %d times", p.lists)
				}
				p.set(func() { p.refuses, p.asked = nil, nil })
				p.open.Error(&tooOld)
				time.Sleep(20 * time.Second)
				synctest.Wait()
				if p.same(t, "in pages again", informer); len(p.asked) != 3 {
					t.Errorf("3 pages were read in %d lists", len(p.asked))
				}
			})
		})
	}
}

// TestNoPageIsTaken goes on where neither pages nor everything at once are given, at the
// pace of other tries, and comes to what there is once they are.
func TestNoPageIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPages(1 << 30).ten()
		informer := p.cached(t)
		p.same(t, "at first", informer)
		p.set(func() {
			p.never, p.asked = true, nil
			p.refuses = func() error { return apierrors.NewBadRequest("continue key is not valid") }
		})
		p.write("o-5")
		p.open.Error(&tooOld)
		time.Sleep(time.Minute)
		if n := p.firsts(); n < 6 || n > 100 {
			t.Errorf("in a minute it was begun %d times", n)
		}
		p.set(func() { p.never, p.refuses = false, nil })
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		p.same(t, "in the end", informer)
	})
}

// TestPagesThatComeLater are asked for again, and nothing before them, where an error is
// about time, pace, or the way to the API server.
func TestPagesThatComeLater(t *testing.T) {
	for _, err := range []error{
		apierrors.NewTooManyRequests("not so fast", 1),
		apierrors.NewServerTimeout(resource, "list", 1),
		apierrors.NewTimeoutError("it takes long", 1),
		apierrors.NewServiceUnavailable("not yet"),
		&noAnswer{time.Minute},
		context.DeadlineExceeded,
		&url.Error{Op: "Get", URL: "https://example.com", Err: errors.New("no route to host")},
		syscall.ECONNREFUSED,
		syscall.ECONNRESET,
		errors.New("http2: client connection lost"),
	} {
		t.Run(err.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPages(1 << 30).ten()
				tries := 0
				p.refuses = func() error {
					if tries++; tries%4 != 0 {
						return err
					}
					return nil
				}
				informer := p.cached(t)
				time.Sleep(20 * time.Second)
				synctest.Wait()
				if p.same(t, "in the end", informer); p.firsts() != 1 {
					t.Errorf("it was begun %d times", p.firsts())
				}
				if tries != 12 {
					t.Errorf("3 pages were asked for %d times", tries)
				}
			})
		})
	}
}

// TestWhyAPageIsNotTaken is said to whoever lists, who lists everything, and to whoever
// asks for what is known.
func TestWhyAPageIsNotTaken(t *testing.T) {
	p := newPages(1 << 30).ten()
	p.refuses = func() error { return apierrors.NewBadRequest("continue key is not valid") }
	book := known.NewBook(time.Now())
	fact := book.NewFact("things", staleness, time.Now())
	s := Source(p, Options{Fact: fact, Clock: clock.RealClock{}, Log: logr.Discard()}).(cache.ListerWatcherWithContext)
	_, err := s.ListWithContext(t.Context(), metav1.ListOptions{Limit: 3, Continue: "o-3"})
	if want := "the list cannot be read on from one of its pages: continue key is not valid"; !apierrors.IsResourceExpired(err) || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	if why := fact.Stand(time.Now()).Why; why != "continue key is not valid" {
		t.Errorf("it is not known: %s", why)
	}
}
