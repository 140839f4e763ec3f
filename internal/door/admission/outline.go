package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// maxUID bounds the uid that an answer repeats. Those of an API server have 36.
const maxUID = 256

// Outline is what a review says of itself that cannot be judged: enough to answer
// it, to say what is refused, and to record it. The objects are left out.
//
// It reads as much as can be read. An API server sends on what a requester put into
// the raw parts of an object, such as names that stand twice, text that is not UTF-8,
// or lists within lists beyond the depth that is read here. A body that is not a review,
// or that is not JSON at all, is none that a requester can bring about: then ok is
// false. whole says that body is all of it, and not only its beginning.
func Outline(body []byte, whole bool) (r *request.Request, ok bool) {
	o := outline{dec: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	err := o.review()
	switch {
	case errors.Is(err, errNoReview):
		return nil, false
	case err != nil && whole && !tooDeep(err):
		return nil, false
	case err == nil && whole:
		if _, err := o.dec.ReadToken(); !errors.Is(err, io.EOF) {
			return nil, false
		}
	}
	if o.kind != reviewKind || o.apiVersion != reviewAPIVersion || o.uid == "" || len(o.uid) > maxUID {
		return nil, false
	}
	r = &request.Request{
		Door: request.Admission, UID: types.UID(o.uid), Kind: schema.GroupVersionKind(o.objectKind), Namespace: o.namespace, Name: o.name, DryRun: o.dryRun,
		User: request.User{Name: o.user.Username, UID: o.user.UID, Groups: o.user.Groups, Extra: o.user.Extra},
	}
	if operation := request.Operation(o.operation); slices.Contains([]request.Operation{request.Create, request.Update, request.Delete, request.Connect}, operation) {
		r.Operation = operation
	}
	r.Resource, r.Subresource = door.Resource(o.resource.Group, o.resource.Version, o.resource.Resource, o.subresource)
	return r, true
}

// errNoReview ends the walk where what stands there is none that an API server
// writes.
var errNoReview = errors.New("no review")

// tooDeep tells the one way in which what a requester sends ends the walk. The
// decoder has no name for that error.
func tooDeep(err error) bool {
	var syntax *jsontext.SyntacticError
	return errors.As(err, &syntax) && strings.Contains(err.Error(), "max depth")
}

type outline struct {
	dec *jsontext.Decoder

	kind, apiVersion, uid, operation, subresource, name, namespace string
	objectKind                                                     metav1.GroupVersionKind
	resource                                                       metav1.GroupVersionResource
	user                                                           userInfo
	dryRun                                                         bool
}

// review walks through the envelope.
func (o *outline) review() error {
	return o.object(func(name string) error {
		switch name {
		case "kind":
			return o.text(&o.kind)
		case "apiVersion":
			return o.text(&o.apiVersion)
		case "request":
			return o.object(o.member)
		default:
			return o.dec.SkipValue()
		}
	}, "kind", "apiVersion", "request")
}

// member reads the member of the request that is called name.
func (o *outline) member(name string) error {
	switch name {
	case "uid":
		return o.text(&o.uid)
	case "operation":
		return o.text(&o.operation)
	case "subResource":
		return o.text(&o.subresource)
	case "name":
		return o.text(&o.name)
	case "namespace":
		return o.text(&o.namespace)
	case "kind":
		return o.into(&o.objectKind)
	case "resource":
		return o.into(&o.resource)
	case "userInfo":
		return o.into(&o.user)
	case "dryRun":
		return o.into(&o.dryRun)
	default:
		return o.dec.SkipValue()
	}
}

// object walks through an object. The names that are given stand in it at most once.
func (o *outline) object(field func(name string) error, once ...string) error {
	token, err := o.dec.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != '{' {
		return errNoReview
	}
	var seen []string
	for o.dec.PeekKind() != '}' {
		token, err := o.dec.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if slices.Contains(once, name) || name == "uid" {
			if slices.Contains(seen, name) {
				return errNoReview
			}
			seen = append(seen, name)
		}
		if err := field(name); err != nil {
			return err
		}
	}
	_, err = o.dec.ReadToken()
	return err
}

func (o *outline) text(into *string) error {
	token, err := o.dec.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != '"' {
		return errNoReview
	}
	*into = token.String()
	return nil
}

// into reads what is only told, and needs not be right.
func (o *outline) into(into any) error {
	raw, err := o.dec.ReadValue()
	if err != nil {
		return err
	}
	_ = json.Unmarshal(raw, into)
	return nil
}
