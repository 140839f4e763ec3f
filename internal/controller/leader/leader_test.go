package leader

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
)

// api is an API server that holds the Lease, and can be away.
type api struct {
	mu      sync.Mutex
	lease   *coordinationv1.Lease
	away    bool
	version int
	calls   map[string]int
	// lost is how often a Lease is deleted right after it was made.
	lost int
}

// of is a client of it that can be cut off.
func (a *api) of(cut *atomic.Bool) *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("*", "leases", func(action ktesting.Action) (bool, runtime.Object, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.away || cut.Load() {
			return true, nil, errors.New("connection refused")
		}
		a.calls[action.GetVerb()]++
		switch action := action.(type) {
		case ktesting.UpdateActionImpl:
			written := action.Object.(*coordinationv1.Lease).DeepCopy()
			if a.lease == nil || written.ResourceVersion != a.lease.ResourceVersion {
				return true, nil, apierrors.NewConflict(coordinationv1.Resource("leases"), LeaseName, errors.New("it was changed"))
			}
			a.put(written)
		case ktesting.CreateActionImpl:
			if a.lease != nil {
				return true, nil, apierrors.NewAlreadyExists(coordinationv1.Resource("leases"), LeaseName)
			}
			made := action.Object.(*coordinationv1.Lease).DeepCopy()
			a.put(made)
			if a.lost > 0 {
				a.lost--
				a.lease = nil
				return true, made, nil
			}
		}
		if a.lease == nil {
			return true, nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), LeaseName)
		}
		return true, a.lease.DeepCopy(), nil
	})
	return client
}

func (a *api) put(lease *coordinationv1.Lease) {
	a.version++
	lease.ResourceVersion = strings.Repeat("x", a.version)
	a.lease = lease
}

func (a *api) set(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

// replica is one of an installation.
type replica struct {
	*Election
	cut, working atomic.Bool
	// takes is how long work takes to end.
	takes atomic.Int64
	// began is how often it came to work.
	began atomic.Int32
	end   context.CancelFunc
}

// kill ends a replica without a word to the API server.
func (r *replica) kill() {
	r.cut.Store(true)
	r.end()
}

// start runs a replica until the test ends.
func (a *api) start(t *testing.T, name string) *replica {
	r := &replica{}
	ctx, end := context.WithCancel(t.Context())
	r.end = end
	r.Election = New(Options{
		Client: a.of(&r.cut), Namespace: "sallyport-system", Identity: name, Clock: clock.RealClock{}, Log: logr.Discard(),
		Able: func(context.Context) bool { return true },
		Work: func(ctx context.Context) {
			if r.working.Swap(true) {
				t.Errorf("%s works twice at once", name)
			}
			r.began.Add(1)
			<-ctx.Done()
			time.Sleep(time.Millisecond)
			if r.Leads() {
				t.Errorf("%s leads though its work is to end", name)
			}
			time.Sleep(time.Duration(r.takes.Load()))
			r.working.Store(false)
		},
	})
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		end()
		running.Wait()
	})
	return r
}

// await returns after what time a condition holds, which is looked at each millisecond
// with that two never lead.
func await(t *testing.T, within time.Duration, replicas []*replica, condition func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !condition() {
		if time.Since(began) > within {
			t.Fatalf("not within %s", within)
		}
		watch(t, time.Millisecond, replicas)
	}
	return time.Since(began)
}

// watch lets time pass, and looks whether two lead.
func watch(t *testing.T, d time.Duration, replicas []*replica) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if leading(replicas) > 1 {
			t.Fatal("two replicas lead")
		}
	}
}

func leading(replicas []*replica) (n int) {
	for _, r := range replicas {
		if r.Leads() {
			n++
		}
	}
	return n
}

// leads sorts replicas into the one that leads and the others.
func leads(t *testing.T, replicas []*replica) (leader *replica, others []*replica) {
	t.Helper()
	await(t, 10*time.Second, replicas, func() bool { return leading(replicas) == 1 })
	for _, r := range replicas {
		if r.Leads() {
			leader = r
		} else {
			others = append(others, r)
		}
	}
	return leader, others
}

func newAPI() *api { return &api{calls: map[string]int{}} }

func three(t *testing.T, a *api) []*replica {
	return []*replica{a.start(t, "a"), a.start(t, "b"), a.start(t, "c")}
}

// TestAnotherLeads within 5 s of when the one that led was killed, and within one of when
// it resigned, whenever that happens.
func TestAnotherLeads(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(*replica)
		within time.Duration
	}{
		"killed":   {(*replica).kill, 5 * time.Second},
		"resigned": {func(r *replica) { r.Resign() }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var longest time.Duration
			for after := range 20 {
				synctest.Test(t, func(t *testing.T) {
					all := three(t, newAPI())
					leader, others := leads(t, all)
					watch(t, 10*time.Second+time.Duration(after)*41*time.Millisecond, all)
					c.end(leader)
					longest = max(longest, await(t, c.within, all, func() bool { return leading(others) == 1 }))
					watch(t, 10*time.Second, all)
					if leader.Leads() || leader.began.Load() != 1 {
						t.Error("the one that ended leads, or led again")
					}
				})
			}
			t.Logf("another led after %s at most", longest)
		})
	}
}

