package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/door/doortest"
)

// TestWhatIsCountedIsRecorded plays what was recorded as fast as it came, so that what
// belongs together is one attempt. The audit log names each policy that is counted as one
// that would have refused something of it.
func TestWhatIsCountedIsRecorded(t *testing.T) {
	clock := &dayClock{}
	clock.at.Store(midnight.UnixNano())
	servers := map[string]*dayServer{
		"enforcing": newDayServer(t, clock, false, asWritten),
		"observing": newDayServer(t, clock, true, asWritten),
		"auditing":  newDayServer(t, clock, false, acting("audit")),
	}
	type scenario struct {
		name     string
		from, to int
	}
	var scenarios []scenario
	counted := map[string][]map[string]int{}
	played := 0
	for scene := range slices.Values(scenes()) {
		for i := range scene {
			clock.at.Add(int64(20 * time.Millisecond))
			path := "/authorize"
			if scene[i].Admission {
				path = "/validate"
			}
			for _, s := range servers {
				s.play(t, &dayRequest{path: path, body: string(scene[i].Body)})
			}
			played++
		}
		clock.at.Add(int64(time.Minute))
		scenarios = append(scenarios, scenario{scene[0].Scenario, played - len(scene), played})
		for name, s := range servers {
			counted[name] = append(counted[name], s.counts(t, "sallyport_would_deny_total"))
		}
	}
	for name, s := range servers {
		s.read(t)
		found := 0
		before := map[string]int{}
		for i, c := range scenarios {
			var recorded []string
			for _, a := range s.answers[c.from:c.to] {
				recorded = append(recorded, would(a.event)...)
			}
			for labels, n := range counted[name][i] {
				if n == before[labels] {
					continue
				}
				found++
				_, kind, _ := strings.Cut(labels, `kind="`)
				kind, policy, _ := strings.Cut(kind, `",policy="`)
				if policy = kind + "/" + strings.TrimSuffix(policy, `"`); !slices.Contains(recorded, policy) {
					t.Errorf("%s, %s: %s is counted, and the audit log has only %v", name, c.name, policy, recorded)
				}
			}
			before = counted[name][i]
		}
		if found == 0 {
			t.Errorf("%s: nothing was counted", name)
		}
	}
}

// scenes are the recorded requests by scenario.
func scenes() (found [][]doortest.Review) {
	for _, review := range doortest.Recorded() {
		if n := len(found); n > 0 && found[n-1][0].Scenario == review.Scenario {
			found[n-1] = append(found[n-1], review)
			continue
		}
		found = append(found, []doortest.Review{review})
	}
	return found
}
