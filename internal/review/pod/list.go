package pod

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// decodeOther reads an object of a kind that makes no pods of its own: only
// its metadata, and its items where it is a list. It is one if its kind says
// so (List, PodList), and also if it merely has items: kubectl applies those one
// by one, whatever the kind around them is.
func (r *Registry) decodeOther(gvk schema.GroupVersionKind, raw []byte, depth int) (*Object, error) {
	h := &header{}
	if err := apijson.Unmarshal(raw, h); err != nil {
		return nil, err
	}
	if startsWithN(raw) {
		return nil, errNull
	}
	if err := sameKind(h.APIVersion, h.Kind, gvk); err != nil {
		return nil, err
	}
	o := &Object{GVK: gvk, Raw: raw, Meta: &h.Meta.ObjectMeta}
	if h.Items.IsNull() {
		return o, nil
	}
	return o, r.readItems(o, h.Items, depth)
}

// readItems reads the items of the list o.
func (r *Registry) readItems(o *Object, items apijson.Raw, depth int) error {
	declared := strings.HasSuffix(o.GVK.Kind, "List")
	itemKind := o.GVK.GroupVersion().WithKind(strings.TrimSuffix(o.GVK.Kind, "List"))
	if !declared && !startsWithList(items) {
		// A field that happens to be called items.
		return nil
	}
	err := apijson.Read(items, func(d *apijson.Decoder) error {
		return d.List(func(i int) error {
			raw, err := d.Raw()
			if err != nil {
				return err
			}
			place := apijson.Element("items", i)
			item, err := r.readItem(raw, declared, itemKind, depth)
			if err != nil {
				return below(place, err)
			}
			if item == nil {
				return nil
			}
			o.Items = append(o.Items, item)
			for _, p := range item.Pods {
				p.moveBelow(place)
				o.Pods = append(o.Pods, p)
			}
			return nil
		})
	})
	var own *apijson.Error
	if errors.As(err, &own) && !strings.HasPrefix(own.Path, "items") {
		return below("items", err)
	}
	return err
}

// readItem reads one item. One that does not say what it is is of the list's
// kind; in an object that does not call itself a list it is not an object at all, and
// nil is returned.
func (r *Registry) readItem(raw apijson.Raw, declared bool, itemKind schema.GroupVersionKind, depth int) (*Object, error) {
	gvk, err := kindOf(raw)
	switch {
	case err == nil:
	case declared && itemKind.Kind != "" && !startsWithN(raw) && isUnnamed(err):
		gvk = itemKind
	case !declared:
		return nil, nil
	default:
		return nil, err
	}
	return r.decode(gvk, raw, depth+1)
}

// isUnnamed reports whether kindOf failed because the object does not say what it
// is, which leaves the list to say it.
func isUnnamed(err error) bool {
	var own *apijson.Error
	return errors.As(err, &own) && own.Err == nil && (own.Path == "kind" || own.Path == "apiVersion")
}

func startsWithList(raw []byte) bool { return len(raw) > 0 && raw[0] == '[' }

// below puts the path of an error below place.
func below(place string, err error) error {
	var own *apijson.Error
	if !errors.As(err, &own) {
		return &apijson.Error{Path: place, Detail: err.Error(), Err: err}
	}
	return &apijson.Error{Path: joinPaths(place, own.Path), Detail: own.Detail, Err: own.Err}
}

func joinPaths(place, path string) string {
	switch {
	case path == "":
		return place
	case place == "":
		return path
	case path[0] == '[':
		return place + path
	default:
		return place + "." + path
	}
}
