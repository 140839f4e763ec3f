package standard

import (
	"math/rand"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// generator makes random pods. Its fields that matter to the standards hold good
// and bad values in a proportion that differs from pod to pod, so that single
// violations come up as well as all of them together.
type generator struct {
	random *rand.Rand
	// bad is the chance of a bad value.
	bad float64
}

// randomPod makes the pod of a seed.
func randomPod(seed int64) *pod.Pod {
	random := rand.New(rand.NewSource(seed))
	g := &generator{random: random, bad: []float64{0, 0.02, 0.1, 0.5, 1}[random.Intn(5)]}
	fill := randfill.New().RandSource(random).NilChance([]float64{0.05, 0.3, 0.7}[random.Intn(3)]).NumElements(0, 3).Funcs(
		// Fields that no check reads would only take time.
		func(*corev1.Affinity, randfill.Continue) {},
		func(*corev1.ResourceRequirements, randfill.Continue) {},
		func(*corev1.EnvVar, randfill.Continue) {},
		func(*corev1.Toleration, randfill.Continue) {},
		func(*corev1.TopologySpreadConstraint, randfill.Continue) {},
		func(*metav1.LabelSelector, randfill.Continue) {},
		func(*metav1.Time, randfill.Continue) {},
		func(*metav1.FieldsV1, randfill.Continue) {},
		func(*resource.Quantity, randfill.Continue) {},
		func(*corev1.EphemeralVolumeSource, randfill.Continue) {},
		// Credentials that a finding leaves out have tests of their own.
		func(v *corev1.FlexVolumeSource, c randfill.Continue) { v.Driver = "example/" + c.String(5) },
		func(v *corev1.GitRepoVolumeSource, c randfill.Continue) {
			v.Repository = "https://git.example/repo.git"
		},
		g.fillString, g.fillPod, g.fillContainer, g.fillEphemeral, g.fillVolume,
		g.fillCapabilities, g.fillSELinux, g.fillSeccomp, g.fillAppArmor, g.fillProcMount,
		g.fillOS, g.fillSysctl, g.fillPort, g.fillBool, g.fillUser, g.fillHTTPGet, g.fillTCPSocket, g.fillMeta,
	)
	var object corev1.Pod
	fill.Fill(&object)
	return podOf(&object)
}

// pick takes one of the bad values, or one of the good ones.
func (g *generator) pick(good []string, bad ...string) string {
	if g.random.Float64() < g.bad {
		return bad[g.random.Intn(len(bad))]
	}
	return good[g.random.Intn(len(good))]
}

func (g *generator) fillString(s *string, c randfill.Continue) { *s = c.String(6) }

func (g *generator) fillBool(b *bool, _ randfill.Continue) { *b = g.random.Intn(2) == 0 }

func (g *generator) fillPod(spec *corev1.PodSpec, c randfill.Continue) {
	c.FillNoCustom(spec)
	spec.HostNetwork = g.random.Float64() < g.bad
	spec.HostPID = g.random.Float64() < g.bad
	spec.HostIPC = g.random.Float64() < g.bad
	if sc := spec.SecurityContext; sc != nil {
		g.fillFlags(&sc.RunAsNonRoot, sc.WindowsOptions)
	}
}

func (g *generator) fillContainer(c *corev1.Container, r randfill.Continue) {
	r.FillNoCustom(c)
	g.finish(c)
}

func (g *generator) fillEphemeral(c *corev1.EphemeralContainerCommon, r randfill.Continue) {
	r.FillNoCustom(c)
	g.finish((*corev1.Container)(c))
}

// finish gives a container a name that others may have too, and weighs its
// flags.
func (g *generator) finish(c *corev1.Container) {
	c.Name = []string{"a", "b", "c", `odd "name"`, ""}[g.random.Intn(5)]
	sc := c.SecurityContext
	if sc == nil {
		if g.random.Float64() < g.bad {
			return
		}
		sc = &corev1.SecurityContext{}
		c.SecurityContext = sc
	}
	if sc.Privileged != nil {
		*sc.Privileged = g.random.Float64() < g.bad
	}
	if g.random.Float64() >= g.bad {
		sc.AllowPrivilegeEscalation = new(bool)
		if sc.Capabilities == nil {
			sc.Capabilities = &corev1.Capabilities{}
		}
		sc.Capabilities.Drop = append(sc.Capabilities.Drop, "ALL")
	}
	g.fillFlags(&sc.RunAsNonRoot, sc.WindowsOptions)
}

// fillFlags weighs the flags that pods and containers both have.
func (g *generator) fillFlags(nonRoot **bool, windows *corev1.WindowsSecurityContextOptions) {
	if *nonRoot != nil {
		**nonRoot = g.random.Float64() >= g.bad
	}
	if windows != nil && windows.HostProcess != nil {
		*windows.HostProcess = g.random.Float64() < g.bad
	}
}

func (g *generator) fillUser(id *int64, _ randfill.Continue) {
	*id = 1000
	if g.random.Float64() < g.bad {
		*id = 0
	}
}

func (g *generator) fillCapabilities(c *corev1.Capabilities, _ randfill.Continue) {
	for range g.random.Intn(4) {
		c.Add = append(c.Add, corev1.Capability(g.pick([]string{"NET_BIND_SERVICE", "CHOWN", "SYS_CHROOT", "KILL", "AUDIT_WRITE", "DAC_OVERRIDE", "FOWNER", "FSETID", "MKNOD", "SETFCAP", "SETGID", "SETPCAP", "SETUID"},
			"SYS_ADMIN", "ALL", "CAP_CHOWN", "chown", "NET_RAW", "")))
	}
	for range g.random.Intn(3) {
		c.Drop = append(c.Drop, corev1.Capability(g.pick([]string{"ALL"}, "all", "NET_RAW", "CAP_ALL")))
	}
}

func (g *generator) fillSELinux(o *corev1.SELinuxOptions, _ randfill.Continue) {
	o.Type = g.pick([]string{"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}, "spc_t", "Container_t", " ")
	o.User = g.pick([]string{""}, "system_u")
	o.Role = g.pick([]string{""}, "object_r")
	o.Level = g.pick([]string{"", "s0:c1,c2"}, "s0")
}

func (g *generator) fillSeccomp(p *corev1.SeccompProfile, _ randfill.Continue) {
	p.Type = corev1.SeccompProfileType(g.pick([]string{"RuntimeDefault", "Localhost"}, "Unconfined", "", "runtimedefault"))
}

func (g *generator) fillAppArmor(p *corev1.AppArmorProfile, _ randfill.Continue) {
	p.Type = corev1.AppArmorProfileType(g.pick([]string{"RuntimeDefault", "Localhost"}, "Unconfined", "", "runtime/default"))
}

func (g *generator) fillProcMount(m *corev1.ProcMountType, _ randfill.Continue) {
	*m = corev1.ProcMountType(g.pick([]string{"Default"}, "Unmasked", "", "default"))
}

func (g *generator) fillOS(os *corev1.PodOS, _ randfill.Continue) {
	os.Name = corev1.OSName(g.pick([]string{"windows", "linux"}, "Windows", ""))
}

func (g *generator) fillPort(p *corev1.ContainerPort, _ randfill.Continue) {
	p.ContainerPort = 80
	if g.random.Float64() < g.bad {
		p.HostPort = []int32{80, 8080, -1, 443}[g.random.Intn(4)]
	}
}

func (g *generator) fillSysctl(s *corev1.Sysctl, _ randfill.Continue) {
	safe := []string{"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"}
	s.Name = g.pick(safe, "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
		"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat", "kernel.msgmax", "net/ipv4/tcp_syncookies", "")
}

func (g *generator) host() string {
	return g.pick([]string{""}, "127.0.0.1", "::1", "135.45.63.4", "localhost", "a, b", "\"")
}

func (g *generator) fillHTTPGet(a *corev1.HTTPGetAction, _ randfill.Continue) { a.Host = g.host() }

func (g *generator) fillTCPSocket(a *corev1.TCPSocketAction, _ randfill.Continue) { a.Host = g.host() }

// fillVolume gives most volumes one source, and bad ones any number of sources.
func (g *generator) fillVolume(v *corev1.Volume, c randfill.Continue) {
	c.Fill(&v.Name)
	if g.random.Float64() >= g.bad {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
		return
	}
	c.Fill(&v.VolumeSource)
	keep := g.random.Float64() / 3
	sources := reflect.ValueOf(&v.VolumeSource).Elem()
	for i := range sources.NumField() {
		if g.random.Float64() >= keep {
			sources.Field(i).SetZero()
		}
	}
}

func (g *generator) fillMeta(m *metav1.ObjectMeta, c randfill.Continue) {
	c.Fill(&m.Name)
	m.Annotations = map[string]string{}
	keys := []string{
		"container.apparmor.security.beta.kubernetes.io/a", "container.apparmor.security.beta.kubernetes.io/zz", "container.apparmor.security.beta.kubernetes.io/",
		"Container.apparmor.security.beta.kubernetes.io/a", "seccomp.security.alpha.kubernetes.io/pod", "seccomp.security.alpha.kubernetes.io/pod2",
		"container.seccomp.security.alpha.kubernetes.io/a", "container.seccomp.security.alpha.kubernetes.io/b", "container.seccomp.security.alpha.kubernetes.io/zz",
		"container.seccomp.security.alpha.kubernetes.io/", "other",
	}
	for range g.random.Intn(6) {
		m.Annotations[keys[g.random.Intn(len(keys))]] = g.pick([]string{"runtime/default", "localhost/x", "localhost/"}, "", "docker/default", "unconfined", "Localhost/x", "localhost")
	}
}
