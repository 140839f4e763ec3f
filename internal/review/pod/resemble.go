package pod

import (
	"maps"
	"slices"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Resemblance is what looks like a pod in an object of a kind that is not known to
// make any.
type Resemblance struct {
	// Seen is the path of a container.
	Seen string
	// Place says how such pods would be registered; the kind is left out.
	Place Registration
}

// maxResembled bounds how much of an object is searched.
const maxResembled = 10000

// Resembles finds the first thing in an object that looks like a pod: a list of
// containers with an image, or a single one; nil if there is none.
func Resembles(tree map[string]any) *Resemblance {
	s := resembling{left: maxResembled}
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		switch name {
		case "apiVersion", "kind", "metadata", "status":
			continue
		}
		s.search(tree[name], apijson.Child("", name), path{{kind: field, name: name}}, 0)
	}
	return s.found
}

type resembling struct {
	found *Resemblance
	left  int
}

func (s *resembling) search(value any, at string, way path, depth int) {
	s.left--
	if s.found != nil || s.left < 0 || depth > maxPathSteps/2 {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		if s.found = resembles(value, at, way); s.found != nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			s.search(value[name], apijson.Child(at, name), append(slices.Clip(way), step{kind: field, name: name}), depth+1)
		}
	case []any:
		for i, item := range value {
			s.search(item, apijson.Element(at, i), append(slices.Clip(way), step{kind: everyElement}), depth+1)
		}
	}
}

// resembles reports what a map looks like that stands at a place.
func resembles(value map[string]any, at string, way path) *Resemblance {
	for _, list := range [...]string{"containers", "initContainers"} {
		items, _ := value[list].([]any)
		for i, item := range items {
			if !hasImage(item) {
				continue
			}
			found := &Resemblance{Seen: apijson.Element(apijson.Child(at, list), i)}
			if last := way[len(way)-1]; last.kind == field && last.name == "spec" && len(way) > 1 {
				found.Place = Registration{Paths: []string{way[:len(way)-1].String()}}
			} else {
				found.Place = Registration{Paths: []string{way.String()}, PodSpecOnly: true}
			}
			return found
		}
	}
	if hasImage(value["container"]) {
		return &Resemblance{Seen: apijson.Child(at, "container"), Place: Registration{
			Paths: []string{way.String()}, Parts: []Part{{From: "container", To: "spec.containers"}},
		}}
	}
	return nil
}

func hasImage(container any) bool {
	fields, _ := container.(map[string]any)
	image, ok := fields["image"].(string)
	return ok && image != ""
}
