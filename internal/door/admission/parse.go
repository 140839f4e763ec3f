// Package admission is the front door: it reads an AdmissionReview of
// admission.k8s.io/v1 and answers it.
package admission

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

const (
	reviewKind       = "AdmissionReview"
	reviewAPIVersion = "admission.k8s.io/v1"
)

// Registry decodes an object and finds the pods in it. *pod.Registry is one.
type Registry interface {
	// Decode reads an object.
	Decode(gvk schema.GroupVersionKind, raw []byte) (*pod.Object, error)
	// DecodeNext reads the object that stands next in what d walks through.
	DecodeNext(gvk schema.GroupVersionKind, d *apijson.Decoder) (*pod.Object, error)
}

// Parse reads the AdmissionReview in body, which must not be written to
// afterwards. Every error is a *door.Error.
//
// The object is read as what request.kind says that it is. If it states another
// kind itself, the request is refused: whoever judged it as the one and stored
// it as the other would judge nothing.
func Parse(body []byte, registry Registry) (*request.Request, error) {
	r := review{registry: registry}
	if err := apijson.Read(body, r.read); err != nil {
		return nil, door.Malformed("the body cannot be read as an %s: %w", reviewKind, err)
	}
	if err := door.Review(r.Kind, r.APIVersion, reviewKind, reviewAPIVersion); err != nil {
		return nil, err
	}
	a := r.Request
	switch {
	case a == nil:
		return nil, door.Malformed("request is missing: an %s that is sent to a webhook carries one", reviewKind)
	case a.UID == "":
		return nil, door.Malformed("request.uid is missing: without it, the answer could not be told from another")
	case a.Resource.Resource == "":
		return nil, door.Malformed("request.resource.resource is missing: it says what the request is about")
	case a.Kind.Kind == "":
		return nil, door.Malformed("request.kind.kind is missing: it says what the object is")
	}
	req := &request.Request{
		Door: request.Admission, UID: a.UID,
		User:      request.User{Name: a.UserInfo.Username, UID: a.UserInfo.UID, Groups: a.UserInfo.Groups, Extra: a.UserInfo.Extra},
		Operation: a.Operation, Kind: schema.GroupVersionKind(a.Kind),
		Namespace: a.Namespace, Name: a.Name, DryRun: a.DryRun,
	}
	req.Resource, req.Subresource = door.Resource(a.Resource.Group, a.Resource.Version, a.Resource.Resource, a.SubResource)
	if err := a.objects(req, registry); err != nil {
		return nil, err
	}
	if !a.Options.IsNull() {
		if a.Options[0] != '{' {
			return nil, door.Malformed("request.options is not an object")
		}
		req.Write = a.Options
	}
	req.Asked = a.asked()
	return req, nil
}

// asked is what the review says that was asked for before an equivalent version was
// matched, nil where it says nothing else than that. A kind or a resource that it
// leaves out is the one that was matched.
func (a *attributes) asked() *request.Asked {
	kind, resource, none := a.RequestKind, a.RequestResource, a.RequestSubResource == ""
	if none && kind == (metav1.GroupVersionKind{}) && resource == (metav1.GroupVersionResource{}) {
		return nil
	}
	kind, resource = cmp.Or(kind, a.Kind), cmp.Or(resource, a.Resource)
	if kind == a.Kind && resource == a.Resource && a.RequestSubResource == a.SubResource {
		return nil
	}
	return &request.Asked{Kind: schema.GroupVersionKind(kind), Resource: schema.GroupVersionResource(resource), Subresource: a.RequestSubResource}
}

// objects puts what the operation carries into the request.
func (a *attributes) objects(req *request.Request, registry Registry) (err error) {
	switch a.Operation {
	case request.Create, request.Update:
		if req.Object, err = a.Object.decoded(registry, req.Kind, "object", a.Operation); err != nil {
			return err
		}
		if req.Name == "" {
			req.Name = req.Object.Meta.Name
		}
		if req.Name == "" {
			req.Name = req.Object.Meta.GenerateName
		}
		if a.Operation == request.Create {
			return nil
		}
		req.OldObject, err = a.OldObject.decoded(registry, req.Kind, "oldObject", a.Operation)
		return err
	case request.Delete:
		// An API server from before v1.15, or a webhook that some older object
		// cannot be converted for, sends none.
		if !a.OldObject.missing() {
			req.OldObject, err = a.OldObject.decoded(registry, req.Kind, "oldObject", a.Operation)
		}
		return err
	case request.Connect:
		req.Options, err = options(req, a.Object.raw)
		return err
	case "":
		return door.Malformed("request.operation is missing: CREATE, UPDATE, DELETE or CONNECT belongs here")
	default:
		return door.Malformed("request.operation is %q, CREATE, UPDATE, DELETE or CONNECT belongs here", a.Operation)
	}
}

// sameKind checks what an object says of itself, if it says anything.
func sameKind(name string, want, stated schema.GroupVersionKind) error {
	if stated.Kind != "" && stated.Kind != want.Kind ||
		stated.GroupVersion() != (schema.GroupVersion{}) && stated.GroupVersion() != want.GroupVersion() {
		return door.Malformed("request.%s names itself %s of %q, request.kind says %s of %q",
			name, stated.Kind, stated.GroupVersion(), want.Kind, want.GroupVersion())
	}
	return nil
}
