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
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=name
	Env []corev1.EnvVar `json:"env,omitempty"`
}
