package risk

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/standard"
)

// Assessment is what one walk over a pod found: every place that holds a factor.
// It depends only on the pod, so one serves every policy and every scope. It is
// not changed once it is made.
type Assessment struct {
	pod     *pod.Pod
	spots   []spot
	volumes []volume
	mounts  []mount
	// sharesProcesses is set where every container sees the processes of all.
	sharesProcesses bool

	// Room for the pods that are common, so that they cost no more allocations.
	spotRoom   [32]spot
	volumeRoom [12]volume
	mountRoom  [24]mount
}

// spot is one place that holds a factor of the pod or of a container.
type spot struct {
	factor     Factor
	origin     origin
	capability capability
	// container is the place of the container in the walk; none for the pod.
	container int32
	// item is the place in the list that the factor is about: an added
	// capability, a port or a sysctl.
	item int32
}

// none stands for the container of what belongs to the pod.
const none = -1

// origin is where the setting stands that gives a container a factor.
type origin uint8

const (
	// ownField: in the container, or in the pod for a factor of the pod.
	ownField origin = iota
	// podField: in the pod, and the container inherits it.
	podField
	// ownAnnotation: in an annotation of the pod that names the container.
	ownAnnotation
	// podAnnotation: in an annotation for all containers of the pod.
	podAnnotation
	// impliedByPrivilege: nowhere, and something else in the container implies it.
	impliedByPrivilege
	// impliedByNetwork: nowhere, and the pod's hostNetwork implies it.
	impliedByNetwork
)

// volume is a volume that can give a factor to whoever mounts it.
type volume struct {
	// index in spec.volumes.
	index int32
	// namesake is the first volume of the list that has the same name: itself,
	// as the API server sees to it, or where that has not been checked yet, one
	// whose mounts are this one's mounts too.
	namesake int32
	source   volumeSource
	traits   hostPathTraits
}

type volumeSource uint8

const (
	hostPathSource volumeSource = iota
	tokenSource
	// secretSource is a Secret, which holds a token if it is mounted where
	// tokens are looked for.
	secretSource
)

// mount is a mount of the volumes of one name.
type mount struct {
	// container as in spot; item is the place in volumeMounts.
	container, item int32
	// volume is the place in Assessment.volumes of the first of that name.
	volume int32
	// writable is false for a mount that leaves the volume as it is.
	writable bool
	// tokenPath is set for a mount that stands where tokens are looked for.
	tokenPath bool
}

// inherited is what containers take from their pod.
type inherited struct {
	runAsRoot   bool
	hostProcess bool
	seccomp     bool
	appArmor    bool
	hostNetwork bool
	windows     bool
	// annotations are nil where none can matter.
	annotations map[string]string
}

// noSecurityContext stands for those that are not given. Nobody writes to them.
var (
	noSecurityContext    corev1.SecurityContext
	noPodSecurityContext corev1.PodSecurityContext
)

// Assess walks over a pod once and returns all that it found.
func Assess(p *pod.Pod) *Assessment {
	a := &Assessment{pod: p}
	a.spots, a.volumes, a.mounts = a.spotRoom[:0], a.volumeRoom[:0], a.mountRoom[:0]
	from := a.assessPod()
	names := a.assessVolumes()
	n := int32(0)
	for c := range p.Containers() {
		a.assessContainer(c, n, &from)
		a.assessMounts(c, n, &names)
		n++
	}
	return a
}

func (a *Assessment) addPod(f Factor, item int) {
	a.spots = append(a.spots, spot{factor: f, container: none, item: int32(item)})
}

// assessPod records the factors of the pod and returns what containers inherit.
func (a *Assessment) assessPod() inherited {
	spec := a.pod.Spec
	a.sharesProcesses = spec.HostPID || isTrue(spec.ShareProcessNamespace)
	if spec.HostNetwork {
		a.addPod(HostNetwork, 0)
	}
	if spec.HostPID {
		a.addPod(HostPID, 0)
	}
	if spec.HostIPC {
		a.addPod(HostIPC, 0)
	}
	if isTrue(spec.ShareProcessNamespace) {
		a.addPod(ShareProcessNamespace, 0)
	}
	if !a.pod.Live && (spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken) {
		a.addPod(ServiceAccountToken, 0)
	}
	sc := spec.SecurityContext
	if sc == nil {
		sc = &noPodSecurityContext
	}
	for i := range sc.Sysctls {
		if !standard.SafeSysctl(sc.Sysctls[i].Name) {
			a.addPod(UnsafeSysctl, i)
		}
	}
	from := inherited{
		runAsRoot:   isRoot(sc.RunAsUser),
		hostProcess: sc.WindowsOptions != nil && isTrue(sc.WindowsOptions.HostProcess),
		seccomp:     isUnconfinedSeccomp(sc.SeccompProfile),
		appArmor:    isUnconfinedAppArmor(sc.AppArmorProfile),
		hostNetwork: spec.HostNetwork,
		windows:     spec.OS != nil && spec.OS.Name == corev1.Windows,
	}
	if a.pod.Meta != nil && (from.appArmor || anyUnconfined(a.pod.Meta.Annotations)) {
		from.annotations = a.pod.Meta.Annotations
	}
	return from
}

func isTrue(b *bool) bool { return b != nil && *b }

func isRoot(user *int64) bool { return user != nil && *user == 0 }

func isUnconfinedSeccomp(p *corev1.SeccompProfile) bool {
	return p != nil && p.Type == corev1.SeccompProfileTypeUnconfined
}

func isUnconfinedAppArmor(p *corev1.AppArmorProfile) bool {
	return p != nil && p.Type == corev1.AppArmorProfileTypeUnconfined
}
