package admission

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// review is an AdmissionReview as far as judging needs it. It is read in one
// walk: the API server writes the kind of the object before the object, which is
// then decoded where it stands.
type review struct {
	registry Registry

	APIVersion string
	Kind       string
	Request    *attributes
}

type attributes struct {
	UID         types.UID
	Kind        metav1.GroupVersionKind
	Resource    metav1.GroupVersionResource
	SubResource string
	Name        string
	Namespace   string
	Operation   request.Operation
	UserInfo    userInfo
	Object      carried
	OldObject   carried
	DryRun      bool
	Options     apijson.Raw

	RequestKind        metav1.GroupVersionKind
	RequestResource    metav1.GroupVersionResource
	RequestSubResource string
}

type userInfo struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
}

func (r *review) read(d *apijson.Decoder) error {
	return d.Object(func(name string) error {
		switch name {
		case "apiVersion":
			return d.Decode(&r.APIVersion)
		case "kind":
			return d.Decode(&r.Kind)
		case "request":
			if d.Kind() == apijson.Null {
				return d.Skip()
			}
			r.Request = &attributes{}
			return d.Object(func(name string) error { return r.Request.read(d, name, r.registry) })
		default:
			return d.Skip()
		}
	})
}

// read reads the member of the request that is called name.
func (a *attributes) read(d *apijson.Decoder, name string, registry Registry) error {
	switch name {
	case "uid":
		return d.Decode(&a.UID)
	case "kind":
		return d.Decode(&a.Kind)
	case "resource":
		return d.Decode(&a.Resource)
	case "subResource":
		return d.Decode(&a.SubResource)
	case "name":
		return d.Decode(&a.Name)
	case "namespace":
		return d.Decode(&a.Namespace)
	case "operation":
		return d.Decode(&a.Operation)
	case "userInfo":
		return d.Decode(&a.UserInfo)
	case "object":
		return a.Object.read(d, name, a.Kind, registry)
	case "oldObject":
		return a.OldObject.read(d, name, a.Kind, registry)
	case "dryRun":
		return d.Decode(&a.DryRun)
	case "requestKind":
		return d.Decode(&a.RequestKind)
	case "requestResource":
		return d.Decode(&a.RequestResource)
	case "requestSubResource":
		return d.Decode(&a.RequestSubResource)
	case "options":
		var err error
		a.Options, err = d.Raw()
		return err
	default:
		return d.Skip()
	}
}

// carried is an object that a request carries: decoded, or as it stands until it
// is known what it is.
type carried struct {
	object *pod.Object
	raw    apijson.Raw
}

// read reads the object. Only a Pod is decoded at once. Everything else may turn
// out to be the options of a CONNECT, or nothing that makes pods.
func (c *carried) read(d *apijson.Decoder, name string, kind metav1.GroupVersionKind, registry Registry) (err error) {
	if kind.Kind == "Pod" && kind.Group == "" && d.Kind() == apijson.Object {
		c.object, err = registry.DecodeNext(schema.GroupVersionKind(kind), d)
		return below("request."+name, err)
	}
	c.raw, err = d.Raw()
	return err
}

// below puts the path of an object before what the registry itself has to say of
// it. What the decoder says has the path from the root.
func below(path string, err error) error {
	var own *apijson.Error
	if !errors.As(err, &own) {
		return err
	}
	if own.Path != "" {
		path += "." + own.Path
	}
	return &apijson.Error{Path: path, Detail: own.Detail, Err: own.Err}
}

func (c *carried) missing() bool { return c.object == nil && c.raw.IsNull() }

// decoded gives the object, which stands in the field name of the request.
func (c *carried) decoded(registry Registry, gvk schema.GroupVersionKind, name string, operation request.Operation) (*pod.Object, error) {
	switch {
	case c.missing():
		return nil, door.Malformed("request.%s is missing: a request to %s carries one", name, operation)
	case c.object == nil && c.raw[0] != '{':
		return nil, door.Malformed("request.%s is not an object", name)
	}
	object, err := c.object, error(nil)
	if object == nil {
		if object, err = registry.Decode(gvk, c.raw); err != nil {
			return nil, door.Malformed("request.%s cannot be read as %s: %w", name, decision.A(gvk.Kind), err)
		}
	}
	if err := sameKind(name, gvk, object.GVK); err != nil {
		return nil, err
	}
	return object, nil
}
