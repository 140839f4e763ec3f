package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PolicyExceptionRequest asks for an exception. It excuses nothing by itself; a
// PolicyExceptionResponse answers it.
//
// Source: document "Policy Exceptions", Alternative Solution.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=spolexreq,categories=sallyport
// +kubebuilder:printcolumn:name="Policies",type=string,JSONPath=`.spec.exceptions[*].policyName`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Answer",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.status.expiresAt`
// +kubebuilder:printcolumn:name="Reach",type=string,JSONPath=`.status.reach`,priority=1
// +kubebuilder:printcolumn:name="Requester",type=string,JSONPath=`.spec.requesters[0]`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PolicyExceptionRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PolicyExceptionRequestSpec `json:"spec"`
	// +optional
	Status PolicyExceptionRequestStatus `json:"status,omitempty"`
}

// PolicyExceptionRequestList is a list of PolicyExceptionRequest.
//
// +kubebuilder:object:root=true
type PolicyExceptionRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PolicyExceptionRequest `json:"items"`
}

// PolicyExceptionRequestSpec is what is asked for. reason, exclude, duration and
// expiresAt hold for every entry of exceptions that does not give its own.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.duration) && size(self.duration) > 0 && has(self.expiresAt)) || self.exceptions.all(e, has(e.duration) && size(e.duration) > 0 || has(e.expiresAt))",message="duration and expiresAt cannot be used together"
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || size(self.duration) == 0 || self.duration.matches('^([0-9]+[wdhms])+$') && self.duration.matches('[1-9]') || self.exceptions.all(e, has(e.duration) && size(e.duration) > 0 || has(e.expiresAt))",message="duration cannot be read; write whole numbers with the units w, d, h, m and s, such as 30d or 1d12h, more than zero in all",fieldPath=".duration"
type PolicyExceptionRequestSpec struct {
	// exceptions are the rules to be excused.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Exceptions []RequestedException `json:"exceptions"`
	// reason why.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Reason string `json:"reason,omitempty"`
	// exclude says for which resources, as match of a policy does.
	// +optional
	Exclude *Match `json:"exclude,omitempty"`
	// duration that the exception is to be valid for, from its approval: 30d,
	// 12h, 1d12h.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Duration string `json:"duration,omitempty"`
	// expiresAt is when the exception is to end.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
	// conditions must all be true as well, as in a PolicyException.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Conditions []CELCondition `json:"conditions,omitempty"`
	// podSecurity narrows to these controls, as in a PolicyException.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	PodSecurity []PodSecurityExclusion `json:"podSecurity,omitempty"`
	// requesters are the users who wrote the spec, the one who asked first. They
	// are filled in from the authenticated requests; what a user writes here is
	// replaced.
	// +optional
	// +listType=atomic
	Requesters []string `json:"requesters,omitempty"`
}

// RequestedException names rules of a policy, and what holds only for them.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.duration) && size(self.duration) > 0 && has(self.expiresAt))",message="duration and expiresAt cannot be used together"
type RequestedException struct {
	ExceptedRules `json:",inline"`
	// reason why.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Reason string `json:"reason,omitempty"`
	// exclude says for which resources, as match of a policy does.
	// +optional
	Exclude *Match `json:"exclude,omitempty"`
	// duration that the exception is to be valid for, from its approval.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^([0-9]+[wdhms])+$`
	Duration string `json:"duration,omitempty"`
	// expiresAt is when the exception is to end.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}

// RequestState is how far a request has come.
type RequestState string

// The states of a request.
const (
	RequestPending  RequestState = "Pending"
	RequestApproved RequestState = "Approved"
	RequestDenied   RequestState = "Denied"
	RequestExpired  RequestState = "Expired"
)

// PolicyExceptionRequestStatus is written by Sallyport from the response.
type PolicyExceptionRequestStatus struct {
	// state: Pending, Approved, Denied or Expired.
	// +optional
	// +kubebuilder:validation:Enum=Pending;Approved;Denied;Expired
	State RequestState `json:"state,omitempty"`
	// reason of the answer.
	// +optional
	Reason string `json:"reason,omitempty"`
	// response is the name of the PolicyExceptionResponse that answered.
	// +optional
	Response string `json:"response,omitempty"`
	// approver is who answered.
	// +optional
	Approver string `json:"approver,omitempty"`
	// answeredAt is when.
	// +optional
	AnsweredAt *metav1.Time `json:"answeredAt,omitempty"`
	// expiresAt is when the last of what was approved ends.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
	// reach says in which namespaces it would excuse, or does: one that is approved
	// in a namespace that the administrator trusts can reach all of them.
	// +optional
	Reach string `json:"reach,omitempty"`
	// +optional
	Uses int64 `json:"uses,omitempty"`
	// +optional
	LastUsedAt *metav1.Time `json:"lastUsedAt,omitempty"`
	// +optional
	UnusedSince *metav1.Time `json:"unusedSince,omitempty"`
	// +optional
	// +listType=atomic
	Overlaps []string `json:"overlaps,omitempty"`
	// observedGeneration of the request that the state is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
