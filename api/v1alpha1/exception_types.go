package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PolicyException excuses resources of its own namespace from rules of policies.
// One that stands in a namespace which the administrator trusts may excuse
// resources of other namespaces, and such as have none.
//
// Source: document "Policy Exceptions", Proposed Solution.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=spolex,categories=sallyport
// +kubebuilder:printcolumn:name="Policies",type=string,JSONPath=`.spec.exceptions[*].policyName`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Approved",type=string,JSONPath=`.status.conditions[?(@.type=="Approved")].status`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Effective",type=string,JSONPath=`.status.conditions[?(@.type=="Effective")].status`,priority=1
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.status.expiresAt`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.reason`,priority=1
// +kubebuilder:printcolumn:name="Last Used",type=date,JSONPath=`.status.lastUsedAt`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PolicyException struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PolicyExceptionSpec `json:"spec"`
	// +optional
	Status PolicyExceptionStatus `json:"status,omitempty"`
}

// PolicyExceptionList is a list of PolicyException.
//
// +kubebuilder:object:root=true
type PolicyExceptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PolicyException `json:"items"`
}

// ClusterPolicyException excuses resources of any namespace, and such as have
// none, from rules of policies.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=scpolex,categories=sallyport
// +kubebuilder:printcolumn:name="Policies",type=string,JSONPath=`.spec.exceptions[*].policyName`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Approved",type=string,JSONPath=`.status.conditions[?(@.type=="Approved")].status`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Effective",type=string,JSONPath=`.status.conditions[?(@.type=="Effective")].status`,priority=1
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.status.expiresAt`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.reason`,priority=1
// +kubebuilder:printcolumn:name="Last Used",type=date,JSONPath=`.status.lastUsedAt`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterPolicyException struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PolicyExceptionSpec `json:"spec"`
	// +optional
	Status PolicyExceptionStatus `json:"status,omitempty"`
}

// ClusterPolicyExceptionList is a list of ClusterPolicyException.
//
// +kubebuilder:object:root=true
type ClusterPolicyExceptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterPolicyException `json:"items"`
}

// PolicyExceptionSpec says what is excused, for which resources, until when and
// why.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.duration) && size(self.duration) > 0 && has(self.expiresAt))",message="duration and expiresAt cannot be used together"
// +kubebuilder:validation:XValidation:rule="!has(self.notBefore) || !has(self.expiresAt) || self.notBefore < self.expiresAt",message="notBefore is not before the exception ends, so that it would never be valid",fieldPath=".notBefore"
type PolicyExceptionSpec struct {
	// exceptions are the rules that are excused.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Exceptions []ExceptedRules `json:"exceptions"`
	// match says for which resources.
	Match Match `json:"match"`
	// conditions must all be true as well. They are CEL with the variables of a
	// ValidatingAdmissionPolicy. One that cannot be evaluated excuses nothing.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Conditions []CELCondition `json:"conditions,omitempty"`
	// podSecurity narrows the exception, for rules with validate.podSecurity, to
	// these controls. Given, rules of other kinds are not excused.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	PodSecurity []PodSecurityExclusion `json:"podSecurity,omitempty"`
	// reason for the exception. It is shown wherever the exception is used.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Reason string `json:"reason,omitempty"`
	// duration that the exception is valid for, from its creation or notBefore:
	// 30d, 12h, 1d12h.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([0-9]+[wdhms])+$') && self.matches('[1-9]')",message="write whole numbers with the units w, d, h, m and s, such as 30d or 1d12h, more than zero in all"
	Duration string `json:"duration,omitempty"`
	// expiresAt is when the exception ends.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
	// notBefore is when the exception begins; not given: at once.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
}

// ExceptedRules names rules of a policy.
type ExceptedRules struct {
	// policyName of a ClusterPolicy, a DenyPolicy or any other kind of policy. A
	// Policy is named namespace/name, or just by its name from its own
	// namespace.
	// +kubebuilder:validation:Pattern=`^[^/]+(/[^/]+)?$`
	PolicyName string `json:"policyName"`
	// policyKind narrows to one kind of policy, such as ClusterPolicy.
	// +optional
	// +kubebuilder:validation:Enum="";ClusterPolicy;Policy;DenyPolicy;ClusterAdmissionPolicy;AdmissionPolicy;IdentitySource
	PolicyKind string `json:"policyKind,omitempty"`
	// ruleNames, with `*` and `?`. The name of a rule covers what is generated
	// from it; autogen-NAME covers only the generated rule.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^\S([\s\S]*\S)?$`
	RuleNames []string `json:"ruleNames,omitempty"`
}

// CELCondition is a named CEL expression that gives a bool.
type CELCondition struct {
	// +optional
	Name string `json:"name,omitempty"`
	// +kubebuilder:validation:MinLength=1
	Expression string `json:"expression"`
}

// ExceptionState says whether an exception excuses anything.
type ExceptionState string

// The states of an exception.
const (
	ExceptionActive   ExceptionState = "Active"
	ExceptionPending  ExceptionState = "NotYetValid"
	ExceptionExpired  ExceptionState = "Expired"
	ExceptionNoEffect ExceptionState = "NoEffect"
)

// PolicyExceptionStatus is written by Sallyport.
type PolicyExceptionStatus struct {
	// state: Active, NotYetValid, Expired, or NoEffect where it cannot do what
	// it says.
	// +optional
	State ExceptionState `json:"state,omitempty"`
	// expiresAt is when it ends, whichever way that was given.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
	// uses counts the requests that it excused, about.
	// +optional
	Uses int64 `json:"uses,omitempty"`
	// lastUsedAt is when it last excused a request.
	// +optional
	LastUsedAt *metav1.Time `json:"lastUsedAt,omitempty"`
	// unusedSince is set when it has excused nothing since then.
	// +optional
	UnusedSince *metav1.Time `json:"unusedSince,omitempty"`
	// overlaps names exceptions that excuse the same rules for the same
	// resources.
	// +optional
	// +listType=atomic
	Overlaps []string `json:"overlaps,omitempty"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
