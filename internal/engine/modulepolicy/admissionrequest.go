package modulepolicy

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

var (
	ErrNoModules = errors.New("modules are not run here")
	errRights    = errors.New("the module changes a role or a binding, which a policy of a namespace does not; use a ClusterAdmissionPolicy")
	ErrUnread    = errors.New("policies do not read further clusters; they can only judge requests of them by what stands in these")
)

// AdmissionRequest is the request as an AdmissionRequest of admission.k8s.io/v1,
// which is what modules judge. It is written once, however many there are.
func AdmissionRequest(c *call.Call) (json.RawMessage, error) {
	if c.AsJSON == nil && c.AsJSONErr == nil {
		c.AsJSON, c.AsJSONErr = writeRequest(c)
	}
	return c.AsJSON, c.AsJSONErr
}

// moduleRequest is an AdmissionRequest that leaves out what is not there. The type of
// admission.k8s.io/v1 writes null for an object or options that are missing, which
// typed SDKs refuse where they expect a map.
type moduleRequest struct {
	UID                types.UID                   `json:"uid"`
	Kind               metav1.GroupVersionKind     `json:"kind"`
	Resource           metav1.GroupVersionResource `json:"resource"`
	SubResource        string                      `json:"subResource,omitempty"`
	RequestKind        metav1.GroupVersionKind     `json:"requestKind"`
	RequestResource    metav1.GroupVersionResource `json:"requestResource"`
	RequestSubResource string                      `json:"requestSubResource,omitempty"`
	Name               string                      `json:"name,omitempty"`
	Namespace          string                      `json:"namespace,omitempty"`
	Operation          request.Operation           `json:"operation"`
	UserInfo           moduleUser                  `json:"userInfo"`
	Object             apijson.Raw                 `json:"object,omitzero"`
	OldObject          apijson.Raw                 `json:"oldObject,omitzero"`
	DryRun             bool                        `json:"dryRun"`
	Options            apijson.Raw                 `json:"options,omitzero"`
}

type moduleUser struct {
	Username string              `json:"username,omitempty"`
	UID      string              `json:"uid,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
}

func writeRequest(c *call.Call) (json.RawMessage, error) {
	r := c.Request
	asked := askedOf(r)
	written := moduleRequest{
		UID: r.UID, Kind: metav1.GroupVersionKind(r.Kind), Resource: metav1.GroupVersionResource(r.Resource), SubResource: r.Subresource,
		RequestKind: metav1.GroupVersionKind(asked.Kind), RequestResource: metav1.GroupVersionResource(asked.Resource), RequestSubResource: asked.Subresource,
		Name: r.Name, Namespace: r.Namespace, Operation: call.OperationOf(r),
		UserInfo: moduleUser{Username: r.User.Name, UID: r.User.UID, Groups: r.User.Groups, Extra: r.User.Extra},
		Object:   rawObject(r.Object), OldObject: rawObject(r.OldObject), DryRun: r.DryRun, Options: r.Write,
	}
	if r.Operation == request.Connect {
		options, err := c.OptionsJSON()
		if err != nil && !errors.Is(err, call.ErrNoOptions) {
			return nil, err
		}
		written.Object = apijson.Raw(options)
	}
	text, err := apijson.Marshal(&written)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be written for the module: %w", err)
	}
	return text, nil
}

// askedOf is what was asked for, which is what was matched unless the request says
// otherwise.
func askedOf(r *request.Request) request.Asked {
	if r.Asked != nil {
		return *r.Asked
	}
	return request.Asked{Kind: r.Kind, Resource: r.Resource, Subresource: r.Subresource}
}

func rawObject(o *pod.Object) apijson.Raw {
	if o == nil {
		return nil
	}
	return apijson.Raw(o.Raw)
}
