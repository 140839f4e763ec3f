package webhooks

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// leftOut is what webhooks that follow policies never ask about: what has to run so
// that Sallyport can start, and what it is repaired by.
type leftOut struct {
	// own is the namespace of Sallyport, and namespaces are those that every shipped
	// webhook with a list leaves out, own among them, of those that change objects and
	// of the others.
	own        string
	namespaces map[bool][]string
	// always are the match conditions of each of them, and pods those that stand where
	// pods are asked about.
	always, pods []admissionregistrationv1.MatchCondition
}

// leavesOut works out what the shipped webhooks, as they are, leave out: those that
// judge, and those that change. own is the namespace that Sallyport runs in; empty
// where it runs in none, and they say.
func leavesOut(judging, changing []hook, own string) (*leftOut, error) {
	common := commonlyLeftOut(judging)
	switch {
	case own != "":
	case len(common) == 1:
		own = common[0]
	default:
		own = wiring.Namespace
	}
	l := &leftOut{own: own, namespaces: map[bool][]string{}}
	for mutates, names := range map[bool][]string{false: common, true: commonlyLeftOut(changing)} {
		if !slices.Contains(names, own) {
			names = append(names, own)
		}
		slices.Sort(names)
		l.namespaces[mutates] = names
	}
	start, err := l.ofPods(judging)
	if err != nil {
		return nil, err
	}
	l.always = wiring.LeftOut(l.own, start)
	return l, nil
}

// commonlyLeftOut are the namespaces that every webhook with a list leaves out.
func commonlyLeftOut(shipped []hook) (common []string) {
	first := true
	for i := range shipped {
		names, ok := namesLeftOut(shipped[i].namespaces)
		if !ok || len(names) == 0 {
			continue
		}
		if first {
			common, first = names, false
			continue
		}
		common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(names, name) })
	}
	return common
}

// ofPods takes over the conditions about pods as the administrator has them, and
// returns the namespaces that have to run before Sallyport.
func (l *leftOut) ofPods(shipped []hook) (start []string, err error) {
	if l.pods, err = wiring.PodsLeftOut(); err != nil {
		return nil, fmt.Errorf("the webhooks that are shipped cannot be read, which is a fault of Sallyport; please report it: %w", err)
	}
	start = []string{metav1.NamespaceSystem}
	for i := range l.pods {
		for _, h := range shipped {
			at := slices.IndexFunc(h.conditions, func(c admissionregistrationv1.MatchCondition) bool { return c.Name == l.pods[i].Name })
			if at < 0 {
				continue
			}
			namespaces, is, err := wiring.LeavesPodsOut(h.conditions[at])
			if err != nil {
				return nil, err
			}
			if !is {
				continue
			}
			if i == 0 {
				start = namespaces
			}
			l.pods[i] = h.conditions[at]
			break
		}
	}
	return start, nil
}

// selector leaves the namespaces out.
func (l *leftOut) selector(mutates bool) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: l.namespaces[mutates]}}}
}

// conditions are the match conditions of a webhook of a class that asks about cells.
func (l *leftOut) conditions(k class, cells map[cell]bool, has *catalogue) []admissionregistrationv1.MatchCondition {
	conditions := slices.Clone(l.always)
	if cells[cell{"", "pods", request.Create}] {
		conditions = append(conditions, l.pods...)
	}
	return append(conditions, k.conditions(has.hide(cells))...)
}

// namesLeftOut are the namespaces that a selector leaves out, where it leaves them out
// by their names and no other.
func namesLeftOut(s *metav1.LabelSelector) (names []string, by bool) {
	if selectsAll(s) {
		return nil, true
	}
	if len(s.MatchLabels) > 0 {
		return nil, false
	}
	for _, e := range s.MatchExpressions {
		if e.Key != corev1.LabelMetadataName || e.Operator != metav1.LabelSelectorOpNotIn {
			return nil, false
		}
		names = append(names, e.Values...)
	}
	slices.Sort(names)
	return slices.Compact(names), true
}

// knows marks the match conditions of webhooks as they are that are ones of ours.
func (l *leftOut) knows(live []hook) {
	for i := range live {
		if k := classOf(live[i].name); k != nil {
			live[i].known = slices.Concat(l.always, l.pods, k.conditions(false))
		}
	}
}
