package risk

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

func ptr[T any](v T) *T { return &v }

var kinds = []pod.Kind{pod.Init, pod.Main, pod.Ephemeral}

// TestContainerFactors sets one thing in a container of each list.
func TestContainerFactors(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(p *corev1.Pod, c *corev1.Container)
		want []string
	}{
		{"nothing", func(*corev1.Pod, *corev1.Container) {}, nil},
		{"privileged", func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.Privileged = ptr(true) },
			[]string{"privilegedContainer", "allowPrivilegeEscalation"}},
		{"not privileged", func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.Privileged = ptr(false) }, nil},
		{"user 0", func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.RunAsUser = ptr(int64(0)) }, []string{"runAsRoot"}},
		{"user 0 and runAsNonRoot", func(_ *corev1.Pod, c *corev1.Container) {
			c.SecurityContext.RunAsUser, c.SecurityContext.RunAsNonRoot = ptr(int64(0)), ptr(true)
		}, []string{"runAsRoot"}},
		{"user 1000 over the pod's 0", func(p *corev1.Pod, c *corev1.Container) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: ptr(int64(0))}
			p.Spec.Containers[0].SecurityContext.RunAsUser = ptr(int64(1000))
			c.SecurityContext.RunAsUser = ptr(int64(1000))
		}, nil},
		{"the pod's user 0", func(p *corev1.Pod, _ *corev1.Container) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: ptr(int64(0))}
			p.Spec.Containers[0].SecurityContext.RunAsUser = ptr(int64(1000))
		}, []string{"runAsRoot"}},
		{"user 0 over the pod's 1000", func(p *corev1.Pod, c *corev1.Container) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: ptr(int64(1000))}
			c.SecurityContext.RunAsUser = ptr(int64(0))
		}, []string{"runAsRoot"}},
		{"a capability", func(_ *corev1.Pod, c *corev1.Container) {
			c.SecurityContext.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"cap_net_admin", "NET_ADMIN"}}
		}, []string{"capability:NET_ADMIN"}},
		{"a capability that implies escalation", func(_ *corev1.Pod, c *corev1.Container) {
			c.SecurityContext.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}
		}, []string{"capability:SYS_ADMIN", "allowPrivilegeEscalation"}},
		{"every capability, and one dropped", func(_ *corev1.Pod, c *corev1.Container) {
			c.SecurityContext.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"all"}, Drop: []corev1.Capability{"SYS_ADMIN"}}
		}, []string{"capability:ALL", "allowPrivilegeEscalation"}},
		{"a capability that nobody knows", func(_ *corev1.Pod, c *corev1.Container) {
			c.SecurityContext.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"NEW_ONE"}}
		}, []string{"capabilities"}},
		{"capabilities dropped", func(_ *corev1.Pod, c *corev1.Container) {
			c.SecurityContext.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"SYS_ADMIN"}}
		}, nil},
		{"a host port", func(_ *corev1.Pod, c *corev1.Container) {
			c.Ports = []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81, HostPort: 81}}
		}, []string{"hostPort"}},
		{"a port", func(_ *corev1.Pod, c *corev1.Container) { c.Ports = []corev1.ContainerPort{{ContainerPort: 80}} }, nil},
		{"a port on the node's network", func(p *corev1.Pod, c *corev1.Container) {
			p.Spec.HostNetwork = true
			c.Ports = []corev1.ContainerPort{{ContainerPort: 80}}
		}, []string{"hostNetwork", "hostPort"}},
		{"escalation allowed", func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.AllowPrivilegeEscalation = ptr(true) },
			[]string{"allowPrivilegeEscalation"}},
		{"escalation not mentioned", func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.AllowPrivilegeEscalation = nil },
			[]string{"allowPrivilegeEscalation"}},
		{"no security context", func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext = nil },
			[]string{"allowPrivilegeEscalation"}},
		{"no security context on Windows", func(p *corev1.Pod, c *corev1.Container) {
			p.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
			c.SecurityContext = nil
		}, nil},
		{"privileged on Windows", func(p *corev1.Pod, c *corev1.Container) {
			p.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
			c.SecurityContext = &corev1.SecurityContext{Privileged: ptr(true)}
		}, []string{"privilegedContainer", "allowPrivilegeEscalation"}},
		{"/proc unmasked", func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.ProcMount = ptr(corev1.UnmaskedProcMount) },
			[]string{"procMountUnmasked"}},
		{"/proc as usual", func(_ *corev1.Pod, c *corev1.Container) { c.SecurityContext.ProcMount = ptr(corev1.DefaultProcMount) }, nil},
		{"host process", func(_ *corev1.Pod, c *corev1.Container) {
			c.SecurityContext.WindowsOptions = &corev1.WindowsSecurityContextOptions{HostProcess: ptr(true)}
		}, []string{"windowsHostProcess"}},
		{"host process of the pod", func(p *corev1.Pod, _ *corev1.Container) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{WindowsOptions: &corev1.WindowsSecurityContextOptions{HostProcess: ptr(true)}}
			p.Spec.Containers[0].SecurityContext.WindowsOptions = &corev1.WindowsSecurityContextOptions{HostProcess: ptr(false)}
		}, []string{"windowsHostProcess"}},
		{"no host process, with other options", func(p *corev1.Pod, c *corev1.Container) {
			c.SecurityContext.WindowsOptions = &corev1.WindowsSecurityContextOptions{RunAsUserName: ptr("ContainerUser")}
		}, nil},
	} {
		for _, kind := range kinds {
			t.Run(fmt.Sprintf("%s in %s", tc.name, kind.Field()), func(t *testing.T) {
				c := safe("second")
				p := withContainer(kind, c)
				tc.set(p, containerOf(p, kind))
				if diff := cmp.Diff(tc.want, factorsOf(t, live(p))); diff != "" {
					t.Errorf("factors (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// containerOf is the container that withContainer put in.
func containerOf(p *corev1.Pod, kind pod.Kind) *corev1.Container {
	switch kind {
	case pod.Init:
		return &p.Spec.InitContainers[0]
	case pod.Main:
		return &p.Spec.Containers[1]
	default:
		return (*corev1.Container)(&p.Spec.EphemeralContainers[0].EphemeralContainerCommon)
	}
}

func TestProfiles(t *testing.T) {
	const (
		seccompPod = corev1.SeccompPodAnnotationKey
		seccompOwn = corev1.SeccompContainerAnnotationKeyPrefix
		appArmor   = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix
	)
	no, def := "Unconfined", "RuntimeDefault"
	for _, tc := range []struct {
		name           string
		podType, own   string
		annotations    map[string]string
		seccomp, armor bool
	}{
		{name: "none"},
		{name: "own field", own: no, seccomp: true, armor: true},
		{name: "pod's field", podType: no, seccomp: true, armor: true},
		{name: "own field over the pod's", podType: no, own: def},
		{name: "own field under a safe pod's", podType: def, own: no, seccomp: true, armor: true},
		{name: "annotations of the container", annotations: map[string]string{seccompOwn + "second": "unconfined", appArmor + "second": "unconfined"}, seccomp: true, armor: true},
		{name: "annotations of another container", annotations: map[string]string{seccompOwn + "third": "unconfined", appArmor + "third": "unconfined"}},
		{name: "annotation of the pod", annotations: map[string]string{seccompPod: "unconfined"}, seccomp: true},
		{name: "annotation of the pod, a safe one of the container", annotations: map[string]string{seccompPod: "unconfined", seccompOwn + "second": "runtime/default"}},
		{name: "annotations under own fields", own: def, annotations: map[string]string{seccompPod: "unconfined", appArmor + "second": "unconfined"}},
		{name: "safe annotations over the pod's fields", podType: no, annotations: map[string]string{seccompOwn + "second": "runtime/default", appArmor + "second": "runtime/default"}, seccomp: true},
		{name: "annotations over a safe pod's fields", podType: def, annotations: map[string]string{appArmor + "second": "unconfined", seccompOwn + "second": "unconfined"}, seccomp: true, armor: true},
	} {
		for _, kind := range kinds {
			t.Run(fmt.Sprintf("%s in %s", tc.name, kind.Field()), func(t *testing.T) {
				p := withContainer(kind, safe("second"))
				first := p.Spec.Containers[0].SecurityContext
				first.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
				first.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
				p.Annotations = tc.annotations
				if tc.podType != "" {
					p.Spec.SecurityContext = &corev1.PodSecurityContext{
						SeccompProfile:  &corev1.SeccompProfile{Type: corev1.SeccompProfileType(tc.podType)},
						AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileType(tc.podType)},
					}
				}
				if tc.own != "" {
					own := containerOf(p, kind).SecurityContext
					own.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileType(tc.own)}
					own.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileType(tc.own)}
				}
				var want []string
				if tc.seccomp {
					want = append(want, "seccompUnconfined")
				}
				if tc.armor {
					want = append(want, "appArmorUnconfined")
				}
				if diff := cmp.Diff(want, factorsOf(t, live(p))); diff != "" {
					t.Errorf("factors (-want +got):\n%s", diff)
				}
			})
		}
	}
}
