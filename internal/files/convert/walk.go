package convert

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// converter collects what one object comes to.
type converter struct {
	errors  apijson.Errors
	dropped []Dropped
	// warns is set where what fails is let in with a warning, and not silently.
	warns bool
	// rules is how many rules a policy has.
	rules int
}

// place is where a value stands: its path, and the key of such a field in the
// tables, in which the elements of a list are all alike.
type place struct{ path, shape string }

func (p place) child(name string) place {
	return place{apijson.Child(p.path, name), p.shape + "." + name}
}

func (p place) element(i int) place {
	return place{apijson.Element(p.path, i), p.shape + "[]"}
}

// reader reads a value that is not null and returns it as ours; nil leaves the
// field out.
type reader func(c *converter, value any, at place) any

// keep takes the value as it is. Whether it is of the right kind is found out
// when the whole is decoded as ours, which has the same field at the same path.
func keep(_ *converter, value any, _ place) any { return value }

// object reads the fields of an object. A field without a reader has to stand in
// one of the tables; null counts as not given.
func (c *converter) object(value any, at place, readers map[string]reader) map[string]any {
	source, ok := value.(map[string]any)
	if !ok {
		c.wrongKind(value, at, "an object")
		return nil
	}
	into := make(map[string]any, len(source))
	for _, name := range slices.Sorted(maps.Keys(source)) {
		inner, field := source[name], at.child(name)
		read, isRead := readers[name]
		why, isDropped := droppedFields[field.shape]
		instead, isLacking := lackingFields[field.shape]
		switch {
		case !isRead && !isDropped && !isLacking:
			c.fail(field, "%s", unknown(name, at, readers))
		case inner == nil:
		case isRead:
			if kept := read(c, inner, field); kept != nil {
				into[name] = kept
			}
		case isDropped:
			c.drop(field, why)
		case !isEmptyList(inner):
			c.fail(field, "is not read: %s", instead)
		}
	}
	return into
}

// list reads each element of a list.
func (c *converter) list(value any, at place, read reader) any {
	source, ok := value.([]any)
	if !ok {
		c.wrongKind(value, at, "a list")
		return nil
	}
	into := make([]any, 0, len(source))
	for i, inner := range source {
		into = append(into, read(c, inner, at.element(i)))
	}
	return into
}

// listOf makes a reader of lists.
func listOf(read reader) reader {
	return func(c *converter, value any, at place) any { return c.list(value, at, read) }
}

// objectOf makes a reader of objects.
func objectOf(readers map[string]reader) reader {
	return func(c *converter, value any, at place) any { return c.object(value, at, readers) }
}

func (c *converter) fail(at place, format string, args ...any) {
	c.errors = append(c.errors, &apijson.Error{Path: at.path, Detail: fmt.Sprintf(format, args...)})
}

func (c *converter) drop(at place, why string) {
	c.dropped = append(c.dropped, Dropped{Path: at.path, Why: why})
}

// differ says that a field is written in a form that refuses more.
func (c *converter) differ(path, how string) {
	c.dropped = append(c.dropped, Dropped{Path: path, Why: how, Differs: true})
}

// wrongKind says that a value is another than belongs there.
func (c *converter) wrongKind(value any, at place, wanted string) {
	found := kindOf(value)
	if text, ok := value.(string); ok {
		found = strconv.Quote(text)
	}
	c.fail(at, "found %s, %s belongs here", found, wanted)
}

// boolean reads true or false.
func (c *converter) boolean(value any, at place) (yes, ok bool) {
	yes, ok = value.(bool)
	if !ok {
		c.wrongKind(value, at, "true or false")
	}
	return yes, ok
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

func isEmptyList(value any) bool {
	list, ok := value.([]any)
	return ok && len(list) == 0
}

// isNothing reports whether a value, however it is nested, says nothing.
func isNothing(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, inner := range v {
			if !isNothing(inner) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(inner any) bool { return !isNothing(inner) })
	}
	return false
}

// unknown says that an object has no field of that name, and which one comes
// close.
func unknown(name string, at place, readers map[string]reader) string {
	names := map[string]bool{}
	for known := range readers {
		names[known] = true
	}
	for _, shapes := range []map[string]string{droppedFields, lackingFields} {
		for shape := range shapes {
			if inner, ok := cutShape(shape, at.shape); ok {
				names[inner] = true
			}
		}
	}
	if near := apijson.Nearest(name, names); near != "" {
		return fmt.Sprintf("unknown field, did you mean %q?", near)
	}
	return "unknown field"
}
