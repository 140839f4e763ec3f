package webhooks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// listed is how many gaps a condition names.
const listed = 5

// AsksAll reports whether a condition Enforced says that API servers ask about all that
// a policy is about of what they have.
func AsksAll(enforced metav1.Condition) bool {
	switch enforced.Reason {
	case reasonKindUnknown, reasonNeverAsked, reasonServedElsewhere, reasonLetIn:
		return true
	}
	return enforced.Status == metav1.ConditionTrue
}

// Reasons for which webhooks can ask about no more than they do.
const (
	reasonKindUnknown     = "KindUnknown"
	reasonNeverAsked      = "NeverAsked"
	reasonServedElsewhere = "ServedElsewhere"
	reasonLetIn           = "LetIn"
)

// enforced says whether all that a policy is about is asked about; false where it is
// not known yet.
func (c *Controller) enforced(n *needs, ref stored.Ref, has *catalogue, hooks []hook, follows bool) (metav1.Condition, bool) {
	if access, ok := n.access[ref]; ok {
		return c.accessEnforced(&access, has, hooks, n.left.own)
	}
	condition := metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionTrue, Reason: "Asked", Message: "the API server asks about all that the policy is about"}
	if n.identities[ref] {
		open, err := shippedGaps(forIdentities, has, hooks, n.left.own)
		if err != nil {
			return unknown(err), true
		}
		if len(open) > 0 {
			condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "NotAsked", words(open)+asShipped
		}
		return condition, true
	}
	var open []gap
	var but []string
	cells := 0
	for _, k := range slices.SortedFunc(maps.Keys(n.of[ref]), class.compare) {
		cells += len(n.of[ref][k])
		q := question{class: k, namespace: ref.Namespace}
		open = append(open, gaps(q, n.of[ref][k], has, hooks)...)
		but = append(but, namespacesLeftOut(q, n.of[ref][k], has, hooks)...)
	}
	missing := slices.Compact(slices.Sorted(slices.Values(n.nothing[ref])))
	switch {
	case len(open) > 0:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "NotAsked", words(open)
		if !follows {
			condition.Message += fmt.Sprintf(". Add them to a webhook, or install the configuration whose name ends with %q, which follows policies", RulesSuffix)
		}
	case len(n.unasked[ref]) > 0:
		condition.Status, condition.Reason = metav1.ConditionFalse, reasonNeverAsked
		condition.Message = "the API server asks no webhook about " + some(n.unasked[ref])
	case len(n.elsewhere[ref]) > 0:
		condition.Status, condition.Reason = metav1.ConditionUnknown, reasonServedElsewhere
		condition.Message = "API servers of their own serve " + some(n.elsewhere[ref]) + "; whether these ask webhooks is not known"
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
	if condition.Status == metav1.ConditionTrue && n.refuses[ref] {
		condition.Status, condition.Reason = metav1.ConditionFalse, reasonLetIn
		condition.Message += "; while Sallyport cannot be asked it is let in, and the policy says Fail (--webhook-failure-policy Ignore)"
	}
	if beside := n.beside[ref]; condition.Status == metav1.ConditionTrue && len(beside) > 0 {
		condition.Message += ", except for what API servers of their own serve: " + some(beside)
	}
	if condition.Status == metav1.ConditionTrue && n.widely(ref) {
		condition.Message += ", except for what only a policy that names it is asked about: Events, Leases, definitions of kinds, API services, and kinds of Sallyport"
	}
	but = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(but))), func(name string) bool { return name == n.left.own })
	if condition.Status == metav1.ConditionTrue && len(but) > 0 {
		condition.Message += ", but in the namespaces that webhooks leave out by their names: " + some(but)
	}
	return condition, true
}

// widely reports whether a policy is about something by rules that name no kind.
func (n *needs) widely(ref stored.Ref) bool {
	for k, cells := range n.of[ref] {
		if k.wide && len(cells) > 0 {
			return true
		}
	}
	return false
}

// namespacesLeftOut are the namespaces in which some cell is not asked about, as each
// webhook that asks about it leaves them out by their names.
func namespacesLeftOut(q question, cells []cell, c *catalogue, hooks []hook) []string {
	var all []string
	for _, one := range cells {
		s := c.find(one)
		if s == nil || !s.inNamespaces() || q.namespace != "" {
			continue
		}
		var names []string
		first := true
		for i := range hooks {
			h := &hooks[i]
			if !h.asks(q.class, one, s) || h.lacks(q) != "" {
				continue
			}
			left, _ := namesLeftOut(h.namespaces)
			if first {
				names, first = left, false
				continue
			}
			names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(left, name) })
		}
		all = append(all, names...)
	}
	return all
}

// words lists gaps, the first of them.
func words(open []gap) string {
	said := make([]string, len(open))
	for i, g := range open {
		said[i] = g.String()
	}
	return some(said)
}

// some lists the first of what is said.
func some(said []string) string {
	if len(said) > listed {
		said = append(slices.Clone(said[:listed]), fmt.Sprintf("and %d more", len(said)-listed))
	}
	return strings.Join(said, "; ")
}

func unknown(err error) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionUnknown, Reason: "NotKnown", Message: "whether the API server asks about what the policy is about is not known: " + err.Error()}
}

// asShipped ends what is said of webhooks that are not as they are shipped.
const asShipped = ". config/wiring has webhooks that ask about it"
