package breakglass

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// window is what a test notes down by itself of a session: since when access was
// approved by enough people, and until when at most.
type window struct {
	from, until time.Time
	closed      bool
}

// TestNoAccessOutsideOfAWindow takes random steps by random people, lets time pass,
// changes and removes the escalation, and looks each time whether access is given
// where it should not be.
func TestNoAccessOutsideOfAWindow(t *testing.T) {
	people := []Person{{Name: "carol"}, {Name: "dave"}, {Name: "erin"}, {Name: "mallory"}, {Name: "zoe", Groups: []string{"devs"}}}
	wanted := append([]v1alpha1.SessionState{"", "Nonsense"}, states...)
	everActive := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		required := int32(1 + r.IntN(2))
		valid := 1 + r.IntN(90)
		change := func(spec *v1alpha1.BreakglassEscalationSpec) {
			spec.RequiredApprovals, spec.MaxValidFor = &required, (time.Duration(valid) * time.Minute).String()
		}
		e := escalationOf(t, change)
		now := noon
		s := sessionOf(t, func(s *v1alpha1.BreakglassSession) {
			if r.IntN(3) == 0 {
				s.Spec.ScheduledStartTime = at(noon.Add(time.Duration(r.IntN(90)) * time.Minute))
			}
		})
		var w window
		approvedBy := map[string]bool{}
		for range 40 {
			switch r.IntN(4) {
			case 0:
				now = now.Add(time.Duration(r.IntN(1200)) * time.Second)
			case 1:
				status, _ := Tick(s, e, time.Time{}, now)
				s = s.with(status)
			case 2:
				if r.IntN(8) == 0 {
					if e = nil; r.IntN(2) == 0 {
						valid = 1 + r.IntN(90)
						e = escalationOf(t, change)
					}
				}
			default:
				step := Step{To: wanted[r.IntN(len(wanted))], By: people[r.IntN(len(people))]}
				status, err := Apply(s, e, step, now)
				if err != nil {
					break
				}
				s = s.with(status)
				approver := step.By.Name == "dave" || step.By.Name == "erin"
				switch step.To {
				case v1alpha1.SessionApproved:
					if !approver {
						t.Fatalf("seed %d: %s approved", seed, step.By.Name)
					}
					if approvedBy[step.By.Name] = true; len(approvedBy) >= int(required) && w.from.IsZero() {
						w.from = now
						if at := s.object.Spec.ScheduledStartTime; at != nil && at.After(now) {
							w.from = at.Time
						}
						w.until = w.from.Add(time.Duration(valid) * time.Minute)
					}
				case v1alpha1.SessionWithdrawn, v1alpha1.SessionRevoked, v1alpha1.SessionRejected:
					w.closed = true
				}
			}
			active, _ := s.Active(e, now, now)
			if active {
				everActive++
			}
			if active && (w.from.IsZero() || w.closed || now.Before(w.from) || !now.Before(w.until) || e == nil) {
				t.Fatalf("seed %d: active at %s outside of %+v: %+v", seed, now, w, s.object.Status)
			}
		}
	}
	if everActive < 1000 {
		t.Errorf("access was given %d times, which tries little", everActive)
	}
}
