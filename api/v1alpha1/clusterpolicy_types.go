package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterPolicy holds named rules about the objects that enter the cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=clusterpolicies,shortName=spcpol,categories=sallyport
// +kubebuilder:printcolumn:name="Action",type=string,JSONPath=`.spec.validationFailureAction`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PolicySpec `json:"spec"`
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

// Policy holds named rules about the objects of its own namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=policies,shortName=sppol,categories=sallyport
// +kubebuilder:printcolumn:name="Action",type=string,JSONPath=`.spec.validationFailureAction`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
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

// PolicySpec is what ClusterPolicy and Policy have in common.
type PolicySpec struct {
	// validationFailureAction is what a rule that fails leads to: Enforce
	// refuses the request, Warn lets it in with a warning, Audit lets it in and
	// records it.
	// +optional
	// +kubebuilder:validation:Enum=Enforce;Warn;Audit;enforce;warn;audit
	// +kubebuilder:default=Enforce
	ValidationFailureAction ValidationFailureAction `json:"validationFailureAction,omitempty"`

	// failurePolicy is what happens to a request that a rule cannot judge: Fail
	// refuses it, Ignore lets it in.
	// +optional
	// +kubebuilder:validation:Enum=Fail;Ignore
	// +kubebuilder:default=Fail
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`

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

// FailurePolicy is what happens to a request that a rule cannot judge.
type FailurePolicy string

// What happens to a request that a rule cannot judge.
const (
	FailurePolicyFail   FailurePolicy = "Fail"
	FailurePolicyIgnore FailurePolicy = "Ignore"
)

// Rule is one named requirement.
type Rule struct {
	// name is unique in the policy.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// match says which requests the rule is about. A rule about Pods holds for
	// everything that makes pods.
	Match Match `json:"match"`
	// validate is what must hold.
	Validate Validation `json:"validate"`
}

// Match selects requests: one filter of any that holds is enough.
type Match struct {
	// any of these filters.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	Any []ResourceFilter `json:"any"`
}

// ResourceFilter is one way for a request to match.
type ResourceFilter struct {
	Resources ResourceDescription `json:"resources"`
}

// ResourceDescription selects resources: all fields that are given must match.
type ResourceDescription struct {
	// kinds: Kind, version/Kind or group/version/Kind, with `*` and `?`.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	Kinds []string `json:"kinds"`
	// namespaces of the resource, with `*` and `?`. Not given: every namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	Namespaces []string `json:"namespaces,omitempty"`
}

// Validation is what a rule requires.
type Validation struct {
	// message leads the denial.
	// +optional
	Message string `json:"message,omitempty"`
	// podSecurity requires a Pod Security Standard.
	PodSecurity *PodSecurityStandard `json:"podSecurity"`
}

// PodSecurityStandard requires a level of the Pod Security Standards at a
// version of Kubernetes.
//
// +kubebuilder:validation:XValidation:rule="self.level == 'namespace' || (!has(self.defaults) && !has(self.exemptions))",message="defaults and exemptions belong to level namespace"
type PodSecurityStandard struct {
	// level: privileged, baseline or restricted; or namespace, which reads the
	// level from the namespace's pod-security.kubernetes.io labels.
	// +kubebuilder:validation:Enum=privileged;baseline;restricted;namespace
	Level StandardLevel `json:"level"`
	// version: latest, or a minor version such as v1.34.
	// +optional
	// +kubebuilder:validation:Pattern=`^(latest|v1\.(0|[1-9][0-9]*))$`
	Version string `json:"version,omitempty"`
	// probeHosts says how the host of probes and lifecycle handlers is judged:
	// kep-4940 allows 127.0.0.1 and ::1, kubernetes allows none, as Kubernetes
	// itself came to do.
	// +optional
	// +kubebuilder:validation:Enum=kep-4940;kubernetes
	// +kubebuilder:default=kep-4940
	ProbeHosts ProbeHosts `json:"probeHosts,omitempty"`
	// defaults hold for namespaces without the labels; with level namespace.
	// +optional
	Defaults *StandardDefaults `json:"defaults,omitempty"`
	// exemptions are requests that are not judged; with level namespace.
	// +optional
	Exemptions *StandardExemptions `json:"exemptions,omitempty"`
}

// StandardLevel is a level of the Pod Security Standards.
type StandardLevel string

// Levels of the Pod Security Standards, and the one read from the namespace.
const (
	LevelPrivileged StandardLevel = "privileged"
	LevelBaseline   StandardLevel = "baseline"
	LevelRestricted StandardLevel = "restricted"
	LevelNamespace  StandardLevel = "namespace"
)

// ProbeHosts is a reading of the check on probe and lifecycle hosts.
type ProbeHosts string

// The two readings of the check on probe and lifecycle hosts.
const (
	ProbeHostsKEP4940    ProbeHosts = "kep-4940"
	ProbeHostsKubernetes ProbeHosts = "kubernetes"
)

// StandardDefaults are the levels of a namespace that carries no label, named
// as in the configuration of the PodSecurity admission plugin.
type StandardDefaults struct {
	// +optional
	// +kubebuilder:validation:Enum=privileged;baseline;restricted
	Enforce StandardLevel `json:"enforce,omitempty"`
	// +optional
	// +kubebuilder:validation:Pattern=`^(latest|v1\.(0|[1-9][0-9]*))$`
	EnforceVersion string `json:"enforce-version,omitempty"`
	// +optional
	// +kubebuilder:validation:Enum=privileged;baseline;restricted
	Audit StandardLevel `json:"audit,omitempty"`
	// +optional
	// +kubebuilder:validation:Pattern=`^(latest|v1\.(0|[1-9][0-9]*))$`
	AuditVersion string `json:"audit-version,omitempty"`
	// +optional
	// +kubebuilder:validation:Enum=privileged;baseline;restricted
	Warn StandardLevel `json:"warn,omitempty"`
	// +optional
	// +kubebuilder:validation:Pattern=`^(latest|v1\.(0|[1-9][0-9]*))$`
	WarnVersion string `json:"warn-version,omitempty"`
}

// StandardExemptions are the exemptions of the PodSecurity admission plugin:
// exact names, no patterns.
type StandardExemptions struct {
	// usernames of requesters.
	// +optional
	// +listType=atomic
	Usernames []string `json:"usernames,omitempty"`
	// runtimeClasses of pods.
	// +optional
	// +listType=atomic
	RuntimeClasses []string `json:"runtimeClasses,omitempty"`
	// namespaces of requests.
	// +optional
	// +listType=atomic
	Namespaces []string `json:"namespaces,omitempty"`
}
