package standard

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/policy"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// control is our own reading of one revision of one check of the library. A pod
// violates it when the control reports a finding, so that no verdict can be
// without the field that it is about.
type control struct {
	// id and since name the check and the minor version that this revision of
	// it starts with.
	id    policy.CheckID
	since int
	// name on the page of the Pod Security Standards.
	name string
	// unless excuses whole pods from the check; nil excuses none.
	unless func(*corev1.PodSpec) bool
	// pod judges what is not in a container, container each of the containers.
	// One of them may be nil.
	pod       func(*scan)
	container func(*scan, pod.Container)
	// says puts the violation into words; nil leaves that to the library.
	says func(*pod.Pod) (reason, detail string)
}

// controlsFor returns every control, with the probe hosts in the given reading.
func controlsFor(hosts v1alpha1.ProbeHosts) []control {
	probes := hostProbesKEP
	if hosts == v1alpha1.ProbeHostsKubernetes {
		probes = hostProbesKubernetes
	}
	return slices.Concat(
		appArmor,
		capabilitiesBaseline,
		capabilitiesRestricted,
		hostNamespaces,
		hostPathVolumes,
		hostPorts,
		hostProcess,
		privilegeEscalation,
		privileged,
		probes,
		procMount,
		runAsNonRoot,
		runAsUser,
		seLinux,
		seccompBaseline,
		seccompRestricted,
		sysctls,
		volumeTypes,
	)
}

// onWindows excuses pods that say they are for Windows: the fields of the Linux
// checks must not be set there.
func onWindows(spec *corev1.PodSpec) bool {
	return spec.OS != nil && spec.OS.Name == corev1.Windows
}

// inUserNamespace excuses pods that run in a user namespace of their own, where
// root is nobody on the node.
func inUserNamespace(spec *corev1.PodSpec) bool {
	return spec.HostUsers != nil && !*spec.HostUsers
}
