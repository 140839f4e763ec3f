package v1alpha1

// PodSecurityStandard requires a level of the Pod Security Standards at a
// version of Kubernetes.
//
// +kubebuilder:validation:XValidation:rule="self.level == 'namespace' || (!has(self.defaults) && !has(self.exemptions))",message="defaults and exemptions belong to level namespace"
// +kubebuilder:validation:XValidation:rule="self.level != 'namespace' || !has(self.version) || size(self.version) == 0",message="with level namespace the version is read from the namespace's labels; give defaults.enforce-version for namespaces without them",fieldPath=".version"
type PodSecurityStandard struct {
	// level: privileged, baseline or restricted; or namespace, which reads the
	// level from the namespace's pod-security.kubernetes.io labels.
	// +kubebuilder:validation:Enum=privileged;baseline;restricted;namespace
	Level StandardLevel `json:"level"`
	// version: latest, or a minor version such as v1.34.
	// +optional
	// +kubebuilder:validation:Pattern=`^(latest|v1\.(0|[1-9][0-9]*))?$`
	Version string `json:"version,omitempty"`
	// probeHosts says how the host of probes and lifecycle handlers is judged:
	// kep-4940 allows 127.0.0.1 and ::1, kubernetes allows none, as Kubernetes
	// itself came to do.
	// +optional
	// +kubebuilder:validation:Enum=kep-4940;kubernetes
	// +kubebuilder:default=kep-4940
	ProbeHosts ProbeHosts `json:"probeHosts,omitempty"`
	// exclude are controls that are not required, of some images, or of some
	// values of a field.
	// +optional
	// +listType=atomic
	Exclude []PodSecurityExclusion `json:"exclude,omitempty"`
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
	// +kubebuilder:validation:Pattern=`^(latest|v1\.(0|[1-9][0-9]*))?$`
	EnforceVersion string `json:"enforce-version,omitempty"`
	// +optional
	// +kubebuilder:validation:Enum=privileged;baseline;restricted
	Audit StandardLevel `json:"audit,omitempty"`
	// +optional
	// +kubebuilder:validation:Pattern=`^(latest|v1\.(0|[1-9][0-9]*))?$`
	AuditVersion string `json:"audit-version,omitempty"`
	// +optional
	// +kubebuilder:validation:Enum=privileged;baseline;restricted
	Warn StandardLevel `json:"warn,omitempty"`
	// +optional
	// +kubebuilder:validation:Pattern=`^(latest|v1\.(0|[1-9][0-9]*))?$`
	WarnVersion string `json:"warn-version,omitempty"`
}

// StandardExemptions are the exemptions of the PodSecurity admission plugin:
// exact names, no patterns.
type StandardExemptions struct {
	// usernames of requesters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:items:MinLength=1
	Usernames []string `json:"usernames,omitempty"`
	// runtimeClasses of pods.
	// +optional
	// +listType=set
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	RuntimeClasses []string `json:"runtimeClasses,omitempty"`
	// namespaces of requests.
	// +optional
	// +listType=set
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`
}

// PodSecurityExclusion excuses one control of the Pod Security Standards.
// Controls of containers need images, controls of the pod forbid them, and those
// that are both take either.
//
// +kubebuilder:validation:XValidation:rule="(has(self.restrictedField) && size(self.restrictedField) > 0) == (has(self.values) && size(self.values) > 0)",message="restrictedField and values go together"
type PodSecurityExclusion struct {
	// controlName as the page of the Pod Security Standards gives it, such as
	// Capabilities or HostPath Volumes.
	// +kubebuilder:validation:MinLength=1
	ControlName string `json:"controlName"`
	// images of the containers that are excused, with `*` and `?`.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:Pattern=`^\S+$`
	Images []string `json:"images,omitempty"`
	// restrictedField narrows to one field of the control, with `[*]` for any
	// index, such as spec.containers[*].securityContext.capabilities.add.
	// +optional
	RestrictedField string `json:"restrictedField,omitempty"`
	// values of that field that are excused, with `*` and `?`.
	// +optional
	// +listType=atomic
	Values []string `json:"values,omitempty"`
}
