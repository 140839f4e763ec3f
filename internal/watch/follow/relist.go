package follow

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// holding is which version a cache holds of each object. The objects themselves are the
// cache's, and are not read here once it has them.
type holding struct {
	versions map[named]version
	// kind is what the objects are, so that one that was deleted meanwhile can be named.
	kind schema.GroupVersionKind
	of   reflect.Type
}

type named struct{ namespace, name string }

type version struct {
	uid      types.UID
	resource string
}

func newHolding() *holding { return &holding{versions: map[named]version{}} }

// read reads which version of which object an item is, which no one else has yet.
func (h *holding) read(item runtime.Object) (named, version, error) {
	object, err := meta.Accessor(item)
	if err != nil {
		return named{}, version{}, err
	}
	if h.of == nil {
		h.kind, h.of = item.GetObjectKind().GroupVersionKind(), reflect.TypeOf(item).Elem()
	}
	return named{object.GetNamespace(), object.GetName()}, version{object.GetUID(), object.GetResourceVersion()}, nil
}

// put notes an object, which no one else has yet.
func (h *holding) put(item runtime.Object) (named, version, error) {
	n, v, err := h.read(item)
	if err == nil {
		h.versions[n] = v
	}
	return n, v, err
}

// putAll notes what stands in a page of a list.
func (h *holding) putAll(list runtime.Object) error {
	return meta.EachListItem(list, func(item runtime.Object) error {
		_, _, err := h.put(item)
		return err
	})
}

// stub is an object of which no more is known than its name. It was deleted by the time
// of resource.
func (h *holding) stub(n named, uid types.UID, resource string) runtime.Object {
	item := reflect.New(h.of).Interface().(runtime.Object)
	item.GetObjectKind().SetGroupVersionKind(h.kind)
	// What is in the cache has metadata.
	object, _ := meta.Accessor(item)
	object.SetNamespace(n.namespace)
	object.SetName(n.name)
	object.SetUID(uid)
	object.SetResourceVersion(resource)
	return item
}

// keep notes what a page of a list has, of which the caller fills its cache.
func (s *source) keep(list runtime.Object, first bool) error {
	if first {
		s.holds = newHolding()
	}
	return s.holds.putAll(list)
}

// hold reads what the cache will hold after an event, and returns what notes it.
func (w *stream) hold(event watch.Event) (hold func()) {
	if w.holds == nil || event.Type == watch.Bookmark {
		return func() {}
	}
	n, v, err := w.holds.read(event.Object)
	switch {
	case err != nil:
		return func() {}
	case event.Type == watch.Deleted:
		return func() { delete(w.holds.versions, n) }
	}
	return func() { w.holds.versions[n] = v }
}

// relist lists everything again and hands on what is different by now, as a watch would
// have. It reports whether the watch can go on. Whoever watches would wait before he
// lists, for longer each time, and put every object in place of the one that he has.
func (w *stream) relist() bool {
	found, changed, resource, err := w.difference()
	if err != nil {
		if w.ctx.Err() == nil {
			w.source.Log.Error(err, "what is watched cannot be listed again")
		}
		return false
	}
	for _, event := range changed {
		if !w.send(event) {
			return false
		}
	}
	for n, v := range w.holds.versions {
		if _, there := found.versions[n]; !there && !w.send(watch.Event{Type: watch.Deleted, Object: w.holds.stub(n, v.uid, resource)}) {
			return false
		}
	}
	w.holds, w.options.ResourceVersion = found, resource
	return true
}

// difference lists everything, and returns what there is, and what of that the cache
// does not hold.
func (w *stream) difference() (found *holding, changed []watch.Event, resource string, err error) {
	options, again := metav1.ListOptions{}, w.source.retry()
	for {
		if options.Continue == "" {
			found, changed = newHolding(), nil
		}
		list, err := w.source.page(w.ctx, options)
		if err != nil && expired(err) && w.ctx.Err() == nil {
			// Between two pages the list has become too old.
			options.Continue = ""
			w.source.failed(err)
			if again.wait(w.ctx) {
				continue
			}
			err = w.ctx.Err()
		}
		if err != nil {
			return nil, nil, "", err
		}
		// Each is an object of its own, so that one that is kept keeps not all of its page.
		err = meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
			n, v, err := found.put(item)
			if err != nil {
				return err
			}
			switch before, held := w.holds.versions[n]; {
			case !held:
				changed = append(changed, watch.Event{Type: watch.Added, Object: item})
			case before != v:
				changed = append(changed, watch.Event{Type: watch.Modified, Object: item})
			}
			return nil
		})
		if err != nil {
			return nil, nil, "", fmt.Errorf("an object has no metadata: %w", err)
		}
		listed, err := metaOf(list)
		if err != nil {
			return nil, nil, "", err
		}
		if resource, options.Continue = listed.GetResourceVersion(), listed.GetContinue(); options.Continue == "" {
			return found, changed, resource, nil
		}
	}
}
