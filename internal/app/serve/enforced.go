package serve

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/controller/enforced"
	"github.com/sallyport-io/sallyport/internal/controller/replicas"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/observe/record"
)

// surveying is what knows whether policies are enforced, where this replica leads.
type surveying struct {
	parts    *enforced.Parts
	replicas *replicas.Replicas
	store    *policy.Store
	leads    func() bool
}

// state is what is enforced, for the metrics; false where this replica does not lead.
func (s *surveying) state() (record.EnforcedState, bool) {
	if s.parts == nil || !s.leads() {
		return record.EnforcedState{}, false
	}
	state := record.EnforcedState{Policies: map[record.Enforcement]int{}}
	state.Ready, state.Behind = s.replicas.State()
	for _, said := range s.parts.Survey(s.store.Set()) {
		state.Policies[record.Enforcement{Kind: said.Policy.Kind, Status: string(said.Condition.Status), Reason: said.Condition.Reason}]++
	}
	return state, true
}

// mostUnenforced is how many policies are named that are not enforced.
const mostUnenforced = 100

// warnings name the policies that are not enforced, a sentence each.
func (s *surveying) warnings() []string {
	if s.parts == nil || !s.leads() {
		return nil
	}
	var warnings []string
	for _, said := range s.parts.Survey(s.store.Set()) {
		if said.Condition.Status == metav1.ConditionTrue {
			continue
		}
		if len(warnings) == mostUnenforced {
			return append(warnings, "... and others are not enforced")
		}
		what := "is not enforced"
		if said.Condition.Status == metav1.ConditionUnknown {
			what = "is not known to be enforced"
		}
		warnings = append(warnings, fmt.Sprintf("%s %s: %s: %s", said.Policy, what, said.Condition.Reason, said.Condition.Message))
	}
	return warnings
}
