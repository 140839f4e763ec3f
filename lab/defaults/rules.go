package defaults

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// condition asks for the text of a field beside the one that is filled in, as it
// was before any default; "../" leads to the struct around.
type condition struct {
	Field string   `json:"field"`
	In    []string `json:"in,omitempty"`
	Not   []string `json:"not,omitempty"`
}

// rule says that a field which is empty is filled in.
type rule struct {
	Field string          `json:"field"`
	Value json.RawMessage `json:"value"`
	When  []condition     `json:"when,omitempty"`
}

// dependence is what became of one field for each value of another.
type dependence struct {
	on    string
	texts []string
	by    map[string]outcome
}

// rulesAt finds the rules of one node by trying each of its fields.
func rulesAt(n *node, listed enums) ([]rule, error) {
	base, _, err := result(n, nil)
	if err != nil {
		return nil, err
	}
	deps := map[string][]dependence{}
	try := func(on string, c candidate, set func(node, parent reflect.Value)) error {
		filled, changed, err := result(n, set)
		if err != nil {
			return err
		}
		for _, name := range changed {
			if !isComputed(n.typ, name) && !slices.Contains(corrected, nameOf(n.typ)+"."+name) {
				return fmt.Errorf("%s %s: %s.%s is changed where %s is %q, which no rule can say", n.kind.text(), n.place, nameOf(n.typ), name, on, c.text)
			}
		}
		for _, f := range fieldsOf(n.typ) {
			if f.name == "" || f.name == on {
				continue
			}
			deps[f.name] = note(deps[f.name], on, c.text, base[f.name], filled[f.name])
		}
		return nil
	}
	for _, g := range fieldsOf(n.typ) {
		if g.name == "" {
			continue
		}
		for _, c := range candidates(g.typ, listed.of(n.typ, g.name)) {
			if err := try(g.name, c, func(node, _ reflect.Value) { node.Field(g.index).Set(c.value) }); err != nil {
				return nil, err
			}
		}
	}
	if n.parent != nil && n.alone {
		for _, g := range fieldsOf(n.parent.typ) {
			if kind := g.typ.Kind(); g.name == "" || kind != reflect.String && kind != reflect.Bool {
				continue
			}
			for _, c := range candidates(g.typ, listed.of(n.parent.typ, g.name)) {
				if err := try("../"+g.name, c, func(_, parent reflect.Value) { parent.Field(g.index).Set(c.value) }); err != nil {
					return nil, err
				}
			}
		}
	}
	var rules []rule
	for _, f := range fieldsOf(n.typ) {
		if f.name == "" || isComputed(n.typ, f.name) {
			continue
		}
		rules = append(rules, rulesOf(f.name, base[f.name], deps[f.name])...)
	}
	return rules, nil
}

func result(n *node, set func(node, parent reflect.Value)) (map[string]outcome, []string, error) {
	before, after := n.probe(set)
	return outcomes(n, before, after)
}

func note(deps []dependence, on, text string, base, got outcome) []dependence {
	i := slices.IndexFunc(deps, func(d dependence) bool { return d.on == on })
	if i < 0 {
		i, deps = len(deps), append(deps, dependence{on, []string{""}, map[string]outcome{"": base}})
	}
	deps[i].texts, deps[i].by[text] = append(deps[i].texts, text), got
	return deps
}

// rulesOf words what was seen of one field.
func rulesOf(name string, base outcome, all []dependence) []rule {
	deps := slices.DeleteFunc(slices.Clone(all), func(d dependence) bool {
		return !slices.ContainsFunc(d.texts, func(text string) bool { return d.by[text] != base })
	})
	var rules []rule
	var mine []condition
	for _, d := range deps {
		var seen []outcome
		for _, text := range d.texts {
			if got := d.by[text]; got != "" && got != base && !slices.Contains(seen, got) {
				seen = append(seen, got)
				rules = append(rules, rule{name, json.RawMessage(got), []condition{d.where(got)}})
			}
		}
		mine = append(mine, d.where(base))
	}
	if base != "" {
		rules = append(rules, rule{name, json.RawMessage(base), mine})
	}
	return rules
}

// where says for which values the outcome is the given one.
func (d *dependence) where(want outcome) condition {
	var in, not []string
	for _, text := range d.texts {
		if d.by[text] == want {
			in = append(in, text)
		} else {
			not = append(not, text)
		}
	}
	if slices.Contains(in, other) {
		return condition{Field: d.on, Not: not}
	}
	return condition{Field: d.on, In: in}
}