// TestAPIServerAway has nobody lead soon after an API server is away, and one of them soon
// after it is back, without an end of any. Nobody ends where only the one that leads is
// cut off: another leads, and never both.
func TestAPIServerAway(t *testing.T) {
	for _, away := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			a := newAPI()
			all := three(t, a)
			leader, _ := leads(t, all)
			a.set(func() { a.away = true })
			watch(t, away, all)
			if n := leading(all); (away > trusted) == (n == 1) {
				t.Errorf("%d lead after %s without an API server", n, away)
			}
			a.set(func() { a.away = false })
			if took := await(t, 5*time.Second, all, func() bool { return leading(all) == 1 }); took > 2*time.Second {
				t.Errorf("led again %s after it was back", took)
			}
			if away < trusted && leader.began.Load() != 1 {
				t.Error("it was lost to a second")
			}
			leader, others := leads(t, all)
			leader.cut.Store(true)
			await(t, 5*time.Second, all, func() bool { return leading(others) == 1 })
			leader.cut.Store(false)
			watch(t, 10*time.Second, all)
			if leading(others) != 1 {
				t.Error("it took the lead back")
			}
		})
	}
}

// TestTermsDoNotOverlap, though work takes longer to end than the lead is away.
func TestTermsDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		r := a.start(t, "a")
		all := []*replica{r}
		r.takes.Store(int64(5 * time.Second))
		leads(t, all)
		a.set(func() { a.away = true })
		await(t, 5*time.Second, all, func() bool { return !r.Leads() })
		a.set(func() { a.away = false })
		if took := await(t, 10*time.Second, all, r.Leads); took < 4*time.Second || r.began.Load() != 2 {
			t.Errorf("it led again after %s, for the %d. time", took, r.began.Load())
		}
	})
}

// TestLeaseTakenAway by somebody's hand: who led stops at once, and another leads.
func TestLeaseTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		all := three(t, a)
		leader, _ := leads(t, all)
		taken := metav1.NowMicro()
		a.set(func() {
			lease, somebody := a.lease.DeepCopy(), "somebody"
			lease.Spec.HolderIdentity, lease.Spec.RenewTime = &somebody, &taken
			a.put(lease)
		})
		if took := await(t, time.Second, all, func() bool { return !leader.Leads() }); took > retryPeriod+10*time.Millisecond {
			t.Errorf("it led for %s more", took)
		}
		await(t, 5*time.Second, all, func() bool { return leading(all) == 1 })
	})
}

// TestRequests counts what an election costs the API server.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		all := three(t, a)
		leads(t, all)
		watch(t, time.Second, all)
		a.set(func() { clear(a.calls) })
		watch(t, 100*time.Second, all)
		a.set(func() {
			if a.calls["update"] > 251 || a.calls["get"] > 2*180 {
				t.Errorf("%v requests in 100 s of three replicas", a.calls)
			}
			t.Logf("%v requests in 100 s of three replicas", a.calls)
		})
	})
}

// TestOnlyWhoIsAbleIsACandidate, so that nobody holds the Lease who cannot do the work.
func TestOnlyWhoIsAbleIsACandidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		ctx, end := context.WithCancel(t.Context())
		e := New(Options{Client: a.of(&atomic.Bool{}), Identity: "a", Clock: clock.RealClock{}, Log: logr.Discard(), Able: func(context.Context) bool { return false }})
		ended := make(chan error)
		go func() { ended <- e.Run(ctx) }()
		time.Sleep(time.Minute)
		end()
		if err := <-ended; err != nil || len(a.calls) != 0 || e.Ready() != nil {
			t.Errorf("%v, %v", err, a.calls)
		}
	})
}

// counting is a log that counts the errors in it.
func counting(errs *atomic.Int32) logr.Logger {
	return funcr.NewJSON(func(line string) {
		if strings.Contains(line, `"error"`) {
			errs.Add(1)
		}
	}, funcr.Options{})
}

// TestElectionsThatCannotBeHeld are told, and waited for.
func TestElectionsThatCannotBeHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs atomic.Int32
		e := New(Options{Client: fake.NewClientset(), Clock: clock.RealClock{}, Log: counting(&errs)})
		began := time.Now()
		e.elect(t.Context())
		if took := time.Since(began); errs.Load() != 1 || took != renewDeadline {
			t.Errorf("%d errors, and waited for %s", errs.Load(), took)
		}
	})
}

// TestOnLead tells of each time that this replica comes to lead, when it does, and once of
// what keeps it from that.
func TestOnLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		var told, errs atomic.Int32
		e := New(Options{Client: a.of(&atomic.Bool{}), Identity: "a", Clock: clock.RealClock{}, Log: counting(&errs), Able: func(context.Context) bool { return true }, Work: func(ctx context.Context) { <-ctx.Done() }})
		e.OnLead(func() {
			if !e.Leads() {
				t.Error("told before it leads")
			}
			told.Add(1)
		})
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- e.Run(ctx) }()
		time.Sleep(time.Second)
		a.set(func() { a.away = true })
		time.Sleep(10 * time.Second)
		a.set(func() { a.away = false })
		time.Sleep(2 * time.Second)
		if told.Load() != 2 || errs.Load() != 1 {
			t.Errorf("told %d times, want 2; %d errors, want 1", told.Load(), errs.Load())
		}
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
