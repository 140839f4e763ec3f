package replicas

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
)

// named is how many replicas a condition names.
const named = 3

// InForce says whether every replica that answers has a version of an object in force;
// false where that cannot be said yet. Those who asked are told once it can, by Touch.
func (r *Replicas) InForce(ref stored.Ref, v policy.Version) (metav1.Condition, bool) {
	now := r.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	w, asked := r.waiting[ref]
	if !asked || w.version != v {
		w = waiting{version: v, since: now}
	}
	waited := now.Sub(w.since)
	b, seen := r.born[v.UID]
	switch {
	case !r.listed || !seen || b.generation != v.Generation:
		r.waiting[ref] = w
		if r.failed == nil || waited < lasts {
			return metav1.Condition{}, false
		}
		return condition(metav1.ConditionUnknown, "NotKnown", fmt.Sprintf("what other replicas have in force is not known: the Leases in %s cannot be read: %v", r.Namespace, r.failed)), true
	}
	behind, cannot, differ := r.compare(ref, v, b, now)
	switch {
	case len(behind)+len(cannot)+len(differ) == 0:
		delete(r.waiting, ref)
		return condition(metav1.ConditionTrue, "InForce", "every replica has it in force"), true
	case len(differ) > 0 && len(behind)+len(cannot) == 0:
		delete(r.waiting, ref)
		return condition(metav1.ConditionFalse, "ReplicaDiffers", fmt.Sprintf("%s other objects of kind %s in force than the replica that leads: objects that are gone, or were changed since", list(differ, "has", "have"), ref.Kind)), true
	}
	r.waiting[ref] = w
	if waited < lasts {
		return metav1.Condition{}, false
	}
	if len(cannot) > 0 {
		return condition(metav1.ConditionFalse, "ReplicaCannot", "not on every replica: "+strings.Join(first(cannot), "; ")), true
	}
	return condition(metav1.ConditionFalse, "ReplicaBehind", list(behind, "has", "have")+" not said that this version is in force there"), true
}

// compare says of which replicas that answer a version of an object is not known to be
// in force, with when each was heard of where that is long ago, which of them cannot do
// what it says, and which have other objects of the kind.
func (r *Replicas) compare(ref stored.Ref, v policy.Version, b born, now time.Time) (behind, cannot, differ []string) {
	for _, o := range r.others {
		observes := o.observes && exception.CanBeExcused(ref.Kind)
		// One that is not ready refuses what it is asked, unless it observes.
		if !o.ready && !observes || o.gone(now, 1) {
			continue
		}
		own, has := r.own.content[ref.Kind], o.content[ref.Kind]
		trouble := slices.IndexFunc(o.troubles, func(t trouble) bool { return t.about(ref, v) })
		switch {
		case observes:
			cannot = append(cannot, o.identity+": it only observes (--mode observe)")
		case trouble >= 0:
			cannot = append(cannot, o.identity+": "+o.troubles[trouble].Why)
		case own.Digest == has.Digest:
		case has.Version == "" || !reaches(has.Version, b.resource):
			name := o.identity
			if silent := now.Sub(o.heard); silent > 2*renewEvery {
				name += fmt.Sprintf(" (not heard of since %s)", o.heard.UTC().Format(time.RFC3339))
			}
			behind = append(behind, name)
		case r.differs(ref.Kind, o, now):
			differ = append(differ, o.identity)
		}
	}
	slices.Sort(behind)
	slices.Sort(cannot)
	slices.Sort(differ)
	return behind, cannot, differ
}

func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: status, Reason: reason, Message: message}
}

// list words names with a verb that goes with their number.
func list(names []string, one, many string) string {
	if len(names) == 1 {
		return "the replica " + names[0] + " " + one
	}
	return fmt.Sprintf("%d replicas (%s) %s", len(names), strings.Join(first(names), ", "), many)
}

func first(names []string) []string {
	if len(names) <= named {
		return names
	}
	return append(slices.Clone(names[:named]), fmt.Sprintf("and %d more", len(names)-named))
}

// Forget drops an object that is gone.
func (r *Replicas) Forget(ref stored.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, ref)
	delete(r.cannot, ref)
}

// State is how many replicas answer, this one among them, and of these how many may be
// behind it.
func (r *Replicas) State() (ready, behind int) {
	now := r.Clock.Now()
	answers := r.Options.Ready()
	r.mu.Lock()
	defer r.mu.Unlock()
	if answers {
		ready = 1
	}
	for _, o := range r.others {
		if !o.ready || o.gone(now, 1) {
			continue
		}
		ready++
		for kind, own := range r.own.content {
			if has := o.content[kind]; has.Digest != own.Digest && (has.Version == "" || !reaches(has.Version, own.Version) || now.Sub(o.changed) >= differs) {
				behind++
				break
			}
		}
	}
	return ready, behind
}
