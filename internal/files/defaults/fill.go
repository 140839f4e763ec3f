package defaults

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// filler fills one object in.
type filler struct {
	table *Table
	kind  string
}

// place is where a struct stands; nil for the object itself.
type place struct {
	above *place
	name  string
}

func (p *place) String() string {
	if p == nil {
		return ""
	}
	if above := p.above.String(); above != "" {
		return above + "." + p.name
	}
	return p.name
}

// fill fills in a struct: first what stands in it, since conditions are about what
// was written, then its own fields, and last what follows from these.
func (f *filler) fill(v, around reflect.Value, at *place) {
	p := f.table.plan(v.Type())
	for _, in := range p.below {
		f.below(v.Field(in.index), v, at, in.name)
	}
	var apply []*planned
	for i := range p.rows {
		r := &p.rows[i]
		if isUnset(v.Field(r.index)) && f.holds(r, v, around, at) &&
			!slices.ContainsFunc(apply, func(earlier *planned) bool { return earlier.index == r.index }) {
			apply = append(apply, r)
		}
	}
	for _, r := range apply {
		r.set(v.Field(r.index))
	}
	if p.compute != nil {
		p.compute(v.Addr().Interface())
	}
}

// below goes on to the structs in a field.
func (f *filler) below(v, around reflect.Value, at *place, name string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			f.below(v.Elem(), around, at, name)
		}
	case reflect.Slice:
		for i := range v.Len() {
			f.below(v.Index(i), reflect.Value{}, at, name+"[*]")
		}
	case reflect.Map:
		if compute := f.table.computed(v.Type()); compute != nil {
			compute(v.Addr().Interface())
		}
	case reflect.Struct:
		if name != "" {
			at = &place{at, name}
		}
		f.fill(v, around, at)
	}
}

func (f *filler) holds(r *planned, v, around reflect.Value, at *place) bool {
	for i := range r.when {
		c, of := &r.when[i], v
		field := c.index
		if c.outside {
			if !around.IsValid() {
				return false
			}
			of, field = around, fieldIndex(around.Type(), c.name)
			if field < 0 {
				return false
			}
		}
		text := textOf(of.Field(field))
		if len(c.In) > 0 && !slices.Contains(c.In, text) || slices.Contains(c.Not, text) {
			return false
		}
	}
	return len(r.only) == 0 || slices.Contains(r.only, strings.TrimSpace(f.kind+" "+at.String()))
}

// textOf is what conditions know a value by: nothing for one that is not there,
// its text for a string or a boolean, "set" for all others.
func textOf(v reflect.Value) string {
	if isUnset(v) {
		return ""
	}
	pointer := v.Kind() == reflect.Pointer
	if pointer {
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	default:
		return "set"
	}
}

func isUnset(v reflect.Value) bool {
	if kind := v.Kind(); kind == reflect.Slice || kind == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero()
}

// plan is what is done about a type.
type plan struct {
	rows    []planned
	below   []step
	compute func(any)
}

type step struct {
	index int
	name  string
}

type planned struct {
	index int
	value json.RawMessage
	when  []plannedCondition
	only  []string
}

type plannedCondition struct {
	condition
	index   int
	name    string
	outside bool
}

func (r *planned) set(v reflect.Value) {
	if err := json.Unmarshal(r.value, v.Addr().Interface()); err != nil {
		// A test sets every value of the table.
		panic(err)
	}
}

func (t *Table) plan(of reflect.Type) *plan {
	if p, ok := t.types.Load(of); ok {
		return p.(*plan)
	}
	p := &plan{compute: t.computed(of)}
	for i := range of.NumField() {
		name, ok := jsonName(of.Field(i))
		if ok && !unrounded[of] && t.reaches(of.Field(i).Type, nil) {
			p.below = append(p.below, step{i, name})
		}
	}
	for _, r := range t.rows[typeName(of)] {
		index := fieldIndex(of, r.Field)
		if index < 0 {
			continue // a field of a newer API than this program has
		}
		made := planned{index: index, value: r.Value, only: r.Only}
		for _, c := range r.When {
			name, outside := strings.CutPrefix(c.Field, "../")
			pc := plannedCondition{condition: c, name: name, outside: outside}
			if !outside {
				pc.index = fieldIndex(of, name)
			}
			made.when = append(made.when, pc)
		}
		p.rows = append(p.rows, made)
	}
	t.types.Store(of, p)
	return p
}

// reaches reports whether anything in a type can be filled in. above are the
// structs that lead to it.
func (t *Table) reaches(of reflect.Type, above []reflect.Type) bool {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		return t.reaches(of.Elem(), above)
	case reflect.Map:
		return t.computed(of) != nil
	case reflect.Struct:
	default:
		return false
	}
	if slices.Contains(above, of) {
		return false
	}
	if t.computed(of) != nil || len(t.rows[typeName(of)]) > 0 {
		return true
	}
	above = append(slices.Clone(above), of)
	for i := range of.NumField() {
		if _, ok := jsonName(of.Field(i)); ok && t.reaches(of.Field(i).Type, above) {
			return true
		}
	}
	return false
}

func typeName(t reflect.Type) string {
	return strings.TrimPrefix(t.PkgPath(), "k8s.io/api/") + "." + t.Name()
}

// jsonName is the name of a field, empty for one whose fields stand beside the
// others; ok is false for a field that JSON does not have.
func jsonName(f reflect.StructField) (name string, ok bool) {
	name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	return name, f.IsExported() && name != "-"
}

func fieldIndex(t reflect.Type, name string) int {
	for i := range t.NumField() {
		if got, ok := jsonName(t.Field(i)); ok && got == name {
			return i
		}
	}
	return -1
}
