package pod

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Decode reads an object, once: its metadata and the pods in it, and nothing
// else. gvk is the kind that the caller knows the object to be of; an object that
// names another one is an error. With an empty gvk the object says itself what it
// is. raw is kept and must not be changed afterwards.
//
// Shapes are those of v1: every version of a built-in kind that was ever served
// holds its pods in the same fields. The error says which field is at fault; it
// wraps a *wire.Error.
func (r *Registry) Decode(gvk schema.GroupVersionKind, raw []byte) (*Object, error) {
	o, err := r.decode(gvk, raw, 0)
	if err != nil {
		return nil, readError(gvk, err)
	}
	return o, nil
}

// DecodeNext is Decode for an object of a kind that is known, which stands next in
// what d walks through. A Pod is not read a second time for it. Errors about the
// reading name the field from the root of the whole.
func (r *Registry) DecodeNext(gvk schema.GroupVersionKind, d *apijson.Decoder) (*Object, error) {
	if gvk.GroupKind() == podKind {
		return decodePod(gvk, d.DecodeRaw)
	}
	raw, err := d.Raw()
	if err != nil {
		return nil, err
	}
	return r.Decode(gvk, raw)
}

func readError(gvk schema.GroupVersionKind, err error) error {
	if gvk.Kind == "" {
		return fmt.Errorf("the object cannot be read: %w", err)
	}
	return fmt.Errorf("the %s cannot be read: %w", gvk.Kind, err)
}

// maxListDepth is how many lists may stand in each other. Every one of them reads
// its items again.
const maxListDepth = 8

func (r *Registry) decode(gvk schema.GroupVersionKind, raw []byte, depth int) (*Object, error) {
	if depth > maxListDepth {
		return nil, &apijson.Error{Detail: fmt.Sprintf("lists stand more than %d deep in each other", maxListDepth)}
	}
	if gvk.Kind == "" {
		var err error
		if gvk, err = kindOf(raw); err != nil {
			return nil, err
		}
	}
	gk := gvk.GroupKind()
	if root := r.kinds[gk]; root != nil {
		switch {
		case gk == podKind:
			return decodePod(gvk, all(raw))
		case gk == revisionKind:
			return r.decodeRevision(gvk, raw)
		default:
			return decodeMaker(gvk, raw, root)
		}
	}
	if right, misspelt := r.folded[fold(gk)]; misspelt {
		return nil, &apijson.Error{Path: "kind", Detail: fmt.Sprintf("found %s, the kind is written %s", gk, right)}
	}
	return r.decodeOther(gvk, raw, depth)
}

var podKind = schema.GroupKind{Kind: "Pod"}

// decodePod is decodeMaker for the kind that is asked about most: the whole Pod
// is read in one go, into memory that is allocated in one piece. read decodes it
// and returns its JSON.
func decodePod(gvk schema.GroupVersionKind, read func(into any) (apijson.Raw, error)) (*Object, error) {
	body := &struct {
		header
		Spec corev1.PodSpec `json:"spec"`

		object Object
		pods   [1]Pod
	}{}
	raw, err := read(body)
	if err != nil {
		return nil, err
	}
	if startsWithN(raw) {
		return nil, errNull
	}
	if err := body.check(gvk); err != nil {
		return nil, err
	}
	body.pods[0] = Pod{Meta: &body.Meta.ObjectMeta, Spec: &body.Spec, whole: true}
	o := &body.object
	o.GVK, o.Raw, o.Meta, o.Pods = gvk, raw, &body.Meta.ObjectMeta, body.pods[:]
	return o, nil
}

// all reads an object that is a whole input.
func all(raw []byte) func(into any) (apijson.Raw, error) {
	return func(into any) (apijson.Raw, error) { return raw, apijson.Unmarshal(raw, into) }
}

// startsWithN tells null, which the decoder takes for any type, from an object.
func startsWithN(raw []byte) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == 'n'
}

// header is what every object begins with.
type header struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Meta       metadata    `json:"metadata"`
	Items      apijson.Raw `json:"items"`
}

// metadata is an object's metadata without its managed fields: they are often the
// largest part of it, and nothing is judged by them.
type metadata struct {
	metav1.ObjectMeta
	ManagedFields skipped `json:"managedFields"`
}

// skipped takes any value and keeps nothing of it.
type skipped struct{}

// UnmarshalJSON drops the value.
func (*skipped) UnmarshalJSON([]byte) error { return nil }

// check compares what the object says of itself with what it is known to be, and
// refuses pods that kubectl would take for a list: to kubectl, every object with
// items is one.
func (h *header) check(gvk schema.GroupVersionKind) error {
	if err := sameKind(h.APIVersion, h.Kind, gvk); err != nil {
		return err
	}
	if !h.Items.IsNull() {
		return errItems
	}
	return nil
}

var (
	errItems = &apijson.Error{Path: "items", Detail: "an object that makes pods holds no items; with them it would be applied as a list"}
	errNull  = &apijson.Error{Detail: "found null, an object belongs here"}
)

// sameKind refuses an object that names another kind than it is known to be of.
// What it leaves out is taken as known.
func sameKind(apiVersion, kind string, gvk schema.GroupVersionKind) error {
	if kind != "" && kind != gvk.Kind {
		return &apijson.Error{Path: "kind", Detail: fmt.Sprintf("found %.100q, %q was expected", kind, gvk.Kind)}
	}
	if apiVersion != "" && !namesVersion(apiVersion, gvk) {
		return &apijson.Error{
			Path:   "apiVersion",
			Detail: fmt.Sprintf("found %.100q, %q was expected", apiVersion, gvk.GroupVersion()),
		}
	}
	return nil
}

func namesVersion(apiVersion string, gvk schema.GroupVersionKind) bool {
	if gvk.Group == "" {
		return apiVersion == gvk.Version
	}
	group, version, _ := strings.Cut(apiVersion, "/")
	return group == gvk.Group && version == gvk.Version
}

// errFound ends a walk early.
var errFound = errors.New("found")

// kindOf reads what the object says that it is.
func kindOf(raw []byte) (schema.GroupVersionKind, error) {
	var apiVersion, kind string
	err := apijson.Read(raw, func(d *apijson.Decoder) error {
		return d.Object(func(name string) error {
			var err error
			switch name {
			case "apiVersion":
				err = d.Decode(&apiVersion)
			case "kind":
				err = d.Decode(&kind)
			default:
				err = d.Skip()
			}
			if err == nil && apiVersion != "" && kind != "" {
				// What comes after is read when the kind is known.
				return errFound
			}
			return err
		})
	})
	switch {
	case err != nil && !errors.Is(err, errFound):
		return schema.GroupVersionKind{}, err
	case kind == "":
		return schema.GroupVersionKind{}, &apijson.Error{Path: "kind", Detail: `nothing was found, a kind such as "Pod" belongs here`}
	case apiVersion == "":
		return schema.GroupVersionKind{}, &apijson.Error{Path: "apiVersion", Detail: `nothing was found, a version such as "v1" or "apps/v1" belongs here`}
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return schema.GroupVersionKind{}, &apijson.Error{
			Path: "apiVersion", Detail: fmt.Sprintf(`found %.100q, a version such as "v1" or "apps/v1" belongs here`, apiVersion), Err: err,
		}
	}
	return gv.WithKind(kind), nil
}
