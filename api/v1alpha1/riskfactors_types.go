package v1alpha1

// RiskFactors are weights from 0 to 100. A factor counts once a pod, host paths
// once a volume, capabilities once a name. A factor that is not given weighs
// nothing.
type RiskFactors struct {
	// hostNetwork: the pod is in the node's network namespace.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	HostNetwork int32 `json:"hostNetwork,omitempty"`
	// hostPID: the pod sees the node's processes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	HostPID int32 `json:"hostPID,omitempty"`
	// hostIPC: the pod shares the node's IPC namespace.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	HostIPC int32 `json:"hostIPC,omitempty"`
	// privilegedContainer: a container is privileged.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	PrivilegedContainer int32 `json:"privilegedContainer,omitempty"`
	// hostPathWritable: a hostPath volume that some container mounts writable;
	// counts once for each such volume.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	HostPathWritable int32 `json:"hostPathWritable,omitempty"`
	// hostPathReadOnly: a hostPath volume that is mounted read-only throughout;
	// counts once for each such volume.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	HostPathReadOnly int32 `json:"hostPathReadOnly,omitempty"`
	// runAsRoot: a container's effective user is 0. The container's
	// securityContext takes precedence over the pod's.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	RunAsRoot int32 `json:"runAsRoot,omitempty"`
	// capabilities that a container adds, by name: with or without CAP_, in any
	// case. A container that adds ALL counts for every one that is listed.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k] >= 0 && self[k] <= 100)",message="weights are 0 to 100"
	Capabilities map[string]int32 `json:"capabilities,omitempty"`
	// hostPort: a container claims a port of the node.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	HostPort int32 `json:"hostPort,omitempty"`
	// allowPrivilegeEscalation: a container does not set it to false.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	AllowPrivilegeEscalation int32 `json:"allowPrivilegeEscalation,omitempty"`
	// procMountUnmasked: a container sees /proc unmasked.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ProcMountUnmasked int32 `json:"procMountUnmasked,omitempty"`
	// seccompUnconfined: a container's effective seccomp profile is Unconfined.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	SeccompUnconfined int32 `json:"seccompUnconfined,omitempty"`
	// appArmorUnconfined: a container's effective AppArmor profile is Unconfined.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	AppArmorUnconfined int32 `json:"appArmorUnconfined,omitempty"`
	// unsafeSysctl: the pod sets a sysctl that is not in the safe set.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	UnsafeSysctl int32 `json:"unsafeSysctl,omitempty"`
	// windowsHostProcess: a container is a Windows HostProcess container.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	WindowsHostProcess int32 `json:"windowsHostProcess,omitempty"`
	// shareProcessNamespace: the containers see one another's processes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ShareProcessNamespace int32 `json:"shareProcessNamespace,omitempty"`
	// runtimeSocket: a container mounts the socket of a container runtime, or a
	// host directory that holds one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	RuntimeSocket int32 `json:"runtimeSocket,omitempty"`
	// sensitiveHostPath: a container mounts a host directory that gives the node
	// away, such as /, /etc, /proc or /var/lib/kubelet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	SensitiveHostPath int32 `json:"sensitiveHostPath,omitempty"`
	// serviceAccountToken: a container has a service account token.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ServiceAccountToken int32 `json:"serviceAccountToken,omitempty"`
	// powerfulServiceAccount: RBAC lets the pod's service account read secrets,
	// exec into pods, impersonate, escalate, bind, or reach nodes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	PowerfulServiceAccount int32 `json:"powerfulServiceAccount,omitempty"`
}
