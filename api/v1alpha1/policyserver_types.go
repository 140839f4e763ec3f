package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PolicyServer is a Sallyport of its own, with its own service account, that
// hosts the policies which name it. Their modules see what that account may read,
// as far as each is granted it. Source: document "Context Aware Policies".
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=ps,categories=sallyport
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Account",type=string,JSONPath=`.spec.serviceAccountName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 40 && !self.metadata.name.contains('.')",message="the name has to be part of the name of a Service: at most 40 lower case letters, digits and hyphens",fieldPath=".metadata"
type PolicyServer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PolicyServerSpec `json:"spec"`
	// +optional
	Status PolicyStatus `json:"status,omitempty"`
}

// PolicyServerList is a list of PolicyServer.
//
// +kubebuilder:object:root=true
type PolicyServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PolicyServer `json:"items"`
}

// PolicyServerSpec says how the server runs.
type PolicyServerSpec struct {
	// image of Sallyport.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self.matches('^[!-~]*$') && !self.contains('://') && !self.startsWith('-')",message="is not an image; it looks like registry.example.com/sallyport:v1"
	Image string `json:"image"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=1
	Replicas *int32 `json:"replicas,omitempty"`
	// serviceAccountName is the account that the server, and so every policy that
	// it hosts, reads the cluster as; in the namespace that Sallyport runs in. Not
	// given: default, which may read nothing.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || size(self) <= 253 && self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="is not the name of a service account"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:items:XValidation:rule="self.name != ''",message="give the variable a name"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.valueFrom) || !has(self.value) || self.value == ''",message="valueFrom stands beside value; give one of both"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.valueFrom) || !has(self.valueFrom.secretKeyRef)",message="a server gets no Secrets of the namespace that Sallyport runs in; credentials for registries are given to Sallyport itself, and what modules read is granted to their policies"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.valueFrom) || !has(self.valueFrom.fileKeyRef) && (has(self.valueFrom.fieldRef) ? !has(self.valueFrom.resourceFieldRef) && !has(self.valueFrom.configMapKeyRef) : has(self.valueFrom.resourceFieldRef) != has(self.valueFrom.configMapKeyRef))",message="valueFrom has to name one of fieldRef, resourceFieldRef and configMapKeyRef, and nothing else"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.valueFrom) || !has(self.valueFrom.configMapKeyRef) || self.valueFrom.configMapKeyRef.key != '' && has(self.valueFrom.configMapKeyRef.name) && self.valueFrom.configMapKeyRef.name != ''",message="valueFrom.configMapKeyRef needs a name and a key"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.valueFrom) || !has(self.valueFrom.fieldRef) || self.valueFrom.fieldRef.fieldPath != ''",message="valueFrom.fieldRef needs a field, such as metadata.name"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.valueFrom) || !has(self.valueFrom.resourceFieldRef) || self.valueFrom.resourceFieldRef.resource in ['limits.cpu', 'limits.memory', 'limits.ephemeral-storage', 'requests.cpu', 'requests.memory', 'requests.ephemeral-storage']",message="valueFrom.resourceFieldRef.resource is not one of a container's resources, such as limits.memory"
	Env []corev1.EnvVar `json:"env,omitempty"`
}
