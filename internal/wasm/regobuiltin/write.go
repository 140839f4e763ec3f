package regobuiltin

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"
)

// write writes a value as modules read it. A value may hold another one many
// times, so that what it takes shows only here.
func write(t *ast.Term) ([]byte, error) {
	w := &writer{}
	if err := w.value(t.Value, 0); err != nil {
		return nil, err
	}
	return w.out, nil
}

type writer struct{ out []byte }

func (w *writer) value(v ast.Value, depth int) error {
	if depth > deepest {
		return fmt.Errorf("it is nested deeper than %d", deepest)
	}
	switch v := v.(type) {
	case ast.Null:
		w.out = append(w.out, "null"...)
	case ast.Boolean:
		if v {
			w.out = append(w.out, "true"...)
		} else {
			w.out = append(w.out, "false"...)
		}
	case ast.Number:
		if !jsontext.Value(v).IsValid() {
			return fmt.Errorf("%.40q is not a number", string(v))
		}
		w.out = append(w.out, v...)
	case ast.String:
		// Bytes that are not UTF-8 become what stands for them.
		w.out, _ = jsontext.AppendQuote(w.out, string(v))
	case *ast.Array:
		return w.list('[', ']', depth, v.Iter)
	case ast.Set:
		if v.Len() == 0 {
			w.out = append(w.out, "set()"...)
			break
		}
		return w.list('{', '}', depth, v.Iter)
	case ast.Object:
		return w.object(v, depth)
	default:
		return fmt.Errorf("it holds a %T, which is not a value", v)
	}
	return w.check()
}

func (w *writer) check() error {
	if len(w.out) > MaxResult {
		return fmt.Errorf("it has more than %d bytes", MaxResult)
	}
	return nil
}

func (w *writer) list(begin, end byte, depth int, each func(func(*ast.Term) error) error) error {
	w.out = append(w.out, begin)
	first := true
	err := each(func(t *ast.Term) error {
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		return w.value(t.Value, depth+1)
	})
	w.out = append(w.out, end)
	return err
}

func (w *writer) object(o ast.Object, depth int) error {
	w.out = append(w.out, '{')
	first := true
	err := o.Iter(func(name, value *ast.Term) error {
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		if err := w.value(name.Value, depth+1); err != nil {
			return err
		}
		w.out = append(w.out, ':')
		return w.value(value.Value, depth+1)
	})
	w.out = append(w.out, '}')
	return err
}
