package pod

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// decodeMaker reads an object of a kind that makes pods at the places that root
// leads to.
func decodeMaker(gvk schema.GroupVersionKind, raw []byte, root *node) (*Object, error) {
	if root.leaf.form == template {
		return decodeTemplateObject(gvk, raw)
	}
	h := &header{}
	o := &Object{GVK: gvk, Raw: raw, Meta: &h.Meta.ObjectMeta}
	w := walker{exact: !builtIn(gvk.GroupKind())}
	err := apijson.Read(raw, func(d *apijson.Decoder) error {
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
			if w.exact && apijson.Fold(name) == apijson.Fold("metadata") {
				w.wrong("", apijson.Misnamed("", name, "metadata"))
			}
			return w.enter(root, "", name)
		})
	})
	if err != nil {
		return nil, err
	}
	if err := h.check(gvk); err != nil {
		return nil, err
	}
	if err := w.assemble(raw); err != nil {
		return nil, err
	}
	o.Pods, o.Fault = w.sorted(), w.faultOrNil()
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
	if wrong := apijson.Folded(raw, reflect.TypeFor[templateObject]()); wrong != nil {
		o.Fault = wrong
	}
	return o, nil
}

// templateObject is an object that is itself a template.
type templateObject struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     corev1.PodSpec    `json:"spec"`
}

// walker collects the pods below a node.
type walker struct {
	dec  *apijson.Decoder
	pods []Pod
	// exact is set where the API server keeps names that it does not know, so that
	// whoever reads them may take them for fields; fault is the first such name.
	exact bool
	fault *apijson.Error
	// found are the parts of pods that were walked past, which are put together when
	// the whole was read.
	found []found
	// lookedAt are the parts that names were looked for on the way to.
	lookedAt map[*part]bool
}

// faultOrNil is the fault as an error.
func (w *walker) faultOrNil() error {
	if w.fault == nil {
		return nil
	}
	return w.fault
}

// wrong keeps a fault, at a place that its path is counted from.
func (w *walker) wrong(place string, fault *apijson.Error) {
	if fault != nil && w.fault == nil {
		path := fault.Path
		if place != "" {
			path = joinPaths(place, path)
		}
		w.fault = &apijson.Error{Path: path, Detail: fault.Detail}
	}
}

// enter reads the value of the field name of the object at path, where parent is
// the node of that object.
func (w *walker) enter(parent *node, path, name string) error {
	n := parent.field(name)
	if n == nil {
		if w.exact {
			for _, right := range parent.fieldNames() {
				if apijson.Fold(right) == apijson.Fold(name) {
					w.wrong("", apijson.Misnamed(path, name, right))
				}
			}
		}
		return w.dec.Skip()
	}
	if n.at != "" {
		return w.value(n, n.at)
	}
	return w.value(n, apijson.Child(path, name))
}

// value reads the next value, which stands at path. null counts as absent;
// every other value that is not what the paths need is an error.
func (w *walker) value(n *node, path string) error {
	kind := w.dec.Kind()
	switch {
	case kind == apijson.Null:
		return w.dec.Skip()
	case n.leaf.form == template:
		t := &corev1.PodTemplateSpec{}
		w.pods = append(w.pods, Pod{Path: path, Meta: &t.ObjectMeta, Spec: &t.Spec, Completed: n.leaf.completed})
		return w.decode(path, t)
	case n.leaf.form == specOnly:
		t := &corev1.PodTemplateSpec{}
		w.pods = append(w.pods, Pod{Path: path, Meta: &t.ObjectMeta, Spec: &t.Spec, Completed: n.leaf.completed, bare: true})
		return w.decode(path, &t.Spec)
	case n.leaf.form == assembled:
		raw, err := w.dec.Raw()
		w.found = append(w.found, found{leaf: n.leaf, path: path, raw: raw})
		if err == nil && n.anyBelow() != nil {
			err = w.again(n, path, raw)
		}
		return err
	default:
		return w.within(n, path, kind)
	}
}

// again walks through a value that was read, which stands at path.
func (w *walker) again(n *node, path string, raw apijson.Raw) error {
	outer := w.dec
	defer func() { w.dec = outer }()
	err := apijson.Read(raw, func(d *apijson.Decoder) error {
		w.dec = d
		return w.within(n, path, d.Kind())
	})
	if err != nil {
		return below(path, err)
	}
	return nil
}

// within reads what stands below a node in the next value.
func (w *walker) within(n *node, path string, kind apijson.Kind) error {
	switch {
	case n.takesLists() && (kind == apijson.Array || !n.takesObjects()):
		return w.dec.List(func(i int) error {
			child := n.element(i)
			if child == nil {
				return w.dec.Skip()
			}
			return w.value(child, apijson.Element(path, i))
		})
	default:
		return w.dec.Object(func(name string) error { return w.enter(n, path, name) })
	}
}

// decode reads a pod, or its spec, that stands at path.
func (w *walker) decode(path string, into any) error {
	if !w.exact {
		return w.dec.Decode(into)
	}
	raw, err := w.dec.DecodeRaw(into)
	if err != nil {
		return err
	}
	w.wrong(path, apijson.Folded(raw, reflect.TypeOf(into)))
	return nil
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
