package v1alpha1

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterAdmissionPolicy has a Wasm module judge requests at the front door, and
// says what the module may read meanwhile. Source: document "Context Aware
// Policies".
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=cap,categories=sallyport
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.policyServer`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Mutating",type=boolean,JSONPath=`.spec.mutating`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Effective",type=string,JSONPath=`.status.conditions[?(@.type=="Effective")].status`,priority=1
// +kubebuilder:printcolumn:name="Denied",type=string,JSONPath=`.status.conditions[?(@.type=="ContextDenied")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterAdmissionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterAdmissionPolicySpec `json:"spec"`
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// ClusterAdmissionPolicyList is a list of ClusterAdmissionPolicy.
//
// +kubebuilder:object:root=true
type ClusterAdmissionPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterAdmissionPolicy `json:"items"`
}

// AdmissionPolicy is a ClusterAdmissionPolicy for its own namespace, whose module
// may read nothing: whoever may write one could otherwise read what the server
// may. It has no contextAware. Source: document "Context Aware Policies".
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=ap,categories=sallyport
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.policyServer`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Effective",type=string,JSONPath=`.status.conditions[?(@.type=="Effective")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AdmissionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec AdmissionPolicySpec `json:"spec"`
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// AdmissionPolicyList is a list of AdmissionPolicy.
//
// +kubebuilder:object:root=true
type AdmissionPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AdmissionPolicy `json:"items"`
}

// ClusterAdmissionPolicySpec is an AdmissionPolicySpec with what the module may
// read, and which namespaces it is for.
type ClusterAdmissionPolicySpec struct {
	AdmissionPolicySpec `json:",inline"`

	// contextAware lists what the module may read of the cluster while it judges.
	// Not given: nothing. What the module asks for beyond it is refused to it, and
	// reported.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	ContextAware []ContextGrant `json:"contextAware,omitempty"`

	// capabilities are calls beyond reading objects that the module may make:
	// can_i, oci, net, crypto. Not given: none.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	Capabilities []HostCapability `json:"capabilities,omitempty"`

	// namespaceSelector selects the namespaces by their labels whose objects are
	// judged. Not given: every one.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// AdmissionPolicySpec is a module with its settings, and the requests that it
// judges.
type AdmissionPolicySpec struct {
	// module is where the policy is: file:///path, https://, registry://host/name
	// (with @sha256: to pin it) or configmap://namespace/name/key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Module string `json:"module"`

	// policyServer is the PolicyServer that hosts the policy. Not given: this
	// Sallyport itself.
	// +optional
	PolicyServer string `json:"policyServer,omitempty"`

	// settings are handed to the module as they are.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Settings *apiextensionsv1.JSON `json:"settings,omitempty"`

	// rules say which requests are judged, as in a webhook configuration.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	Rules []admissionregistrationv1.RuleWithOperations `json:"rules"`

	// mode: protect refuses what the module refuses; monitor records it.
	// +optional
	// +kubebuilder:validation:Enum=protect;monitor
	// +kubebuilder:default=protect
	Mode AdmissionPolicyMode `json:"mode,omitempty"`

	// mutating lets the module change what it accepts.
	// +optional
	Mutating bool `json:"mutating,omitempty"`

	// failurePolicy is what happens to a request that the module cannot judge:
	// Fail refuses it, Ignore lets it in.
	// +optional
	// +kubebuilder:validation:Enum=Fail;Ignore
	// +kubebuilder:default=Fail
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`

	// matchConditions are expressions (CEL), all of which have to hold for the
	// module to be asked.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	MatchConditions []admissionregistrationv1.MatchCondition `json:"matchConditions,omitempty"`

	// objectSelector selects objects by their labels. Not given: every one.
	// +optional
	ObjectSelector *metav1.LabelSelector `json:"objectSelector,omitempty"`

	// timeoutSeconds is the longest time that the module may take, what it reads
	// included. Not given: 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// backgroundAudit says whether a background scan applies the policy. Not
	// given: it does.
	// +optional
	BackgroundAudit *bool `json:"backgroundAudit,omitempty"`

	// message replaces that of the module in a refusal.
	// +optional
	Message string `json:"message,omitempty"`
}

// AdmissionPolicyMode says what follows when a module refuses.
type AdmissionPolicyMode string

// The modes.
const (
	ModeProtect AdmissionPolicyMode = "protect"
	ModeMonitor AdmissionPolicyMode = "monitor"
)

// HostCapability names calls that a module may make beyond reading objects.
type HostCapability string

// The capabilities.
const (
	// CapabilityCanI asks the API server what somebody may do.
	CapabilityCanI HostCapability = "can_i"
	// CapabilityOCI reads manifests and signatures from registries.
	CapabilityOCI HostCapability = "oci"
	// CapabilityNet looks names up.
	CapabilityNet HostCapability = "net"
	// CapabilityCrypto checks certificates.
	CapabilityCrypto HostCapability = "crypto"
)

// ContextGrant is a resource that a module may read, as in the module's metadata.
// What is not narrowed may be read whole, in every namespace that the server's
// account may read.
//
// +kubebuilder:validation:XValidation:rule="has(self.resource) != has(self.kind)",message="give group, version and resource; or apiVersion and kind"
type ContextGrant struct {
	// +optional
	Group string `json:"group,omitempty"`
	// +optional
	Version string `json:"version,omitempty"`
	// resource is the plural, as kubectl api-resources has it.
	// +optional
	Resource string `json:"resource,omitempty"`

	// apiVersion and kind name a resource in another way.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// +optional
	Kind string `json:"kind,omitempty"`

	// namespaces narrows the grant to objects there, each by its name.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +listType=atomic
	Namespaces []string `json:"namespaces,omitempty"`
	// names narrows the grant to objects of these names.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +listType=atomic
	Names []string `json:"names,omitempty"`
	// labelSelector narrows the grant to objects with these labels.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// fields are the only ones that the module sees, such as metadata.name or
	// spec.rules.host.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +listType=atomic
	Fields []string `json:"fields,omitempty"`
}
