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
// +kubebuilder:validation:XValidation:rule="self.spec.rules.all(r, !has(r.scope) || r.scope != 'Cluster')",message="an AdmissionPolicy is about what is in its namespace, so that a rule with scope Cluster matches nothing; use a ClusterAdmissionPolicy",fieldPath=".spec.rules"
// +kubebuilder:validation:XValidation:rule="!self.spec.module.startsWith('file://')",message="the module is a file of the server, which an AdmissionPolicy may not name; use registry, https, or a ConfigMap of its namespace",fieldPath=".spec.module"
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
	// +kubebuilder:validation:items:Enum=can_i;oci;net;crypto
	Capabilities []HostCapability `json:"capabilities,omitempty"`

	// namespaceSelector selects the namespaces by their labels whose objects are
	// judged. Not given: every one.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="operators are In and NotIn, which need values, and Exists and DoesNotExist, which have none"
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// AdmissionPolicySpec is a module with its settings, and the requests that it
// judges.
//
// +kubebuilder:validation:XValidation:rule="!has(self.objectSelector) || !(has(self.objectSelector.matchLabels) && size(self.objectSelector.matchLabels) > 0 || has(self.objectSelector.matchExpressions) && size(self.objectSelector.matchExpressions) > 0) || self.rules.exists(r, !has(r.operations) || size(r.operations) != 1 || r.operations[0] != 'CONNECT')",message="objectSelector selects nothing: the rules are about CONNECT only, which comes with options in place of an object, and these have no labels; use matchConditions",fieldPath=".objectSelector"
type AdmissionPolicySpec struct {
	// module is where the policy is: file:///path, https://, registry://host/name
	// (with @sha256: to pin it) or configmap://namespace/name/key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="!self.contains('://') || ['registry://', 'https://', 'http://', 'file://', 'configmap://'].exists(s, self.startsWith(s))",message="has a scheme that is not known; there are registry, https, file and configmap"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^ \\t\\n\\r\\f]+$') && !self.endsWith('://')",message="is not an address; it looks like registry://ghcr.io/org/policy:v1, https://host/policy.wasm, file:///policy.wasm or configmap://namespace/name/key"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('file://') || self.startsWith('file:///')",message="is not the whole path of a file; it begins with a slash, as in file:///policies/a.wasm"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('configmap://') || self.matches('^configmap://[^/]+/[^/]+/[^/]+$')",message="names no key of a ConfigMap; write configmap://NAMESPACE/NAME/KEY"
	Module string `json:"module"`

	// policyServer is the PolicyServer that hosts the policy. Not given: this
	// Sallyport itself.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?)?$')",message="cannot be part of the name of a Service; use at most 40 lower case letters, digits and hyphens"
	PolicyServer string `json:"policyServer,omitempty"`

	// settings are handed to the module as they are.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Settings *apiextensionsv1.JSON `json:"settings,omitempty"`

	// rules say which requests are judged, as in a webhook configuration.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +kubebuilder:validation:items:XValidation:rule="has(self.apiGroups) && size(self.apiGroups) > 0 && has(self.apiVersions) && size(self.apiVersions) > 0 && has(self.resources) && size(self.resources) > 0 && has(self.operations) && size(self.operations) > 0",message="apiGroups, apiVersions, resources and operations each name one or more, or * for all: an empty list matches nothing"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.scope) || self.scope in ['*', 'Cluster', 'Namespaced']",message="scope is *, Cluster or Namespaced"
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
	// +kubebuilder:validation:items:XValidation:rule="self.name != ''",message="give the condition a name"
	// +kubebuilder:validation:items:XValidation:rule="self.expression != ''",message="an expression belongs here"
	MatchConditions []admissionregistrationv1.MatchCondition `json:"matchConditions,omitempty"`

	// objectSelector selects objects by their labels. Not given: every one.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="operators are In and NotIn, which need values, and Exists and DoesNotExist, which have none"
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
// +kubebuilder:validation:XValidation:rule="(has(self.resource) && size(self.resource) > 0) != (has(self.kind) && size(self.kind) > 0)",message="give group, version and resource; or apiVersion and kind"
// +kubebuilder:validation:XValidation:rule="!(has(self.kind) && size(self.kind) > 0) || (has(self.apiVersion) && size(self.apiVersion) > 0) && !(has(self.group) && size(self.group) > 0) && !(has(self.version) && size(self.version) > 0)",message="beside kind, apiVersion says group and version: give apiVersion, such as v1 or apps/v1, and no group and version",fieldPath=".apiVersion"
// +kubebuilder:validation:XValidation:rule="!(has(self.resource) && size(self.resource) > 0) || (has(self.version) && size(self.version) > 0) && !(has(self.apiVersion) && size(self.apiVersion) > 0)",message="beside resource, give group and version, and no apiVersion",fieldPath=".resource"
type ContextGrant struct {
	// +optional
	// +kubebuilder:validation:Pattern=`^[^*/ ]*$`
	Group string `json:"group,omitempty"`
	// +optional
	// +kubebuilder:validation:Pattern=`^[^*/ ]*$`
	Version string `json:"version,omitempty"`
	// resource is the plural, as kubectl api-resources has it.
	// +optional
	// +kubebuilder:validation:Pattern=`^[^*/ A-Z]*$`
	Resource string `json:"resource,omitempty"`

	// apiVersion and kind name a resource in another way.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// +optional
	// +kubebuilder:validation:Pattern=`^[^*/ ]*$`
	Kind string `json:"kind,omitempty"`

	// namespaces narrows the grant to objects there, each by its name.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^[^*?]+$`
	Namespaces []string `json:"namespaces,omitempty"`
	// names narrows the grant to objects of these names.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^[^*?]+$`
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
