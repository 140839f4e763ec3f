package pod

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/wire"
)

// decodeMaker reads an object of a kind that makes pods at the places that root
// leads to.
func decodeMaker(gvk schema.GroupVersionKind, raw []byte, root *node) (*Object, error) {
	if root.leaf == template {
		return decodeTemplateObject(gvk, raw)
	}
	h := &header{}
	o := &Object{GVK: gvk, Raw: raw, Meta: &h.Meta.ObjectMeta}
	w := walker{}
	err := wire.Read(raw, func(d *wire.Decoder) error {
		w.dec = d
		return d.Object(func(name string) error {
			switch name {
			case "apiVersion":
				return d.Decode(&h.APIVersion)
			case "kind":
				return d.Decode(&h.Kind)
			case "metadata":
				return d.Decode(&h.Meta)
			case "items":
				return d.Decode(&h.Items)
			}
			return w.enter(root.fields[name], "", name)
		})
	})
	if err != nil {
		return nil, err
	}
	if err := h.check(gvk); err != nil {
		return nil, err
	}
	o.Pods = w.sorted()
	return o, nil
}

// decodeTemplateObject reads an object that is itself the template of its pods:
// its metadata and spec are those of the pods.
func decodeTemplateObject(gvk schema.GroupVersionKind, raw []byte) (*Object, error) {
	o, err := decodePod(gvk, all(raw))
	if err != nil {
		return nil, err
	}
	o.Pods[0].whole = false
	return o, nil
}

// walker collects the pods below a node.
type walker struct {
	dec  *wire.Decoder
	pods []Pod
}

// enter reads the value of the field name of the object at path, where n is the
// node of that field, or nil.
func (w *walker) enter(n *node, path, name string) error {
	if n == nil {
		return w.dec.Skip()
	}
	if n.at != "" {
		return w.value(n, n.at)
	}
	return w.value(n, wire.Child(path, name))
}

// value reads the next value, which stands at path. null is as good as absent;
// every other value that is not what the paths need is an error.
func (w *walker) value(n *node, path string) error {
	kind := w.dec.Kind()
	switch {
	case kind == wire.Null:
		return w.dec.Skip()
	case n.leaf == template:
		t := &corev1.PodTemplateSpec{}
		w.pods = append(w.pods, Pod{Path: path, Meta: &t.ObjectMeta, Spec: &t.Spec})
		return w.dec.Decode(t)
	case n.leaf == specOnly:
		t := &corev1.PodTemplateSpec{}
		w.pods = append(w.pods, Pod{Path: path, Meta: &t.ObjectMeta, Spec: &t.Spec, bare: true})
		return w.dec.Decode(&t.Spec)
	case n.takesLists() && (kind == wire.Array || !n.takesObjects()):
		return w.dec.List(func(i int) error {
			child := n.element(i)
			if child == nil {
				return w.dec.Skip()
			}
			return w.value(child, wire.Element(path, i))
		})
	default:
		return w.dec.Object(func(name string) error { return w.enter(n.field(name), path, name) })
	}
}

// sorted gives the pods in the order of their paths, in which numbers count as
// numbers, so that the order of an object's fields shows nowhere.
func (w *walker) sorted() []Pod {
	slices.SortStableFunc(w.pods, func(a, b Pod) int { return comparePaths(a.Path, b.Path) })
	return w.pods
}

func comparePaths(a, b string) int {
	for a != "" && b != "" {
		if isDigit(a[0]) && isDigit(b[0]) {
			var m, n string
			m, a = cutDigits(a)
			n, b = cutDigits(b)
			if c := cmp.Or(cmp.Compare(len(m), len(n)), strings.Compare(m, n)); c != 0 {
				return c
			}
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func cutDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return s[:i], s[i:]
}
