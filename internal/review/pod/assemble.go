package pod

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// found is a place at which parts of a pod stand.
type found struct {
	leaf leaf
	path string
	raw  apijson.Raw
}

// assembly is a pod that was put together of parts.
type assembly struct {
	// path is the place that the parts are counted from.
	path string
	// tree is the pod as it would be written.
	tree map[string]any
	// places are where fields of the tree were found, and otherwise where they would
	// stand if they were there.
	places, otherwise places
}

// specFields are the fields of a pod spec, and containerFields those of a container.
var specFields, containerFields = fieldsOf(reflect.TypeFor[corev1.PodSpec]()), fieldsOf(reflect.TypeFor[corev1.Container]())

func fieldsOf(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names[name] = true
	}
	return names
}

// assemble puts together the pods whose parts were found in an object.
func (w *walker) assemble(object apijson.Raw) error {
	if len(w.found) == 0 {
		return nil
	}
	root, err := apijson.Tree(object)
	if err != nil {
		return err
	}
	together := 0
	w.lookedAt = map[*part]bool{}
	for _, f := range w.found {
		at, err := apijson.Tree(f.raw)
		if err != nil {
			return below(f.path, err)
		}
		a := &assembly{path: f.path, tree: map[string]any{}}
		for i := range f.leaf.parts.all {
			if err := w.take(a, &f.leaf.parts.all[i], at, root); err != nil {
				return err
			}
		}
		a.joinContainer()
		if !a.isPod(f.leaf.completed) {
			continue
		}
		size, err := w.read(a, f.leaf.completed)
		if err != nil {
			return err
		}
		if together += size; together > len(object)+maxRepeated {
			w.wrong("", &apijson.Error{Path: f.path, Detail: fmt.Sprintf(
				"is one of %d pods that share parts of the object, and together they are larger than it by more than %d bytes, which is what is read; split the object", len(w.found), maxRepeated)})
			return nil
		}
	}
	return nil
}

// maxRepeated bounds, in bytes of JSON, by how much the pods of an object that are put
// together of parts may be larger than the object itself. What stands once and is in
// each of them, such as the volumes of a workflow, makes an object of a few kilobytes
// to gigabytes of pods otherwise. It leaves room for a thousand pods that have two
// kilobytes in common.
const maxRepeated = 2 << 20

// take takes a part into the pod.
func (w *walker) take(a *assembly, p *part, at, root map[string]any) error {
	from, place := at, a.path
	if p.rooted {
		from, place = root, ""
	}
	// What stands at the root is the same for every pod.
	if !p.rooted || !w.lookedAt[p] {
		w.misnamedOn(from, p.from, place)
		w.lookedAt[p] = true
	}
	if p.isPlain {
		a.otherwise.add(p.to, joinPaths(place, p.plain))
	}
	return follow(from, p.from, place, func(place string, value any) error { return a.put(p.to, place, value) })
}

// misnamedOn notes names on the way of a path that others may take for those that
// stand in it.
func (w *walker) misnamedOn(value any, steps path, place string) {
	if !w.exact || w.fault != nil || len(steps) == 0 {
		return
	}
	s, rest := steps[0], steps[1:]
	switch at := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(at)) {
			switch {
			case s.kind == everyField, s.kind == field && name == s.name:
				w.misnamedOn(at[name], rest, apijson.Child(place, name))
			case s.kind == field && apijson.Fold(name) == apijson.Fold(s.name):
				w.wrong("", apijson.Misnamed(place, name, s.name))
			}
		}
	case []any:
		for i, child := range at {
			if s.kind == everyElement || s.kind == element && s.at == i {
				w.misnamedOn(child, rest, apijson.Element(place, i))
			}
		}
	}
}

