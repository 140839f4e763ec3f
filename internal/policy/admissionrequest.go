package policy

import (
	"encoding/json"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/internal/pod"
	"github.com/sallyport-io/sallyport/internal/request"
	"github.com/sallyport-io/sallyport/internal/wire"
)

var (
	errNoModules = errors.New("modules are not run here")
	errRights    = errors.New("the module changes a role or a binding, which a policy of a namespace does not; use a ClusterAdmissionPolicy")
	errUnread    = errors.New("policies do not read further clusters; they can only judge requests of them by what stands in these")
)

// admissionRequest is the request as an AdmissionRequest of admission.k8s.io/v1,
// which is what modules judge. It is written once, however many there are.
func (c *call) admissionRequest() (json.RawMessage, error) {
	if c.asJSON == nil && c.asJSONErr == nil {
		c.asJSON, c.asJSONErr = c.writeRequest()
	}
	return c.asJSON, c.asJSONErr
}

func (c *call) writeRequest() (json.RawMessage, error) {
	r := c.request
	kind, resource := metav1.GroupVersionKind(r.Kind), metav1.GroupVersionResource(r.Resource)
	asked := admissionv1.AdmissionRequest{
		UID: r.UID, Kind: kind, Resource: resource, SubResource: r.Subresource,
		RequestKind: &kind, RequestResource: &resource, RequestSubResource: r.Subresource,
		Name: r.Name, Namespace: r.Namespace, Operation: admissionv1.Operation(operationOf(r)),
		UserInfo: authenticationv1.UserInfo{Username: r.User.Name, UID: r.User.UID, Groups: r.User.Groups},
		DryRun:   &r.DryRun,
	}
	for key, values := range r.User.Extra {
		if asked.UserInfo.Extra == nil {
			asked.UserInfo.Extra = map[string]authenticationv1.ExtraValue{}
		}
		asked.UserInfo.Extra[key] = values
	}
	asked.Object, asked.OldObject = rawObject(r.Object), rawObject(r.OldObject)
	if r.Operation == request.Connect {
		options, err := c.optionsJSON()
		if err != nil && !errors.Is(err, errNoOptions) {
			return nil, err
		}
		asked.Object = runtime.RawExtension{Raw: options}
	}
	text, err := wire.Marshal(&asked)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be written for the module: %w", err)
	}
	return text, nil
}

func rawObject(o *pod.Object) runtime.RawExtension {
	if o == nil {
		return runtime.RawExtension{}
	}
	return runtime.RawExtension{Raw: o.Raw}
}
