package contexthost

import (
	"context"
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
)

// Conditions are those that a policy should have because of what it reads.
// existing are the ones that it has, which other replicas may have written;
// generation is that of the policy, and since when it is in force here. What is not
// returned stays as it is.
func (h *Host) Conditions(policy *contextgate.Policy, existing []metav1.Condition, generation int64, since time.Time) []metav1.Condition {
	var conditions []metav1.Condition
	if c := h.deniedCondition(policy, apimeta.FindStatusCondition(existing, v1alpha1.ConditionContextDenied), generation, since); c != nil {
		conditions = append(conditions, *c)
	}
	if c := h.readyCondition(policy, apimeta.FindStatusCondition(existing, v1alpha1.ConditionContextReady), generation); c != nil {
		conditions = append(conditions, *c)
	}
	return conditions
}

// maxListed is how many resources a condition names.
const maxListed = 8

func (h *Host) deniedCondition(policy *contextgate.Policy, existing *metav1.Condition, generation int64, since time.Time) *metav1.Condition {
	c := &metav1.Condition{Type: v1alpha1.ConditionContextDenied, Status: metav1.ConditionFalse, Reason: "NothingDenied",
		Message: "nothing was refused to this version of the policy", ObservedGeneration: generation}
	var last Denials
	var others []string
	for _, d := range h.ledger.all(policy.String()) {
		if d.Last.Before(since) {
			continue
		}
		if d.Last.After(last.Last) {
			last = d
		}
		others = append(others, d.Resource)
	}
	if last.Count == 0 {
		if existing != nil && existing.ObservedGeneration == generation {
			// Another replica may have refused something.
			return nil
		}
		return c
	}
	c.Status, c.Reason = metav1.ConditionTrue, "NotGranted"
	c.Message = fmt.Sprintf("%s: the policy may not %s %s: %s", last.Last.UTC().Truncate(statusEvery).Format(time.RFC3339), last.Verb, last.Resource, last.Why)
	if len(others) > 1 {
		more := ""
		if len(others) > maxListed {
			more = fmt.Sprintf(" and %d more", len(others)-maxListed)
			others = others[:maxListed]
		}
		c.Message += "; refused so far: " + strings.Join(others, ", ") + more
	}
	return c
}

func (h *Host) readyCondition(policy *contextgate.Policy, existing *metav1.Condition, generation int64) *metav1.Condition {
	c := &metav1.Condition{Type: v1alpha1.ConditionContextReady, Status: metav1.ConditionTrue, Reason: "Readable",
		Message: "everything that was granted can be read", ObservedGeneration: generation}
	if h.Objects == nil || !policy.Grants() {
		return nil
	}
	h.keeper.mu.Lock()
	troubles := h.keeper.troubles[policy.String()]
	h.keeper.mu.Unlock()
	syncing := false
	for _, s := range h.Objects.Status() {
		if !policy.Covers(s.Resource) {
			continue
		}
		if s.Err != nil {
			troubles = append(troubles[:len(troubles):len(troubles)], fmt.Sprintf("%s cannot be read: %v", s.Resource, s.Err))
		}
		syncing = syncing || !s.Synced
	}
	switch {
	case len(troubles) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "NotReadable", strings.Join(troubles, "; ")
	case syncing && existing != nil:
		return nil
	case syncing:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "Syncing", "what was granted is being read for the first time"
	}
	return c
}

// Missing says what of the declared resources a policy was not granted, a line
// each.
func (h *Host) Missing(ctx context.Context, policy *contextgate.Policy, declared []contextgate.Grant) []string {
	return h.Gate.Missing(ctx, policy, declared)
}
