package risk

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// What a judgement costs grows with the size of a pod and no faster: each of
// these would take minutes if it went by the square.
func TestLargePods(t *testing.T) {
	const many = 100_000
	long := strings.Repeat("/x", 1<<19)
	for _, tc := range []struct {
		name string
		make func(p *corev1.Pod, c *corev1.Container)
	}{
		{"host paths that are mounted", func(p *corev1.Pod, c *corev1.Container) {
			for i := range many {
				name := fmt.Sprint("volume-of-the-node-", i)
				p.Spec.Volumes = append(p.Spec.Volumes, hostPathVolume(name, "/etc"))
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name})
			}
		}},
		{"host paths of one name", func(p *corev1.Pod, c *corev1.Container) {
			for range many {
				p.Spec.Volumes = append(p.Spec.Volumes, hostPathVolume("v", "/etc"))
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "v"})
			}
		}},
		{"capabilities", func(_ *corev1.Pod, c *corev1.Container) {
			c.SecurityContext.Capabilities = &corev1.Capabilities{}
			for range many {
				c.SecurityContext.Capabilities.Add = append(c.SecurityContext.Capabilities.Add, "ALL", "x", "ſys_admin")
			}
		}},
		{"containers", func(p *corev1.Pod, _ *corev1.Container) {
			for i := range many {
				debug := corev1.EphemeralContainer{TargetContainerName: "first"}
				debug.Name = fmt.Sprint("debug-", i)
				p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, debug)
			}
		}},
		{"long values", func(p *corev1.Pod, c *corev1.Container) {
			p.Annotations = map[string]string{long: "unconfined"}
			p.Spec.Volumes = []corev1.Volume{hostPathVolume(long, "/proc"+long), hostPathVolume("windows", strings.ReplaceAll(long, "/", `\`))}
			c.Name = long
			c.SecurityContext.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{corev1.Capability(long)}}
			c.VolumeMounts = []corev1.VolumeMount{{Name: long, MountPath: long}}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := safe("second")
			p := withContainer(pod.Main, c)
			tc.make(p, &p.Spec.Containers[1])
			for _, text := range []string{fuzzRules, fuzzRules + "scope: container\n", "blockFactors: [capabilities, hostPathWritable, sensitiveHostPath, allowPrivilegeEscalation]"} {
				rules := compile(t, text)
				start := time.Now()
				rules.Judge(Input{Pod: live(p), Container: "first", Subresource: "exec"})
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("took %v", took)
				}
			}
		})
	}
}
