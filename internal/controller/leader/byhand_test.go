package leader

import (
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTwoNeverLead whatever somebody does to the Lease by hand, and whenever, also where
// the one that leads is cut off in that moment and believes to lead for as long as it may.
// Another leads all the same.
func TestTwoNeverLead(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a *api, other string)
		// within is after what time somebody leads again.
		within time.Duration
	}{
		"nothing": {func(*api, string) {}, 5 * time.Second},
		"deleted": {func(a *api, _ string) { a.lease = nil }, 5 * time.Second},
		"deleted twice": {func(a *api, _ string) {
			a.lease, a.lost = nil, releasedSeconds
		}, 6 * time.Second},
		"emptied": {changed(func(spec *coordinationv1.LeaseSpec, _ string) {
			spec.HolderIdentity = new(string)
		}), 5 * time.Second},
		"without a holder": {changed(func(spec *coordinationv1.LeaseSpec, _ string) { spec.HolderIdentity = nil }), 5 * time.Second},
		"emptied, and as short as one that is given back": {changed(func(spec *coordinationv1.LeaseSpec, _ string) {
			spec.HolderIdentity, *spec.LeaseDurationSeconds = nil, releasedSeconds
		}), 5 * time.Second},
		"without anything": {changed(func(spec *coordinationv1.LeaseSpec, _ string) { *spec = coordinationv1.LeaseSpec{} }), 5 * time.Second},
		"shorter":          {changed(func(spec *coordinationv1.LeaseSpec, _ string) { *spec.LeaseDurationSeconds = 1 }), 5 * time.Second},
		"another's":        {changed(func(spec *coordinationv1.LeaseSpec, other string) { spec.HolderIdentity = &other }), 6 * time.Second},
	} {
		for _, cut := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", cut off"}[cut], func(t *testing.T) {
				for after := range 12 {
					synctest.Test(t, func(t *testing.T) {
						a := newAPI()
						all := three(t, a)
						leader, others := leads(t, all)
						watch(t, 10*time.Second+time.Duration(after)*87*time.Millisecond, all)
						leader.cut.Store(cut)
						a.set(func() { c.change(a, others[0].Identity) })
						watch(t, 500*time.Millisecond, all)
						await(t, c.within, all, func() bool { return leading(others) == 1 || !cut && leading(all) == 1 })
						leader.cut.Store(false)
						watch(t, 5*time.Second, all)
						if n := leading(all); n != 1 {
							t.Errorf("%d lead in the end", n)
						}
					})
				}
			})
		}
	}
}

// changed is a change of the Lease by hand.
func changed(change func(spec *coordinationv1.LeaseSpec, other string)) func(*api, string) {
	return func(a *api, other string) {
		lease := a.lease.DeepCopy()
		change(&lease.Spec, other)
		a.put(lease)
	}
}

// TestFollowingIsNotGivenBack where the one that follows ends while an earlier leader may
// trust itself: who takes what was given back leads at once.
func TestFollowingIsNotGivenBack(t *testing.T) {
	for after := range 12 {
		synctest.Test(t, func(t *testing.T) {
			a := newAPI()
			all := three(t, a)
			leader, others := leads(t, all)
			watch(t, 5*time.Second, all)
			leader.cut.Store(true)
			a.set(func() { a.lease = nil })
			var follows string
			await(t, time.Second, all, func() bool {
				a.set(func() {
					if a.lease != nil {
						follows = *a.lease.Spec.HolderIdentity
					}
				})
				return follows != ""
			})
			watch(t, time.Duration(after)*200*time.Millisecond, all)
			for _, r := range others {
				if r.Identity == follows {
					r.Resign()
				}
			}
			await(t, 6*time.Second, all, func() bool { return leading(others) == 1 })
		})
	}
}

// TestLeaseDeletedTellsAgain has the one that led come to lead again, and what follows from
// that be told, where it makes the Lease again that somebody deleted.
func TestLeaseDeletedTellsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		r := a.start(t, "a")
		all := []*replica{r}
		leads(t, all)
		watch(t, 10*time.Second, all)
		a.set(func() { a.lease = nil })
		await(t, time.Second, all, func() bool { return !r.Leads() })
		if took := await(t, 5*time.Second, all, r.Leads); took < trusted || r.began.Load() != 2 {
			t.Errorf("it led again after %s, for the %d. time", took, r.began.Load())
		}
	})
}

// TestRenewalsOfOneSecondDiffer for the elector, which counts from when it saw the last.
func TestRenewalsOfOneSecondDiffer(t *testing.T) {
	lock, lease, _ := newLock(t.Context())
	seen := map[string]bool{}
	for _, after := range []time.Duration{0, 0, time.Microsecond, 400 * time.Millisecond} {
		lease.record.RenewTime = metav1.NewTime(noon.Add(after))
		_, raw, err := lock.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen[string(raw)] = true
	}
	if len(seen) != 3 {
		t.Errorf("of three renewals it saw %v", seen)
	}
}
