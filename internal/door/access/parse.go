// Package access is the side door: it reads a SubjectAccessReview of
// authorization.k8s.io/v1, as the API server sends it to a webhook authorizer,
// and answers it.
package access

import (
	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

const (
	reviewKind       = "SubjectAccessReview"
	reviewAPIVersion = "authorization.k8s.io/v1"
)

// review is a SubjectAccessReview as far as judging needs it.
type review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Resource *struct {
			Namespace   string `json:"namespace"`
			Verb        string `json:"verb"`
			Group       string `json:"group"`
			Version     string `json:"version"`
			Resource    string `json:"resource"`
			Subresource string `json:"subresource"`
			Name        string `json:"name"`
		} `json:"resourceAttributes"`
		NonResource *struct {
			Path string `json:"path"`
			Verb string `json:"verb"`
		} `json:"nonResourceAttributes"`
		User   string              `json:"user"`
		Groups []string            `json:"groups"`
		Extra  map[string][]string `json:"extra"`
		UID    string              `json:"uid"`
	} `json:"spec"`
}

// Parse reads the SubjectAccessReview in body. Every error is a *door.Error.
func Parse(body []byte) (*request.Request, error) {
	var r review
	if err := apijson.Unmarshal(body, &r); err != nil {
		return nil, door.Malformed("the body cannot be read as a %s: %w", reviewKind, err)
	}
	if err := door.Review(r.Kind, r.APIVersion, reviewKind, reviewAPIVersion); err != nil {
		return nil, err
	}
	s := &r.Spec
	switch {
	case s.Resource != nil && s.NonResource != nil:
		return nil, door.Malformed("spec has both resourceAttributes and nonResourceAttributes: a request is about one of them")
	case s.Resource == nil && s.NonResource == nil:
		return nil, door.Malformed("spec has neither resourceAttributes nor nonResourceAttributes: it asks for nothing")
	case s.User == "":
		return nil, door.Malformed("spec.user is missing: it says who asks")
	}
	req := &request.Request{
		Door: request.Access,
		User: request.User{Name: s.User, UID: s.UID, Groups: s.Groups, Extra: s.Extra},
	}
	if s.NonResource != nil {
		if s.NonResource.Path == "" {
			return nil, door.Malformed("spec.nonResourceAttributes.path is missing: it says what is asked for")
		}
		req.Verb, req.NonResourcePath = s.NonResource.Verb, s.NonResource.Path
		return req, nil
	}
	req.Verb, req.Namespace, req.Name = s.Resource.Verb, s.Resource.Namespace, s.Resource.Name
	req.Resource, req.Subresource = door.Resource(s.Resource.Group, s.Resource.Version, s.Resource.Resource, s.Resource.Subresource)
	return req, nil
}

// Names reports whether the beginning of a body names itself as a
// SubjectAccessReview: what asks can then be answered, without being read whole.
func Names(beginning []byte) bool {
	var kind, apiVersion string
	_ = apijson.Read(beginning, func(d *apijson.Decoder) error {
		return d.Object(func(name string) error {
			switch name {
			case "kind":
				return d.Decode(&kind)
			case "apiVersion":
				return d.Decode(&apiVersion)
			default:
				return d.Skip()
			}
		})
	})
	return kind == reviewKind && apiVersion == reviewAPIVersion
}