// put puts what was found in a place into a field of the pod.
func (a *assembly) put(to, place string, value any) error {
	root, name, below := strings.Cut(to, ".")
	if !below {
		fields, ok := value.(map[string]any)
		if !ok {
			return noRoom(place, "an object")
		}
		for _, child := range slices.Sorted(maps.Keys(fields)) {
			if fields[child] == nil {
				continue
			}
			if err := a.put(to+"."+child, apijson.Child(place, child), fields[child]); err != nil {
				return err
			}
		}
		return nil
	}
	into, _ := a.tree[root].(map[string]any)
	if into == nil {
		into = map[string]any{}
		a.tree[root] = into
	}
	if slices.Contains(containerLists, to) {
		if one, ok := value.(map[string]any); ok {
			list, _ := into[name].([]any)
			a.places.add(to+"["+strconv.Itoa(len(list))+"]", place)
			into[name] = append(list, one)
			return nil
		}
		if _, ok := value.([]any); !ok {
			return noRoom(place, "a container or a list of them")
		}
	}
	switch value := value.(type) {
	case []any:
		list, taken := into[name].([]any)
		if into[name] != nil && !taken {
			return nil
		}
		for i := range value {
			a.places.add(to+"["+strconv.Itoa(len(list)+i)+"]", apijson.Element(place, i))
		}
		into[name] = slices.Concat(list, value)
	case map[string]any:
		if into[name] == nil {
			a.places.add(to, place)
			into[name] = value
			return nil
		}
		have, ok := into[name].(map[string]any)
		if !ok || !addsUp(to) {
			return nil
		}
		merged := map[string]any{}
		for key, own := range value {
			merged[key] = own
			if have[key] == nil {
				a.places.add(apijson.Child(to, key), apijson.Child(place, key))
				a.places.add(to+"["+key+"]", apijson.Child(place, key))
			}
		}
		for key, first := range have {
			merged[key] = first
		}
		into[name] = merged
	default:
		if into[name] == nil {
			a.places.add(to, place)
			into[name] = value
		}
	}
	return nil
}

// addsUp reports whether the keys of a field are joined where several parts have it.
func addsUp(to string) bool {
	return to == "metadata.labels" || to == "metadata.annotations" || to == "spec.nodeSelector"
}

// joinContainer makes a container of the pod of the one whose fields stand apart.
func (a *assembly) joinContainer() {
	const apart = "container"
	one := a.tree[apart]
	delete(a.tree, apart)
	spec, _ := a.tree["spec"].(map[string]any)
	list, _ := spec["containers"].([]any)
	name := "spec.containers[" + strconv.Itoa(len(list)) + "]"
	for _, places := range []*places{&a.places, &a.otherwise} {
		for i := range places.all {
			if rest, ok := cutPlace(places.all[i].field, apart); ok {
				places.all[i].field = name + rest
			}
		}
	}
	if one == nil {
		return
	}
	a.places.add(name, a.path)
	if spec == nil {
		spec = map[string]any{}
		a.tree["spec"] = spec
	}
	spec["containers"] = append(slices.Clip(list), one)
}

// isPod reports whether what was found makes a pod: it has containers or, where
// someone adds to it, anything at all.
func (a *assembly) isPod(completed bool) bool {
	spec, _ := a.tree["spec"].(map[string]any)
	if completed {
		return len(spec) > 0 || a.tree["metadata"] != nil
	}
	return slices.ContainsFunc(containerLists, func(list string) bool {
		items, _ := spec[strings.TrimPrefix(list, "spec.")].([]any)
		return len(items) > 0
	})
}

// read decodes the pod that was put together. It returns its size.
func (w *walker) read(a *assembly, completed bool) (int, error) {
	raw, err := json.Marshal(a.tree)
	if err != nil {
		return 0, &apijson.Error{Path: a.path, Detail: err.Error(), Err: err}
	}
	t := &corev1.PodTemplateSpec{}
	if err := apijson.Unmarshal(raw, t); err != nil {
		var own *apijson.Error
		if !errors.As(err, &own) {
			return 0, below(a.path, err)
		}
		return 0, &apijson.Error{Path: a.fieldPath(own.Path), Detail: own.Detail, Err: own.Err}
	}
	if w.exact {
		if wrong := apijson.Folded(raw, reflect.TypeFor[corev1.PodTemplateSpec]()); wrong != nil {
			w.wrong("", &apijson.Error{Path: a.fieldPath(wrong.Path), Detail: wrong.Detail})
		}
	}
	for i := range t.Spec.Containers {
		named(&t.Spec.Containers[i], "main", i)
	}
	for i := range t.Spec.InitContainers {
		named(&t.Spec.InitContainers[i], "init", i)
	}
	w.pods = append(w.pods, Pod{Path: a.path, Meta: &t.ObjectMeta, Spec: &t.Spec, Completed: completed, assembly: a})
	return len(raw), nil
}

// named names a container that is named where it is made.
func named(c *corev1.Container, name string, i int) {
	if c.Name != "" {
		return
	}
	if c.Name = name; i > 0 {
		c.Name = fmt.Sprintf("%s-%d", name, i)
	}
}
