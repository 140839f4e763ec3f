package standard

import (
	"slices"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Exclusions are what a rule or an exception excuses of the Pod Security
// Standards. They are immutable. The zero Exclusions excuse nothing.
type Exclusions struct {
	entries   []exclusion
	byControl map[string][]*exclusion
}

// Empty reports whether nothing is excused.
func (x Exclusions) Empty() bool { return len(x.entries) == 0 }

// Excuse takes out of violations, which Check found in p, what is excused. It
// returns what is left, worded for what is left, in the order of Check, and the
// indexes of the entries that excused something, sorted; every entry that covers
// a finding counts. Nothing of violations is changed.
//
// An entry excuses single findings, and only those that it names. So entries add
// up, and it makes no difference whether several Exclusions are applied one after
// the other, in which order, or as one. A finding at a field that is not known
// is not excused.
//
// A restricted check may take the place of a baseline check of another control,
// as that of Volume Types does for HostPath Volumes. The pod violates both, so
// that what was excused of the one control is left as a violation of the other
// until it is excused there as well.
func (x Exclusions) Excuse(p *pod.Pod, violations []Violation) (left []Violation, used []int) {
	if len(x.entries) == 0 || len(violations) == 0 {
		return violations, nil
	}
	e := &excuser{exclusions: x, places: placesOf(p)}
	unchanged := true
	for i := range violations {
		rest, changed := violations[i:i+1], false
		if x.concern(&violations[i]) {
			rest, changed = e.violation(violations[i])
		}
		if unchanged && changed {
			unchanged = false
			left = append(make([]Violation, 0, len(violations)), violations[:i]...)
		}
		if !unchanged {
			for _, v := range rest {
				left = insertInOrder(left, v)
			}
		}
	}
	if unchanged {
		left = violations
	}
	for i, hit := range e.used {
		if hit {
			used = append(used, i)
		}
	}
	return left, used
}

// insertInOrder puts a violation behind those that Check would report before it.
func insertInOrder(list []Violation, v Violation) []Violation {
	at := len(list)
	if v.Level == v1alpha1.LevelBaseline {
		for at > 0 && (list[at-1].Level != v1alpha1.LevelBaseline || list[at-1].ID > v.ID) {
			at--
		}
	}
	return slices.Insert(list, at, v)
}

// excuser applies exclusions to the violations of one pod.
type excuser struct {
	exclusions Exclusions
	places     places
	// used tells for each entry whether it excused something; nil as long as
	// none did.
	used []bool
}

// violation returns what is left of a violation: nothing, the violation, or
// several. changed is false where nothing is excused and it is left as it was.
func (e *excuser) violation(v Violation) (left []Violation, changed bool) {
	under := e.under(&v)
	own, changed := e.excuse(v)
	rest := make([]Violation, len(under))
	for i := range under {
		excused := false
		rest[i], excused = e.excuse(under[i])
		changed = changed || excused
	}
	if !changed {
		return []Violation{v}, false
	}
	if v.step == nil || v.step.under == nil {
		return whereNotEmpty(own), true
	}
	// What the stricter check still reports is not reported twice.
	told := func(f decision.Finding) bool {
		return slices.ContainsFunc(own.Findings, func(o decision.Finding) bool { return o.Path == f.Path })
	}
	var hidden []Violation
	for i := range rest {
		left = append(left, whereNotEmpty(e.reduce(rest[i], func(f decision.Finding) bool { return !told(f) }))...)
		hidden = append(hidden, whereNotEmpty(e.reduce(rest[i], told))...)
	}
	own.under = &hidden
	return append(left, whereNotEmpty(own)...), true
}

// under returns what the pod violates of the checks that the violated one took
// the place of.
func (e *excuser) under(v *Violation) []Violation {
	if v.under != nil {
		return *v.under
	}
	if v.step == nil || v.step.under == nil {
		return nil
	}
	walk := scans.Get().(*scan)
	walk.over(e.places.pod, v.step.under)
	found := walk.violations(v.step.under)
	walk.release()
	return found
}

// concern reports whether an entry is about the control of a violation, or about
// one that its check took the place of.
func (x Exclusions) concern(v *Violation) bool {
	if _, ok := x.byControl[v.Control]; ok || v.step == nil || v.step.under == nil {
		return ok
	}
	return slices.ContainsFunc(v.step.under.steps, func(s step) bool {
		_, ok := x.byControl[s.name]
		return ok
	})
}

// excuse takes the excused findings out of a violation. It may be left without
// any.
func (e *excuser) excuse(v Violation) (left Violation, changed bool) {
	entries := e.exclusions.byControl[v.Control]
	if len(entries) == 0 {
		return v, false
	}
	left = e.reduce(v, func(f decision.Finding) bool {
		at, ok := e.places.find(entries[0].control, f.Path)
		if !ok {
			return true
		}
		kept := true
		for _, entry := range entries {
			if entry.covers(&at, f.Value) {
				e.use(entry.index)
				kept = false
			}
		}
		return kept
	})
	return left, len(left.Findings) != len(v.Findings)
}

func (e *excuser) use(index int) {
	if e.used == nil {
		e.used = make([]bool, len(e.exclusions.entries))
	}
	e.used[index] = true
}

// reduce leaves those findings of a violation that are to be kept, each of which
// is asked about once, and words it for them.
func (e *excuser) reduce(v Violation, keep func(decision.Finding) bool) Violation {
	var kept []decision.Finding
	for i := range v.Findings {
		if keep(v.Findings[i]) {
			kept = append(kept, v.Findings[i])
		}
	}
	if len(kept) == len(v.Findings) {
		return v
	}
	if len(kept) == 0 {
		v.Findings = nil
		return v
	}
	return e.places.reword(v, kept)
}

// whereNotEmpty leaves out a violation of which every finding is excused.
func whereNotEmpty(v Violation) []Violation {
	if len(v.Findings) == 0 {
		return nil
	}
	return []Violation{v}
}
