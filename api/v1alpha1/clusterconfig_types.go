package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterConfig is a further cluster that this installation guards: its API
// server asks at the paths that end with the cluster's id, and its pods,
// namespaces and RBAC objects are read by the kubeconfig of a Secret. Source:
// document "Pod Security Risk Classification", which judges a request by the
// cluster and the tenant that it is for.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=cc,categories=sallyport
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterID`
// +kubebuilder:printcolumn:name="Tenant",type=string,JSONPath=`.spec.tenant`
// +kubebuilder:printcolumn:name="Environment",type=string,JSONPath=`.spec.environment`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Contact",type=date,JSONPath=`.status.lastContact`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterConfigSpec `json:"spec"`
	// +optional
	Status ClusterConfigStatus `json:"status,omitempty"`
}

// ClusterConfigList is a list of ClusterConfig.
//
// +kubebuilder:object:root=true
type ClusterConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterConfig `json:"items"`
}

// ClusterConfigSpec says which cluster it is, how it is read and who asks for it.
type ClusterConfigSpec struct {
	// clusterID is the name that policies, sessions and the paths of the doors know
	// the cluster by. Not given: the name of the object. Of two ClusterConfigs with
	// one clusterID, upper and lower case alike, the older works and the other is
	// not ready; the name of the server's own cluster is taken.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	ClusterID string `json:"clusterID,omitempty"`
	// tenant that the cluster belongs to, for policies that name tenants.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	Tenant string `json:"tenant,omitempty"`
	// environment of the cluster, such as production.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	Environment string `json:"environment,omitempty"`
	// kubeconfigSecretRef names the Secret with the kubeconfig that the cluster is
	// read by. It holds all that it needs: it runs no program and names no file.
	KubeconfigSecretRef *KubeconfigSecretRef `json:"kubeconfigSecretRef"`
	// doors that the API server of the cluster is wired to: admission, the front door,
	// for CONNECT and for what makes and changes pods; and access, the side door. Not
	// given, none is counted on: who enters pods there under a breakglass session is not
	// known, and what needs to know it is not approved.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	Doors []ClusterDoor `json:"doors,omitempty"`
	// callers binds the right to ask for this cluster. Not given, every caller that
	// the server lets in may, unless it is bound to other clusters. Given, nobody
	// may but the callers that are named here, and bearer tokens that are bound to
	// this cluster.
	// +optional
	Callers *ClusterCallers `json:"callers,omitempty"`
}

// ClusterDoor is a door that an API server is wired to.
//
// +kubebuilder:validation:Enum=admission;access
type ClusterDoor string

// The doors.
const (
	DoorAdmission ClusterDoor = "admission"
	DoorAccess    ClusterDoor = "access"
)

// KubeconfigSecretRef names a key of a Secret in the namespace that Sallyport
// reads such Secrets from. It reads none of any other.
type KubeconfigSecretRef struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// namespace of the Secret. Not given, it is the one that is read; any other is
	// refused.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// key in the Secret.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:default=value
	Key string `json:"key,omitempty"`
}

// ClusterCallers are those who may ask for a cluster.
type ClusterCallers struct {
	// commonNames of client certificates, exactly: those that the cluster's API
	// server shows. A caller that is named by some ClusterConfig may ask for the
	// clusters that name it and for no other, the server's own among them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:XValidation:rule="!self.contains('*') && !self.contains('?')",message="is compared as it stands, and is not a pattern; write the whole name"
	CommonNames []string `json:"commonNames,omitempty"`
}

// ClusterConfigStatus says whether the cluster can be read.
type ClusterConfigStatus struct {
	// observedGeneration is the generation that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// lastContact is when the cluster's API server last answered, to the minute.
	// +optional
	LastContact *metav1.Time `json:"lastContact,omitempty"`
	// conditions: Ready is True when the cluster's API server answered the last
	// health check. Otherwise its reason is CannotWork, ClusterIDTaken,
	// SecretMissing, SecretUnreadable, InvalidKubeconfig, Unreachable, Unauthorized,
	// Forbidden, or NotAsked before the first check.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
