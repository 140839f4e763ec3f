package record

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestEnforcedCollector has series where this replica leads, and none where it does not.
func TestEnforcedCollector(t *testing.T) {
	leads := true
	c := EnforcedCollector(func() (EnforcedState, bool) {
		return EnforcedState{Policies: map[Enforcement]int{{"DenyPolicy", "True", "Asked"}: 3, {"Policy", "False", "NotAsked"}: 1}, Ready: 3, Behind: 1}, leads
	})
	want := `
# HELP sallyport_policies_enforced Policies by kind, and by status and reason of their condition Enforced, as the replica that leads says it.
# TYPE sallyport_policies_enforced gauge
sallyport_policies_enforced{kind="DenyPolicy",reason="Asked",status="True"} 3
sallyport_policies_enforced{kind="Policy",reason="NotAsked",status="False"} 1
# HELP sallyport_replicas Replicas that answer, by whether they have in force what the one that leads has: current or behind.
# TYPE sallyport_replicas gauge
sallyport_replicas{state="behind"} 1
sallyport_replicas{state="current"} 2
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	leads = false
	if n := testutil.CollectAndCount(c); n != 0 {
		t.Errorf("%d series of a replica that does not know", n)
	}
}
