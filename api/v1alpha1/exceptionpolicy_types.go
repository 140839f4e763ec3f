package v1alpha1

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ExceptionPolicy holds rules about exceptions: which policies may be excused,
// by whom, for how long, and what is approved automatically. What it limits
// holds together with the limits of every other; what it allows holds unless
// another limits it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=exceptionpolicies,shortName=sexpol,categories=sallyport
// +kubebuilder:printcolumn:name="Policies",type=string,JSONPath=`.spec.policies`
// +kubebuilder:printcolumn:name="Max Duration",type=string,JSONPath=`.spec.maxDuration`
// +kubebuilder:printcolumn:name="Writing",type=string,JSONPath=`.spec.writing`
// +kubebuilder:printcolumn:name="Approval",type=string,JSONPath=`.spec.approvalPolicy`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ExceptionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ExceptionPolicySpec `json:"spec"`
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// ExceptionPolicyList is a list of ExceptionPolicy.
//
// +kubebuilder:object:root=true
type ExceptionPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ExceptionPolicy `json:"items"`
}

// ExceptionPolicySpec is about exceptions to some policies.
//
// +kubebuilder:validation:XValidation:rule="!has(self.approvalCondition) || size(self.approvalCondition) == 0 || (has(self.approvalPolicy) && self.approvalPolicy == 'Automatic')",message="approvalCondition belongs to approvalPolicy Automatic"
type ExceptionPolicySpec struct {
	// policies, by name, with `*` and `?`, that the exceptions are to. A Policy
	// is named namespace/name.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^[^ \t\[\]{}\\]+$`
	Policies []string `json:"policies"`
	// namespaces, with `*` and `?`, of the exceptions and requests that this is
	// about; not given: all, and ClusterPolicyExceptions.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=`^[^ \t\[\]{}\\]+$`
	Namespaces []string `json:"namespaces,omitempty"`
	// policyKinds that this is about; not given: all. What it lets be done without
	// anybody's approval, by writing rbac or approvalPolicy Automatic, holds for
	// DenyPolicies and IdentitySources only where their kind is named here.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Enum=ClusterPolicy;Policy;DenyPolicy;ClusterAdmissionPolicy;AdmissionPolicy;IdentitySource
	PolicyKinds []string `json:"policyKinds,omitempty"`

	// writing says what it takes to write a PolicyException or a
	// ClusterPolicyException to these policies: approve, which holds where nothing
	// is said, needs the verb approve on each policy that it names; with rbac the
	// right to write it is enough. Where one says approve, no other's rbac counts.
	// A PolicyException excuses from DenyPolicies and IdentitySources only where
	// writing is given for their kind in policyKinds.
	// +optional
	// +kubebuilder:validation:Enum=approve;rbac
	Writing string `json:"writing,omitempty"`
	// unapprovedUntil is until when exceptions to these policies count that no one
	// approved: such as were there before approval was asked for, or were written
	// while nobody could be asked. Not given: they stay in force.
	// +optional
	UnapprovedUntil *metav1.Time `json:"unapprovedUntil,omitempty"`

	// allowedSubjects are the only ones who may ask for, or write, such
	// exceptions; not given: everybody whom RBAC lets. An empty list: nobody, so
	// that the policies cannot be excused.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:XValidation:rule="self.kind in ['User', 'Group', 'ServiceAccount']",message="kind is User, Group or ServiceAccount"
	// +kubebuilder:validation:items:XValidation:rule="self.name != ''",message="an empty name matches nobody"
	// +kubebuilder:validation:items:XValidation:rule="(self.kind == 'ServiceAccount') == (has(self.namespace) && self.namespace != '')",message="a ServiceAccount is in a namespace, which has to be named; a User and a Group are in none"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.apiGroup) || self.apiGroup == '' || self.kind != 'ServiceAccount' && self.apiGroup == 'rbac.authorization.k8s.io'",message="apiGroup is rbac.authorization.k8s.io for a User and a Group, and empty for a ServiceAccount"
	AllowedSubjects *[]rbacv1.Subject `json:"allowedSubjects,omitempty"`
	// maxDuration is the longest that such an exception may be valid: 30d, 12h.
	// Given, each needs an end.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([0-9]+[wdhms])+$') && self.matches('[1-9]')",message="write whole numbers with the units w, d, h, m and s, such as 30d or 1d12h, more than zero in all"
	MaxDuration string `json:"maxDuration,omitempty"`
	// requireReason refuses exceptions without a reason.
	// +optional
	RequireReason bool `json:"requireReason,omitempty"`
	// forbidWildcards refuses `*` and `?` in names of policies, rules, kinds,
	// resources and namespaces, and exceptions that do not name their rules.
	// +optional
	ForbidWildcards bool `json:"forbidWildcards,omitempty"`

	// allowEmptyMatch lets an exception hold for every resource it can reach.
	// +optional
	AllowEmptyMatch bool `json:"allowEmptyMatch,omitempty"`
	// allowAnyPolicy lets an exception name policies by patterns such as `*`.
	// +optional
	AllowAnyPolicy bool `json:"allowAnyPolicy,omitempty"`
	// trustedNamespaces, with `*` and `?`: a PolicyException there may excuse
	// resources of other namespaces.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^[^ \t\[\]{}\\]+$`
	TrustedNamespaces []string `json:"trustedNamespaces,omitempty"`

	// approvalPolicy Automatic approves requests for such exceptions at once
	// where approvalCondition holds.
	// +optional
	// +kubebuilder:validation:Enum=Manual;Automatic
	ApprovalPolicy string `json:"approvalPolicy,omitempty"`
	// approvalCondition is CEL that gives a bool; request is the
	// PolicyExceptionRequest, and namespaceObject its namespace.
	// +optional
	ApprovalCondition string `json:"approvalCondition,omitempty"`
	// allowSelfApproval lets those who asked approve it themselves, if they hold
	// approve on the policies.
	// +optional
	AllowSelfApproval bool `json:"allowSelfApproval,omitempty"`
}
