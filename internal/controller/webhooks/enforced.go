package webhooks

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/policy"
)

// listed is how many gaps a condition names.
const listed = 5

// AsksAll reports whether a condition Enforced says that API servers ask about all that
// a policy is about of what they have.
func AsksAll(enforced metav1.Condition) bool {
	return enforced.Status == metav1.ConditionTrue || enforced.Reason == reasonKindUnknown
}

const reasonKindUnknown = "KindUnknown"

// enforced says whether all that a policy is about is asked about.
func (n *needs) enforced(ref policy.PolicyRef, has *catalogue, hooks []hook, follows bool) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionTrue, Reason: "Asked", Message: "the API server asks about all that the policy is about"}
	var open []gap
	cells := 0
	for _, k := range slices.Concat(classes(false), classes(true)) {
		cells += len(n.of[ref][k])
		open = append(open, gaps(k, n.of[ref][k], has, hooks)...)
	}
	missing := slices.Compact(slices.Sorted(slices.Values(n.nothing[ref])))
	switch {
	case len(open) > 0:
		condition.Status, condition.Reason = metav1.ConditionFalse, "NotAsked"
		words := make([]string, 0, listed)
		for i, g := range open {
			if i == listed {
				words = append(words, fmt.Sprintf("and %d more", len(open)-listed))
				break
			}
			words = append(words, g.String())
		}
		condition.Message = strings.Join(words, "; ")
		if !follows {
			condition.Message += fmt.Sprintf(". Add them to a webhook, or install the configuration whose name ends with %q, which follows policies", rulesSuffix)
		}
	case len(missing) > 0:
		condition.Status, condition.Reason = metav1.ConditionFalse, reasonKindUnknown
		condition.Message = fmt.Sprintf("the API server has no %s", strings.Join(missing, ", "))
		if len(has.unread) > 0 {
			condition.Reason, condition.Message = "KindsUnread", condition.Message+"; what these groups have cannot be read: "+strings.Join(has.unreadGroups(), ", ")
		}
		if cells > 0 {
			condition.Message += "; all else that the policy is about is asked about"
		}
	}
	return condition
}
