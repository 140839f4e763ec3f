package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// files writes a directory of files by name and returns its path.
func files(t *testing.T, byName map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range byName {
		writeFile(t, filepath.Join(dir, name), text)
	}
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// documents joins objects and YAML texts to one multi-document text.
func documents(t *testing.T, objects ...any) string {
	t.Helper()
	var parts []string
	for _, o := range objects {
		text, isText := o.(string)
		if !isText {
			raw, err := yaml.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			text = string(raw)
		}
		parts = append(parts, strings.TrimSpace(text)+"\n")
	}
	return strings.Join(parts, "---\n")
}

// denyPolicy returns a DenyPolicy with podSecurityRules in YAML's flow form.
func denyPolicy(name, podSecurityRules string) string {
	return denyPolicySpec(name, "podSecurityRules: "+podSecurityRules)
}

// denyPolicySpec returns a DenyPolicy whose spec is the given YAML, unindented.
func denyPolicySpec(name, spec string) string {
	return fmt.Sprintf("apiVersion: sallyport.io/v1alpha1\nkind: DenyPolicy\nmetadata:\n  name: %s\nspec:\n%s\n", name, indent(spec))
}

// podSecurityPolicy returns a ClusterPolicy with one rule about Pods, of the
// policy's own name.
func podSecurityPolicy(name, action, podSecurity string) string {
	return clusterPolicy(name, action, fmt.Sprintf(
		"- name: %s\n  match: {any: [{resources: {kinds: [Pod]}}]}\n  validate: {podSecurity: %s}", name, podSecurity))
}

// clusterPolicy returns a ClusterPolicy with rules in YAML, unindented.
func clusterPolicy(name, action, rules string) string {
	return fmt.Sprintf("apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata:\n  name: %s\nspec:\n  validationFailureAction: %s\n  rules:\n%s\n",
		name, action, indent(indent(rules)))
}

func indent(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	return strings.Join(lines, "\n")
}

// change makes a pod differ from the safe one.
type change func(*corev1.Pod)

// newPod returns a pod that no standard and no risk factor finds fault with,
// changed as asked.
func newPod(namespace, name string, changes ...change) *corev1.Pod {
	p := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: ptr(false),
			Containers:                   []corev1.Container{safeContainer("app")},
		},
	}
	for _, c := range changes {
		c(p)
	}
	return p
}

func safeContainer(name string) corev1.Container {
	return corev1.Container{Name: name, Image: "example.com/app:1", SecurityContext: &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr(false),
		RunAsNonRoot:             ptr(true),
		RunAsUser:                ptr(int64(1000)),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}}
}

func ptr[T any](v T) *T { return &v }

func hostNetwork(p *corev1.Pod) { p.Spec.HostNetwork = true }
func hostPID(p *corev1.Pod)     { p.Spec.HostPID = true }
func hostIPC(p *corev1.Pod)     { p.Spec.HostIPC = true }

// first changes the security context of the pod's first container.
func first(f func(*corev1.SecurityContext)) change {
	return func(p *corev1.Pod) { f(p.Spec.Containers[0].SecurityContext) }
}

// sidecar adds a second container with a changed security context.
func sidecar(f func(*corev1.SecurityContext)) change {
	return func(p *corev1.Pod) {
		c := safeContainer("sidecar")
		f(c.SecurityContext)
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
}

// initial adds an init container with a changed security context.
func initial(f func(*corev1.SecurityContext)) change {
	return func(p *corev1.Pod) {
		c := safeContainer("setup")
		f(c.SecurityContext)
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
}

// ephemeral adds an ephemeral container with a changed security context.
func ephemeral(f func(*corev1.SecurityContext)) change {
	return func(p *corev1.Pod) {
		c := safeContainer("debugger")
		f(c.SecurityContext)
		p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers,
			corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
				Name: c.Name, Image: c.Image, SecurityContext: c.SecurityContext}})
	}
}

func privileged(s *corev1.SecurityContext) {
	s.Privileged, s.AllowPrivilegeEscalation = ptr(true), nil
}

func root(s *corev1.SecurityContext) { s.RunAsUser, s.RunAsNonRoot = ptr(int64(0)), nil }

// adding returns a change of a security context that adds capabilities.
func adding(capabilities ...corev1.Capability) func(*corev1.SecurityContext) {
	return func(s *corev1.SecurityContext) { s.Capabilities.Add = capabilities }
}

// hostPath adds a volume of a host's path and mounts it in the first container.
func hostPath(volume, path string, readOnly bool) change {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: volume,
			VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}})
		mount(0, volume, readOnly)(p)
	}
}

// mount mounts a volume in the container of that index.
func mount(container int, volume string, readOnly bool) change {
	return func(p *corev1.Pod) {
		c := &p.Spec.Containers[container]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{
			Name: volume, ReadOnly: readOnly, MountPath: fmt.Sprintf("/mnt/%s-%d", volume, len(c.VolumeMounts))})
	}
}

// labelled sets labels by alternating keys and values.
func labelled(pairs ...string) change {
	return func(p *corev1.Pod) {
		p.Labels = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			p.Labels[pairs[i]] = pairs[i+1]
		}
	}
}

// securityContext shortens the tables.
type securityContext = corev1.SecurityContext

// corePod shortens them as well.
type corePod = corev1.Pod
