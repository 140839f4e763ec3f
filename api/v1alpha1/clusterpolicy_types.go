package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterPolicy holds named rules about the objects that enter the cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=clusterpolicies,shortName=spcpol,categories=sallyport
// +kubebuilder:printcolumn:name="Action",type=string,JSONPath=`.spec.validationFailureAction`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Effective",type=string,JSONPath=`.status.conditions[?(@.type=="Effective")].status`,priority=1
// +kubebuilder:printcolumn:name="Denied",type=string,JSONPath=`.status.conditions[?(@.type=="ContextDenied")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterPolicySpec `json:"spec"`
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// ClusterPolicyList is a list of ClusterPolicy.
//
// +kubebuilder:object:root=true
type ClusterPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterPolicy `json:"items"`
}

// Policy holds named rules about the objects of its own namespace. It has no
// contextAware: whoever may write one could otherwise read what the server may.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=policies,shortName=sppol,categories=sallyport
// +kubebuilder:printcolumn:name="Action",type=string,JSONPath=`.spec.validationFailureAction`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Effective",type=string,JSONPath=`.status.conditions[?(@.type=="Effective")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PolicySpec `json:"spec"`
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// PolicyList is a list of Policy.
//
// +kubebuilder:object:root=true
type PolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Policy `json:"items"`
}

// ClusterPolicySpec is a PolicySpec with what its expressions may read.
type ClusterPolicySpec struct {
	PolicySpec `json:",inline"`

	// contextAware lists what the expressions (CEL) of the rules may read of the
	// cluster while they judge, by cluster.get and cluster.list. Not given: nothing.
	// What they ask for beyond it is refused to them, and reported.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	ContextAware []ContextGrant `json:"contextAware,omitempty"`
}

