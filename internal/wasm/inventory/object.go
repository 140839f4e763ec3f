package inventory

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// lastApplied is a second copy of an object, kept by kubectl.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// object is an object as it is kept: its JSON, without what nobody reads, and of
// it decoded only what objects are selected by.
type object struct {
	meta metav1.ObjectMeta
	// json begins with apiVersion and kind, as an object that was read by itself.
	json []byte
}

// The methods by which client-go knows objects.
var (
	_ runtime.Object            = (*object)(nil)
	_ metav1.ObjectMetaAccessor = (*object)(nil)
)

func (o *object) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (o *object) DeepCopyObject() runtime.Object   { copied := *o; return &copied }
func (o *object) GetObjectMeta() metav1.Object     { return &o.meta }
func (o *object) GetNamespace() string             { return o.meta.Namespace }
func (o *object) GetName() string                  { return o.meta.Name }
func (o *object) GetLabels() map[string]string     { return o.meta.Labels }
func (o *object) key() string                      { return o.meta.Namespace + "/" + o.meta.Name }
func (o *object) size() int64                      { return int64(len(o.json)) + overhead }

// overhead is what an object takes beside its JSON: its labels, its entry in the
// maps, the structures themselves. It is an estimate.
const overhead = 512

// parse makes an object of its JSON. apiVersion and kind are what it is taken to
// be where it does not say, as objects of a list do not.
func parse(data []byte, apiVersion, kind string) (*object, error) {
	o := &object{}
	saysVersion, saysKind := "", ""
	var parts []part
	err := apijson.Read(data, func(d *apijson.Decoder) error {
		return d.Object(func(name string) error {
			switch name {
			case "apiVersion":
				return d.Decode(&saysVersion)
			case "kind":
				return d.Decode(&saysKind)
			case "metadata":
				raw, err := o.metadata(d)
				parts = append(parts, part{name, raw})
				return err
			}
			raw, err := d.Raw()
			parts = append(parts, part{name, raw})
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("an object of the API server cannot be read: %w", err)
	}
	if o.meta.Name == "" && o.meta.Annotations == nil && o.meta.ResourceVersion == "" {
		return nil, errors.New("an object of the API server has no name; is the address that of an API server?")
	}
	if saysVersion == "" {
		saysVersion = apiVersion
	}
	if saysKind == "" {
		saysKind = kind
	}
	if saysKind != kind || saysVersion != apiVersion {
		return nil, fmt.Errorf("the API server answered with a %s of %s where a %s of %s was asked for", saysKind, saysVersion, kind, apiVersion)
	}
	if o.json, err = assemble(apiVersion, kind, parts, len(data)); err != nil {
		return nil, err
	}
	return o, nil
}

type part struct {
	name string
	raw  []byte
}

// assemble writes an object without blanks, so that all of it is as small as can
// be.
func assemble(apiVersion, kind string, parts []part, size int) ([]byte, error) {
	out := make([]byte, 0, size+len(apiVersion)+len(kind)+32)
	out = append(out, `{"apiVersion":`...)
	out, _ = jsontext.AppendQuote(out, apiVersion)
	out = append(out, `,"kind":`...)
	out, _ = jsontext.AppendQuote(out, kind)
	for _, p := range parts {
		out = append(out, ',')
		out, _ = jsontext.AppendQuote(out, p.name)
		out = append(out, ':')
		value := jsontext.Value(append([]byte(nil), p.raw...))
		if err := value.Compact(jsontext.AllowInvalidUTF8(true)); err != nil {
			return nil, err
		}
		out = append(out, value...)
	}
	// What is kept for long is kept without room to grow.
	return append(make([]byte, 0, len(out)+1), append(out, '}')...), nil
}

// metadata reads what objects are selected by, and gives the metadata back
// without managed fields and the annotation of kubectl apply.
func (o *object) metadata(d *apijson.Decoder) ([]byte, error) {
	out := []byte{'{'}
	member := func(name string, raw []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name)
		out = append(append(out, ':'), raw...)
	}
	err := d.Object(func(name string) error {
		var into any
		switch name {
		case "managedFields":
			return d.Skip()
		case "name":
			into = &o.meta.Name
		case "namespace":
			into = &o.meta.Namespace
		case "resourceVersion":
			into = &o.meta.ResourceVersion
		case "labels":
			into = &o.meta.Labels
		case "annotations":
			return o.annotations(d, func(raw []byte) { member(name, raw) })
		default:
			raw, err := d.Raw()
			member(name, raw)
			return err
		}
		raw, err := d.DecodeRaw(into)
		member(name, raw)
		return err
	})
	return append(out, '}'), err
}

func (o *object) annotations(d *apijson.Decoder, keep func([]byte)) error {
	if d.Kind() == apijson.Null {
		return d.Skip()
	}
	out := []byte{'{'}
	err := d.Object(func(name string) error {
		raw, err := d.Raw()
		if err != nil || name == lastApplied {
			return err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name)
		out = append(append(out, ':'), raw...)
		if name == metav1.InitialEventsAnnotationKey {
			o.meta.Annotations = map[string]string{name: strings.Trim(string(raw), `"`)}
		}
		return nil
	})
	keep(append(out, '}'))
	return err
}

// Field gives the scalar at a path; of a list that is on the way, none.
func (o *object) Field(path []string) string {
	switch {
	case len(path) == 2 && path[0] == "metadata" && path[1] == "name":
		return o.meta.Name
	case len(path) == 2 && path[0] == "metadata" && path[1] == "namespace":
		return o.meta.Namespace
	}
	found := ""
	_ = apijson.Read(o.json, func(d *apijson.Decoder) error { return field(d, path, &found) })
	return found
}

func field(d *apijson.Decoder, path []string, into *string) error {
	if len(path) > 0 {
		if d.Kind() != apijson.Object {
			return d.Skip()
		}
		return d.Object(func(name string) error {
			if name != path[0] {
				return d.Skip()
			}
			return field(d, path[1:], into)
		})
	}
	switch d.Kind() {
	case apijson.String:
		return d.Decode(into)
	case apijson.Bool, apijson.Number:
		raw, err := d.Raw()
		*into = string(raw)
		return err
	default:
		return d.Skip()
	}
}
