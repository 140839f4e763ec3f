package standard

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/pod-security-admission/api"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// Idle is an exclusion that excuses nothing that some standards demand.
type Idle struct {
	// Index of the entry in its list.
	Index int
	// Field is set where the control is demanded and the field of it that the entry
	// narrows to is not.
	Field bool
	// Detail says so, and what is right.
	Detail string
}

// Idle lists the entries that excuse nothing which one of the standards demands.
func (x Exclusions) Idle(demanded ...*Standard) []Idle {
	var idle []Idle
	for i := range x.entries {
		e := &x.entries[i]
		restricts := func(f *restrictedField) bool {
			return slices.ContainsFunc(demanded, func(s *Standard) bool { return s.plan.restricts(e.control, f) })
		}
		if restricts(e.field) {
			continue
		}
		found := Idle{Index: e.index, Field: e.field != nil && restricts(nil)}
		what, write := e.control.name, "a control that it has"
		if found.Field {
			what, write = e.control.name+" has no "+e.field.name, e.control.fieldsIn(demanded)
		}
		found.Detail = fmt.Sprintf("excuses nothing: at %s %s; take it out, or name %s", inWords(demanded), e.where(what, found.Field), write)
		idle = append(idle, found)
	}
	return idle
}

// where says that something is not demanded, and where it is.
func (e *exclusion) where(what string, field bool) string {
	text := what
	if !field {
		text = "there is no control " + what
	}
	f := e.field
	if !field {
		f = nil
	}
	var at []string
	for _, level := range []v1alpha1.StandardLevel{v1alpha1.LevelBaseline, v1alpha1.LevelRestricted} {
		if versions := versionsThatRestrict(level, e.control, f); versions != "" {
			at = append(at, string(level)+versions)
			break
		}
	}
	if len(at) > 0 {
		text += ", which belongs to " + strings.Join(at, " and ")
	}
	return text
}

// versionsThatRestrict says in which versions a level restricts a field of a
// control: "" where in none, else " from v1.22 on" or the like.
func versionsThatRestrict(level v1alpha1.StandardLevel, control *excusable, f *restrictedField) string {
	t := standards()
	first, last := -1, -1
	for minor := 0; ; minor++ {
		s, ok := t.standards[tableKey{level, fmt.Sprintf("v1.%d", minor), v1alpha1.ProbeHostsKEP4940}]
		if !ok {
			if last == minor-1 {
				last = -1
			}
			break
		}
		if s.plan.restricts(control, f) {
			if first < 0 {
				first = minor
			}
			last = minor
		}
	}
	switch {
	case first < 0:
		return ""
	case last >= 0:
		return fmt.Sprintf(" up to v1.%d", last)
	case first > 0:
		return fmt.Sprintf(" from v1.%d on", first)
	}
	return " at every version"
}

// restricts reports whether one of the steps is of the control and looks at the
// field; nil is any field of it.
func (p *plan) restricts(control *excusable, f *restrictedField) bool {
	for i := range p.steps {
		s := &p.steps[i]
		if s.name == control.name && (f == nil || f.of == nil || s.control == nil || f.of(s.control)) {
			return true
		}
		if s.under != nil && s.under.restricts(control, f) {
			return true
		}
	}
	return false
}

// fieldsIn are the fields of the control that the standards restrict, in words.
func (c *excusable) fieldsIn(demanded []*Standard) string {
	var names []string
	for _, list := range [][]restrictedField{c.pod, c.container} {
		for i := range list {
			f := &list[i]
			if slices.ContainsFunc(demanded, func(s *Standard) bool { return s.plan.restricts(c, f) }) {
				names = append(names, f.name)
			}
		}
	}
	return strings.Join(names, " or ")
}

func inWords(demanded []*Standard) string {
	names := make([]string, 0, len(demanded))
	for _, s := range demanded {
		version := s.version
		if version == api.VersionLatest {
			version = "the latest version"
		}
		if name := string(s.level) + " in " + version; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}
