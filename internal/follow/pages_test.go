package follow

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/known"
)

// firsts counts the lists that began with the first page.
func (p *pages) firsts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, o := range p.asked {
		// What is asked for one is asked for its version.
		if o.Continue == "" && o.Limit != 1 {
			n++
		}
	}
	return n
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
		for _, relist := range []bool{false, true} {
			t.Run(fmt.Sprint(err, " ", relist), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPages(1 << 30).ten()
					p.refuses = func() error { return err }
					informer := p.cached(t, relist)
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
}

// TestNoPageIsTaken goes on where neither pages nor everything at once are given, at the
// pace of other tries, and comes to what there is once they are.
func TestNoPageIsTaken(t *testing.T) {
	for _, relist := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPages(1 << 30).ten()
			informer := p.cached(t, relist)
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
				informer := p.cached(t, true)
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

// TestAListIsAsOldAsItsFirstPage: what changed while the others were read is not in it.
func TestAListIsAsOldAsItsFirstPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPages(1 << 30).ten()
		fact := known.NewFact(known.NewBook(time.Now()), staleness, time.Now())
		s := Source(slow{p}, Options{Fact: fact, Clock: clock.RealClock{}, Log: logr.Discard()}).(cache.ListerWatcherWithContext)
		time.Sleep(time.Minute)
		began, next := time.Now(), ""
		for range 4 {
			list, err := s.ListWithContext(t.Context(), metav1.ListOptions{Limit: 3, Continue: next})
			if err != nil {
				t.Fatal(err)
			}
			next = list.(*unstructured.UnstructuredList).GetContinue()
		}
		if stands := fact.Stand(time.Now()); stands.State != known.Unread {
			t.Errorf("before it is watched on it is %s", stands.State)
		}
		w, err := s.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "10"})
		if err != nil {
			t.Fatal(err)
		}
		if stands := fact.Stand(time.Now()); stands.State != known.Known || !stands.Since.Equal(began) {
			t.Errorf("it is %s as of %s, and the list was begun at %s", stands.State, stands.Since, began)
		}
		w.Stop()
		synctest.Wait()
	})
}

// slow takes a second for each page.
type slow struct{ *pages }

func (s slow) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	time.Sleep(time.Second)
	return s.pages.ListWithContext(ctx, o)
}
