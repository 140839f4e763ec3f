package defaults

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// node is a struct at a place in the objects of a kind.
type node struct {
	kind kind
	// steps are the fields on the way from the root.
	steps  []int
	typ    reflect.Type
	place  string
	parent *node
	// alone is set where no list stands between the parent and the node.
	alone bool
}

// nodesOf walks every struct that an object of a kind can hold.
func nodesOf(k kind) []*node {
	var nodes []*node
	var walk func(n *node, above []reflect.Type)
	walk = func(n *node, above []reflect.Type) {
		nodes = append(nodes, n)
		for _, f := range fieldsOf(n.typ) {
			t, elements := below(f.typ)
			if isLeaf(t) || slices.Contains(above, t) {
				continue
			}
			child := &node{
				kind: k, steps: append(slices.Clone(n.steps), f.index), typ: t,
				place: n.place, parent: n, alone: !elements,
			}
			if f.name != "" {
				if child.place != "" {
					child.place += "."
				}
				child.place += f.name
				if elements {
					child.place += "[*]"
				}
			}
			walk(child, append(slices.Clone(above), t))
		}
	}
	walk(&node{kind: k, typ: k.typ}, []reflect.Type{k.typ})
	return nodes
}

// at finds the node in an object, and makes what is not there on the way to it.
func (n *node) at(object reflect.Value) reflect.Value {
	v := object
	for _, step := range n.steps {
		v = inside(v.Field(step))
	}
	return v
}

func inside(v reflect.Value) reflect.Value {
	for {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		case reflect.Slice:
			if v.Len() == 0 {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			}
			v = v.Index(0)
		default:
			return v
		}
	}
}

// probe is one object that was given its defaults: the node, and nothing but what
// set puts into it or its parent.
func (n *node) probe(set func(node, parent reflect.Value)) (before, after reflect.Value) {
	object := reflect.New(n.kind.typ)
	at := n.at(object.Elem())
	if set != nil {
		parent := reflect.Value{}
		if n.parent != nil {
			parent = n.parent.at(object.Elem())
		}
		set(at, parent)
	}
	before = reflect.New(n.typ).Elem()
	before.Set(at)
	copied := object.Interface().(runtime.Object).DeepCopyObject()
	legacyscheme.Scheme.Default(copied)
	return before, n.at(reflect.ValueOf(copied).Elem())
}

// candidate is a value that a field is given to see what hangs on it.
type candidate struct {
	text  string
	value reflect.Value
}

// What the text of a value is, by which conditions know it: nothing for one that
// is not there, its own text for a string or a boolean, and this for all others.
const (
	isSet = "set"
	// other stands for every string that is not listed.
	other = "another"
)

func candidates(t reflect.Type, listed []string) []candidate {
	switch t.Kind() {
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.Struct {
			return []candidate{{isSet, reflect.New(t.Elem())}}
		}
		var found []candidate
		for _, c := range candidates(t.Elem(), listed) {
			found = append(found, candidate{c.text, pointerTo(c.value)})
		}
		if t.Elem().Kind() == reflect.Bool {
			found = append(found, candidate{"false", pointerTo(reflect.Zero(t.Elem()))})
		}
		return found
	case reflect.String:
		var found []candidate
		for _, text := range append(slices.Clone(listed), other) {
			found = append(found, candidate{text, reflect.ValueOf(text).Convert(t)})
		}
		return found
	case reflect.Bool:
		return []candidate{{"true", reflect.ValueOf(true).Convert(t)}}
	case reflect.Int32, reflect.Int64:
		return []candidate{{isSet, reflect.ValueOf(7).Convert(t)}}
	case reflect.Slice:
		return []candidate{{isSet, reflect.MakeSlice(t, 1, 1)}}
	case reflect.Map:
		m := reflect.MakeMap(t)
		m.SetMapIndex(reflect.ValueOf("k").Convert(t.Key()), reflect.Zero(t.Elem()))
		return []candidate{{isSet, m}}
	default:
		return nil
	}
}

func pointerTo(v reflect.Value) reflect.Value {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p
}

// outcome is what a field was filled with, as JSON; empty for nothing.
type outcome string

// outcomes of every field of the node. A field that had a value and has another
// one afterwards is in changed.
func outcomes(n *node, before, after reflect.Value) (filled map[string]outcome, changed []string, err error) {
	filled = map[string]outcome{}
	for _, f := range fieldsOf(n.typ) {
		was, is := before.Field(f.index), after.Field(f.index)
		t, _ := below(f.typ)
		switch {
		case f.name == "" || f.name == "metadata" || f.typ.Kind() == reflect.Struct && !isLeaf(t):
		case was.IsZero() && !is.IsZero():
			text, err := json.Marshal(is.Interface())
			if err != nil {
				return nil, nil, fmt.Errorf("%s.%s: %w", nameOf(n.typ), f.name, err)
			}
			if isEmpty(is) && is.Kind() != reflect.Pointer {
				continue // an empty list or map, which is not written
			}
			filled[f.name] = outcome(text)
		case !isLeaf(t):
		case !reflect.DeepEqual(was.Interface(), is.Interface()):
			changed = append(changed, f.name)
		}
	}
	return filled, changed, nil
}

func isEmpty(v reflect.Value) bool {
	return (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}
