package follow

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// TestOneThatIsAnsweredWakesTheOthers: sources that share the way to an API server try
// again as soon as one of them is answered, and others at their own time.
func TestOneThatIsAnsweredWakesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line, began := &Line{}, time.Now()
		answered := make([]time.Duration, 3)
		var servers []*server
		for i, l := range []*Line{line, line, {}} {
			s := two()
			s.fails = errors.New("connection refused")
			s.duringGo = func() { answered[i] = time.Since(began) }
			begin(t, s, func(o *Options) { o.Line = l })
			servers = append(servers, s)
			// No two of them try at the same time.
			time.Sleep(130 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		up := time.Since(began)
		for _, s := range servers {
			s.set(func() { s.fails = nil })
		}
		time.Sleep(longestPause)
		synctest.Wait()
		for i, at := range answered {
			if at < up || at > up+longestPause {
				t.Fatalf("source %d was answered after %s", i, at)
			}
		}
		if answered[0] != answered[1] {
			t.Errorf("two on one way were answered %s apart", answered[1]-answered[0])
		}
		if answered[2] == answered[0] {
			t.Error("one that goes another way was woken too")
		}
	})
}

// TestWhileTheAPIServerSettles tries each source again soon while the API server, which
// was away, says of its kind only that it is not ready, and wakes the others as soon as it
// says anything.
func TestWhileTheAPIServerSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := &Line{}
		var servers []*server
		for range 2 {
			s := two()
			begin(t, s, func(o *Options) { o.Line = line })
			s.set(func() { s.fails = errors.New("connection refused") })
			s.stream().Stop()
			servers = append(servers, s)
			// The two do not try at the same time.
			time.Sleep(longestPause / 2)
		}
		time.Sleep(time.Minute)
		settled, notReady := servers[0], servers[1]
		settled.set(func() { settled.fails = apierrors.NewTooManyRequests("storage is (re)initializing", 1) })
		notReady.set(func() { notReady.fails = apierrors.NewTooManyRequests("storage is (re)initializing", 1) })
		select {
		case <-line.again():
		case <-time.After(2 * longestPause):
			t.Fatal("that the API server answers is not told")
		}
		time.Sleep(time.Second)
		for i, s := range servers {
			synctest.Wait()
			before := 0
			s.set(func() { s.fails, before = nil, len(s.watches) })
			time.Sleep(soon)
			synctest.Wait()
			if len(s.watches) == before {
				t.Errorf("source %d waits for more than %s", i, soon)
			}
		}
	})
}

// TestOnesThatFailEveryMomentWakeNone: sources whose watches begin and end at once are
// not tried more often for others on their way, nor are others for them.
func TestOnesThatFailEveryMomentWakeNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := &Line{}
		var servers []*server
		for range 3 {
			s := two()
			s.began = func(w *watch.FakeWatcher) { w.Stop() }
			begin(t, s, func(o *Options) { o.Line = line })
			servers = append(servers, s)
			// No two of them try at the same time.
			time.Sleep(130 * time.Millisecond)
		}
		absent := two()
		absent.fails = apierrors.NewNotFound(resource, "")
		begin(t, absent, func(o *Options) { o.Line = line })
		woken := line.again()
		time.Sleep(time.Minute)
		select {
		case <-woken:
			t.Error("one that is not answered was woken")
		default:
		}
		for i, s := range servers {
			s.set(func() {
				if n := len(s.watches); n < 10 || n > 50 {
					t.Errorf("source %d was watched %d times in a minute", i, n)
				}
			})
		}
		absent.set(func() {
			if n := len(absent.lists); n > 40 {
				t.Errorf("what is not there was listed %d times in a minute", n)
			}
		})
	})
}

// TestAWatchThatIsAnsweredWakesTheOthers at once, before it counts as heard.
func TestAWatchThatIsAnsweredWakesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line, answered := &Line{}, make([]time.Time, 2)
		var servers []*server
		for i := range answered {
			s := two()
			begin(t, s, func(o *Options) { o.Line = line })
			s.set(func() {
				s.fails = errors.New("connection refused")
				s.began = func(*watch.FakeWatcher) { answered[i] = time.Now() }
			})
			s.stream().Stop()
			servers = append(servers, s)
			// They do not try at the same time.
			time.Sleep(130 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		for _, s := range servers {
			s.set(func() { s.fails = nil })
		}
		time.Sleep(longestPause)
		synctest.Wait()
		if answered[0].IsZero() || !answered[0].Equal(answered[1]) {
			t.Errorf("two on one way were answered at %s and %s", answered[0], answered[1])
		}
	})
}
