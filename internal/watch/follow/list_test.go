package follow

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// TestAListOfAKindThatIsTakenAway is not taken for what there is.
func TestAListOfAKindThatIsTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		f := begin(t, s, nil)
		s.set(func() { s.objects = s.objects[:1]; s.duringGo = func() { s.kind.Leaving = true } })
		s.stream().Error(&apierrors.NewResourceExpired("too old").ErrStatus)
		time.Sleep(time.Minute)
		f.want(t, "while it goes", "", "a", "b")
		if len(s.lists) < 10 {
			t.Errorf("it was listed %d times", len(s.lists))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := two()
		s.kind.Leaving = true
		f := begin(t, s, nil)
		time.Sleep(time.Minute)
		f.want(t, "at start", "is being deleted")
	})
}

// TestListsAreSlim lists page by page, takes out of each what its cache does not hold,
// and takes nothing that this cannot be done with.
func TestListsAreSlim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := two()
		slimmed := 0
		var fails error
		o := Options{Clock: clock.RealClock{}, Log: logr.Discard(), Slim: func(object any) (any, error) {
			slimmed++
			object.(*corev1.ConfigMap).ResourceVersion = "slim"
			return object, fails
		}}
		list, err := Source(s, o).(cache.ListerWatcherWithContext).ListWithContext(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if items := list.(*corev1.ConfigMapList).Items; len(items) != 2 || slimmed != 2 || items[0].ResourceVersion != "slim" || items[1].ResourceVersion != "slim" {
			t.Errorf("%d were slimmed; listed are %v", slimmed, items)
		}
		if _, err := Source(s, o).(cache.ListerWatcherWithContext).ListWithContext(t.Context(), metav1.ListOptions{Limit: 7}); err != nil || s.lists[0].Limit != pageSize || s.lists[1].Limit != 7 {
			t.Errorf("listed is by %d and %d (%v)", s.lists[0].Limit, s.lists[1].Limit, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		fails = errors.New("it is too fat")
		if list, err := Source(s, o).(cache.ListerWatcherWithContext).ListWithContext(ctx, metav1.ListOptions{}); err == nil {
			t.Errorf("listed are %v", list)
		}
	})
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
