package pod

import (
	"strings"
	"sync"
)

// placed is a field relative to the pod, and its path from the root of the object.
type placed struct{ field, path string }

// places are where fields of a pod stand that was put together of parts. Either way
// is looked up in the same time however many there are, since every finding is.
type places struct {
	all []placed

	once            sync.Once
	byField, byPath map[string]string
}

func (p *places) add(field, path string) { p.all = append(p.all, placed{field, path}) }

// index is made once all are known. Of two places of a field the first counts, of two
// fields of a place the longer.
func (p *places) index() {
	p.byField, p.byPath = make(map[string]string, len(p.all)), make(map[string]string, len(p.all))
	for _, one := range p.all {
		if _, taken := p.byField[one.field]; !taken {
			p.byField[one.field] = one.path
		}
		if len(one.field) > len(p.byPath[one.path]) {
			p.byPath[one.path] = one.field
		}
	}
}

// pathOf is where a field stands, by the longest field that leads to it.
func (p *places) pathOf(field string) (string, bool) {
	p.once.Do(p.index)
	return longest(p.byField, field)
}

// fieldOf is the inverse of pathOf.
func (p *places) fieldOf(path string) (string, bool) {
	p.once.Do(p.index)
	return longest(p.byPath, path)
}

// longest puts in place of the longest start of a path that is known what it is
// known for.
func longest(known map[string]string, path string) (string, bool) {
	for end := len(path); end > 0; end = strings.LastIndexAny(path[:end], ".[") {
		if start, ok := known[path[:end]]; ok {
			return start + path[end:], true
		}
	}
	return "", false
}

// below lists the places with paths that are counted from above place.
func (p *places) below(place string) []placed {
	moved := make([]placed, len(p.all))
	for i, one := range p.all {
		moved[i] = placed{one.field, joinPaths(place, one.path)}
	}
	return moved
}

// fieldPath is where a field of the pod stands, or would.
func (a *assembly) fieldPath(field string) string {
	for _, places := range []*places{&a.places, &a.otherwise} {
		if path, ok := places.pathOf(field); ok {
			return path
		}
	}
	return joinPaths(a.path, strings.TrimPrefix(field, "spec."))
}

// relative is the inverse of fieldPath.
func (a *assembly) relative(path string) (string, bool) {
	for _, places := range []*places{&a.places, &a.otherwise} {
		if field, ok := places.fieldOf(path); ok {
			return field, true
		}
	}
	rest, ok := cutPlace(path, a.path)
	if !ok || rest == "" {
		return "", false
	}
	return "spec" + rest, true
}

// below is the assembly with paths that are counted from above place.
func (a *assembly) below(place string) *assembly {
	return &assembly{
		path: joinPaths(place, a.path), tree: a.tree,
		places: places{all: a.places.below(place)}, otherwise: places{all: a.otherwise.below(place)},
	}
}