// PolicySpec is what ClusterPolicy and Policy have in common.
type PolicySpec struct {
	// validationFailureAction is what a rule that fails leads to: Enforce
	// refuses the request, Warn lets it in with a warning, Audit lets it in and
	// records it.
	// +optional
	// +kubebuilder:validation:Enum=Enforce;Warn;Audit;enforce;warn;audit
	// +kubebuilder:default=Enforce
	ValidationFailureAction ValidationFailureAction `json:"validationFailureAction,omitempty"`

	// validationFailureActionOverrides give other actions in some namespaces. The
	// first that selects the namespace counts.
	// +optional
	// +listType=atomic
	ValidationFailureActionOverrides []FailureActionOverride `json:"validationFailureActionOverrides,omitempty"`

	// failurePolicy is what happens to a request that a rule cannot judge: Fail
	// refuses it, Ignore lets it in.
	// +optional
	// +kubebuilder:validation:Enum=Fail;Ignore
	// +kubebuilder:default=Fail
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`

	// background says whether the policy is applied to what is already in the
	// cluster too. Not given: it is.
	// +optional
	Background *bool `json:"background,omitempty"`

	// rules, each judged on its own.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	Rules []Rule `json:"rules"`
}

// ValidationFailureAction is what a rule that fails leads to.
type ValidationFailureAction string

// What a rule that fails leads to.
const (
	Enforce ValidationFailureAction = "Enforce"
	Warn    ValidationFailureAction = "Warn"
	Audit   ValidationFailureAction = "Audit"
)

// FailureActionOverride gives a rule that fails another action in some
// namespaces. Where both are given, both have to select the namespace.
//
// +kubebuilder:validation:XValidation:rule="has(self.namespaces) ? size(self.namespaces) > 0 : has(self.namespaceSelector)",message="selects no namespace; name one or more in namespaces, or give namespaceSelector"
// +kubebuilder:validation:XValidation:rule="!has(self.namespaceSelector) || has(self.namespaceSelector.matchLabels) && size(self.namespaceSelector.matchLabels) > 0 || has(self.namespaceSelector.matchExpressions) && size(self.namespaceSelector.matchExpressions) > 0",message="selects every namespace; give matchLabels or matchExpressions",fieldPath=".namespaceSelector"
type FailureActionOverride struct {
	// action: Enforce, Warn or Audit.
	// +kubebuilder:validation:Enum=Enforce;Warn;Audit;enforce;warn;audit
	Action ValidationFailureAction `json:"action"`
	// namespaces by name, with `*` and `?`.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9*?-]+$`
	// +kubebuilder:validation:MinItems=1
	Namespaces []string `json:"namespaces,omitempty"`
	// namespaceSelector selects namespaces by their labels.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// FailurePolicy is what happens to a request that a rule cannot judge.
type FailurePolicy string

// What happens to a request that a rule cannot judge.
const (
	FailurePolicyFail   FailurePolicy = "Fail"
	FailurePolicyIgnore FailurePolicy = "Ignore"
)

// Rule is one named requirement.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.validate.pattern) && (has(self.validate.podSecurity) || has(self.validate.cel)) || has(self.validate.podSecurity) && has(self.validate.cel))",message="requires several things; give one of pattern, anyPattern, podSecurity and cel, and write a rule for each of the others",fieldPath=".validate"
type Rule struct {
	// name is unique in the policy.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// match says which requests the rule is about. A rule about Pods holds for
	// everything that makes pods.
	Match Match `json:"match"`
	// exclude says which of these requests the rule is not about.
	// +optional
	Exclude *Match `json:"exclude,omitempty"`
	// validate is what must hold: exactly one of pattern, anyPattern,
	// podSecurity and cel.
	Validate Validation `json:"validate"`
}

// Validation is what a rule requires: exactly one of pattern, anyPattern,
// podSecurity and cel.
type Validation struct {
	// message leads the denial.
	// +optional
	Message string `json:"message,omitempty"`
	// failureAction is what a failure of this rule leads to; not given, what
	// the policy says.
	// +optional
	// +kubebuilder:validation:Enum=Enforce;Warn;Audit;enforce;warn;audit
	FailureAction ValidationFailureAction `json:"failureAction,omitempty"`
	// failureActionOverrides give other actions in some namespaces; given, those
	// of the policy do not count for this rule.
	// +optional
	// +listType=atomic
	FailureActionOverrides []FailureActionOverride `json:"failureActionOverrides,omitempty"`
	// allowExistingViolations lets an update through that violates the rule at
	// the same fields with the same values as the old object did.
	// +optional
	// +kubebuilder:default=true
	AllowExistingViolations *bool `json:"allowExistingViolations,omitempty"`
	// pattern is a structure that the object must match; see docs/patterns.md.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	Pattern *apiextensionsv1.JSON `json:"pattern,omitempty"`
	// anyPattern is a list of patterns, one of which the object must match.
	// +optional
	AnyPattern *apiextensionsv1.JSON `json:"anyPattern,omitempty"`
	// podSecurity requires a Pod Security Standard.
	// +optional
	PodSecurity *PodSecurityStandard `json:"podSecurity,omitempty"`
	// cel requires expressions to hold.
	// +optional
	CEL *CELValidation `json:"cel,omitempty"`
}

// CELValidation requires expressions of the Common Expression Language to hold,
// with the variables of a ValidatingAdmissionPolicy: object, oldObject, request,
// namespaceObject, and variables.
type CELValidation struct {
	// variables can be used in expressions as variables.NAME, each in those that
	// follow it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	Variables []CELVariable `json:"variables,omitempty"`
	// expressions, all of which must be true.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Expressions []CELExpression `json:"expressions"`
}

// CELVariable is a named expression.
//
// +kubebuilder:validation:XValidation:rule="!(self.name in ['as', 'break', 'const', 'continue', 'else', 'false', 'for', 'function', 'if', 'import', 'in', 'let', 'loop', 'namespace', 'null', 'package', 'return', 'true', 'var', 'void', 'while'])",message="is a reserved word of CEL, and not an identifier",fieldPath=".name"
type CELVariable struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[_a-zA-Z][_a-zA-Z0-9]*$`
	Name string `json:"name"`
	// +kubebuilder:validation:MinLength=1
	Expression string `json:"expression"`
}

// CELExpression is one requirement.
type CELExpression struct {
	// expression that gives a bool.
	// +kubebuilder:validation:MinLength=1
	Expression string `json:"expression"`
	// message for when it is false.
	// +optional
	Message string `json:"message,omitempty"`
	// messageExpression gives the message as a string; where it fails or gives
	// an empty one, message counts.
	// +optional
	MessageExpression string `json:"messageExpression,omitempty"`
}
