package risk

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

func TestPodFactors(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(s *corev1.PodSpec)
		want []string
	}{
		{"nothing", func(*corev1.PodSpec) {}, nil},
		{"host network", func(s *corev1.PodSpec) { s.HostNetwork = true }, []string{"hostNetwork"}},
		{"host PID", func(s *corev1.PodSpec) { s.HostPID = true }, []string{"hostPID"}},
		{"host IPC", func(s *corev1.PodSpec) { s.HostIPC = true }, []string{"hostIPC"}},
		{"shared processes", func(s *corev1.PodSpec) { s.ShareProcessNamespace = ptr(true) }, []string{"shareProcessNamespace"}},
		{"processes not shared", func(s *corev1.PodSpec) { s.ShareProcessNamespace = ptr(false) }, nil},
		{"safe sysctls", func(s *corev1.PodSpec) {
			s.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "kernel.shm_rmid_forced"}, {Name: "net.ipv4.tcp_notsent_lowat"}}}
		}, nil},
		{"an unsafe sysctl after a safe one", func(s *corev1.PodSpec) {
			s.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "kernel.shm_rmid_forced"}, {Name: "kernel.msgmax"}}}
		}, []string{"unsafeSysctl"}},
		{"a safe sysctl written with slashes", func(s *corev1.PodSpec) {
			s.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "kernel/shm_rmid_forced"}}}
		}, []string{"unsafeSysctl"}},
		{"no container at all", func(s *corev1.PodSpec) { s.Containers = nil }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := withContainer(pod.Main, safe("second"))
			tc.set(&p.Spec)
			if diff := cmp.Diff(tc.want, factorsOf(t, live(p))); diff != "" {
				t.Errorf("factors (-want +got):\n%s", diff)
			}
		})
	}
}

func hostPathVolume(name, path string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}}
}

func tokenVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{}}, {ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "vault", Path: "token"}}},
	}}}
}

