package pod

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Lookup leads to values in the tree of an object. It is never changed and safe
// for concurrent use.
type Lookup struct{ steps path }

// ParseLookup reads a path in the language of Registration.Paths. The object
// itself, ".", is not a value in it.
func ParseLookup(text string) (Lookup, error) {
	steps, err := parsePath(text)
	if err != nil {
		return Lookup{}, err
	}
	if len(steps) == 0 {
		return Lookup{}, fmt.Errorf("path %q: the object itself is not a field of it", text)
	}
	return Lookup{steps}, nil
}

// String is the path.
func (l Lookup) String() string { return l.steps.String() }

// Each calls visit with every value that the path leads to, and with its place,
// in an order that depends only on the tree. null counts as absent; a step
// that the tree has no room for, such as a field of a string, is an error, and so
// is what visit returns.
func (l Lookup) Each(tree map[string]any, visit func(place string, value any) error) error {
	return follow(tree, l.steps, "", visit)
}

// follow follows the steps that are left from value, which stands at place.
func follow(value any, steps path, place string, visit func(string, any) error) error {
	if value == nil {
		return nil
	}
	if len(steps) == 0 {
		return visit(place, value)
	}
	s, rest := steps[0], steps[1:]
	switch s.kind {
	case field, everyField:
		object, ok := value.(map[string]any)
		if !ok {
			return noRoom(place, "an object")
		}
		if s.kind == field {
			return follow(object[s.name], rest, apijson.Child(place, s.name), visit)
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if err := follow(object[name], rest, apijson.Child(place, name), visit); err != nil {
				return err
			}
		}
	case element, everyElement:
		list, ok := value.([]any)
		if !ok {
			return noRoom(place, "a list")
		}
		for i, item := range list {
			if s.kind == element && s.at != i {
				continue
			}
			if err := follow(item, rest, apijson.Element(place, i), visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func noRoom(place, want string) error {
	return &apijson.Error{Path: place, Detail: "something else was found, " + want + " belongs here"}
}
