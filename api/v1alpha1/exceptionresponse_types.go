package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PolicyExceptionResponse answers a PolicyExceptionRequest. It cannot be changed
// once it is made; to revoke what it grants, delete it.
//
// Source: document "Policy Exceptions", Alternative Solution.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=spolexres,categories=sallyport
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.namespace`
// +kubebuilder:printcolumn:name="Request",type=string,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.spec.status`
// +kubebuilder:printcolumn:name="Approver",type=string,JSONPath=`.spec.approver`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.status.expiresAt`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PolicyExceptionResponse struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PolicyExceptionResponseSpec `json:"spec"`
	// +optional
	Status PolicyExceptionStatus `json:"status,omitempty"`
}

// PolicyExceptionResponseList is a list of PolicyExceptionResponse.
//
// +kubebuilder:object:root=true
type PolicyExceptionResponseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PolicyExceptionResponse `json:"items"`
}

// ResponseStatus is the answer.
type ResponseStatus string

// The answers.
const (
	ResponseApproved ResponseStatus = "Approved"
	ResponseDenied   ResponseStatus = "Denied"
)

// PolicyExceptionResponseSpec is the answer, and what it grants.
type PolicyExceptionResponseSpec struct {
	// approvalPolicy: Manual, or Automatic for what Sallyport answers by itself.
	// +optional
	// +kubebuilder:validation:Enum=Manual;manual;Automatic;automatic
	// +kubebuilder:default=Manual
	ApprovalPolicy string `json:"approvalPolicy,omitempty"`
	// name of the PolicyExceptionRequest.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// namespace of the PolicyExceptionRequest. It can be left out where only one
	// request has that name.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// status is the answer.
	// +kubebuilder:validation:Enum=Approved;Denied
	Status ResponseStatus `json:"status"`
	// reason for the answer.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Reason string `json:"reason,omitempty"`

	// requestResourceVersion is the metadata.resourceVersion of the request that
	// was read. An approval has to give it, or requestUID and requestGeneration.
	// +optional
	RequestResourceVersion string `json:"requestResourceVersion,omitempty"`
	// requestUID is the metadata.uid of the request that was read.
	// +optional
	RequestUID types.UID `json:"requestUID,omitempty"`
	// requestGeneration is the metadata.generation of the request that was read.
	// +optional
	RequestGeneration int64 `json:"requestGeneration,omitempty"`

	// The fields below are filled in when the response is made; what a user
	// writes there is replaced.

	// approver is who answered.
	// +optional
	Approver string `json:"approver,omitempty"`
	// approvalTime is when.
	// +optional
	ApprovalTime *metav1.Time `json:"approvalTime,omitempty"`
	// requesters are those of the request.
	// +optional
	// +listType=atomic
	Requesters []string `json:"requesters,omitempty"`
	// exceptions are what was approved, each with the resources that it holds
	// for.
	// +optional
	// +listType=atomic
	Exceptions []RequestedException `json:"exceptions,omitempty"`
	// exclude are the resources that what was approved holds for.
	// +optional
	Exclude *Match `json:"exclude,omitempty"`
	// expiresAt is when the last of what was approved ends.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}