func TestVolumeFactors(t *testing.T) {
	const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	secret := corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "default-token-abcde"}}}
	empty := corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	for _, tc := range []struct {
		name   string
		volume corev1.Volume
		mount  corev1.VolumeMount
		want   []string
	}{
		{"writable", hostPathVolume("v", "/data"), corev1.VolumeMount{Name: "v", MountPath: "/v"}, []string{"hostPathWritable"}},
		{"read-only", hostPathVolume("v", "/data"), corev1.VolumeMount{Name: "v", ReadOnly: true}, []string{"hostPathReadOnly"}},
		{"read-only with propagation to the node", hostPathVolume("v", "/data"),
			corev1.VolumeMount{Name: "v", ReadOnly: true, MountPropagation: ptr(corev1.MountPropagationBidirectional)}, []string{"hostPathWritable"}},
		{"read-only with propagation to the container", hostPathVolume("v", "/data"),
			corev1.VolumeMount{Name: "v", ReadOnly: true, MountPropagation: ptr(corev1.MountPropagationHostToContainer)}, []string{"hostPathReadOnly"}},
		{"part of it", hostPathVolume("v", "/data"), corev1.VolumeMount{Name: "v", SubPath: "x"}, []string{"hostPathWritable"}},
		{"not mounted", hostPathVolume("v", "/"), corev1.VolumeMount{Name: "other"}, nil},
		{"socket read-only", hostPathVolume("v", "/var/run/docker.sock"), corev1.VolumeMount{Name: "v", ReadOnly: true}, []string{"hostPathReadOnly", "runtimeSocket"}},
		{"sensitive read-only", hostPathVolume("v", "/etc"), corev1.VolumeMount{Name: "v", ReadOnly: true}, []string{"hostPathReadOnly", "sensitiveHostPath"}},
		{"programs read-only", hostPathVolume("v", "/usr/local/bin"), corev1.VolumeMount{Name: "v", ReadOnly: true}, []string{"hostPathReadOnly"}},
		{"programs writable", hostPathVolume("v", "/usr/local/bin"), corev1.VolumeMount{Name: "v"}, []string{"hostPathWritable", "sensitiveHostPath"}},
		{"root", hostPathVolume("v", "/"), corev1.VolumeMount{Name: "v", ReadOnly: true}, []string{"hostPathReadOnly", "runtimeSocket", "sensitiveHostPath"}},
		{"token", tokenVolume("v"), corev1.VolumeMount{Name: "v", ReadOnly: true, MountPath: tokenPath}, []string{"serviceAccountToken"}},
		{"token elsewhere", tokenVolume("v"), corev1.VolumeMount{Name: "v", MountPath: "/vault"}, []string{"serviceAccountToken"}},
		{"token not mounted", tokenVolume("v"), corev1.VolumeMount{Name: "w", MountPath: tokenPath}, nil},
		{"token in a secret", secret, corev1.VolumeMount{Name: "v", MountPath: tokenPath + "/"}, []string{"serviceAccountToken"}},
		{"a secret elsewhere", secret, corev1.VolumeMount{Name: "v", MountPath: "/secret"}, nil},
		{"nothing where the token would be", empty, corev1.VolumeMount{Name: "v", MountPath: tokenPath}, nil},
	} {
		for _, kind := range kinds {
			t.Run(fmt.Sprintf("%s in %s", tc.name, kind.Field()), func(t *testing.T) {
				c := safe("second")
				c.VolumeMounts = []corev1.VolumeMount{tc.mount}
				p := withContainer(kind, c)
				p.Spec.Volumes = []corev1.Volume{tc.volume}
				if diff := cmp.Diff(tc.want, factorsOf(t, live(p))); diff != "" {
					t.Errorf("factors (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestHostPathsCountOnceAVolume(t *testing.T) {
	rules := compile(t, `{riskFactors: {hostPathWritable: 60, hostPathReadOnly: 10}, thresholds: [{maxScore: 1, action: allow}]}`)
	for _, volumes := range []int{1, 2, 12, 13, manyVolumes, manyVolumes + 1, 200} {
		t.Run(fmt.Sprint(volumes), func(t *testing.T) {
			p := &corev1.Pod{}
			reader, writer := safe("reader"), safe("writer")
			for i := range volumes {
				for _, name := range []string{"w", "r"} {
					name = fmt.Sprint(name, i)
					p.Spec.Volumes = append(p.Spec.Volumes, hostPathVolume(name, "/data"))
					reader.VolumeMounts = append(reader.VolumeMounts, corev1.VolumeMount{Name: name, ReadOnly: true}, corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: "/again"})
				}
				writer.VolumeMounts = append(writer.VolumeMounts, corev1.VolumeMount{Name: fmt.Sprint("w", i)})
			}
			p.Spec.InitContainers, p.Spec.Containers = []corev1.Container{writer}, []corev1.Container{reader}
			if got, want := rules.Judge(Input{Pod: live(p)}).Score, volumes*70; got != want {
				t.Errorf("score %d, want %d", got, want)
			}
		})
	}
}

// A name that is given twice cannot hide what one of the volumes is.
func TestVolumesOfOneName(t *testing.T) {
	for _, others := range []int{0, manyVolumes} {
		c := safe("c")
		c.VolumeMounts = []corev1.VolumeMount{{Name: "v"}}
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
		for i := range others {
			p.Spec.Volumes = append(p.Spec.Volumes, hostPathVolume(fmt.Sprint("o", i), "/data"))
		}
		p.Spec.Volumes = append(p.Spec.Volumes, tokenVolume("v"), hostPathVolume("v", "/data"), hostPathVolume("v", "/etc"))
		want := []string{"hostPathWritable", "sensitiveHostPath", "serviceAccountToken"}
		if diff := cmp.Diff(want, factorsOf(t, live(p))); diff != "" {
			t.Errorf("with %d others, factors (-want +got):\n%s", others, diff)
		}
	}
}

func TestTokenOfAPodThatIsNotLive(t *testing.T) {
	for _, tc := range []struct {
		name      string
		automount *bool
		want      []string
	}{
		{"not said", nil, []string{"serviceAccountToken"}},
		{"true", ptr(true), []string{"serviceAccountToken"}},
		{"false", ptr(false), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := corev1.PodSpec{Containers: []corev1.Container{safe("c")}, AutomountServiceAccountToken: tc.automount}
			p := &pod.Pod{Meta: &metav1.ObjectMeta{}, Spec: &spec, Path: "spec.template"}
			if diff := cmp.Diff(tc.want, factorsOf(t, p)); diff != "" {
				t.Errorf("factors (-want +got):\n%s", diff)
			}
			p.Live = true
			if got := factorsOf(t, p); got != nil {
				t.Errorf("a live pod that mounts no token has %v", got)
			}
		})
	}
}
