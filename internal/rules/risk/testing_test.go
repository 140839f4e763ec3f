package risk

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// readPod reads the metadata and spec of a live pod.
func readPod(t testing.TB, text string) *pod.Pod {
	t.Helper()
	var p corev1.Pod
	if err := yaml.UnmarshalStrict([]byte(text), &p); err != nil {
		t.Fatalf("pod: %v", err)
	}
	return live(&p)
}

func live(p *corev1.Pod) *pod.Pod { return &pod.Pod{Meta: &p.ObjectMeta, Spec: &p.Spec, Live: true} }

// safe is a container that has no factor.
func safe(name string) corev1.Container {
	no := false
	return corev1.Container{Name: name, SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no}}
}

func readRules(t testing.TB, text string) v1alpha1.PodSecurityRules {
	t.Helper()
	var rules v1alpha1.PodSecurityRules
	if err := yaml.UnmarshalStrict([]byte(text), &rules); err != nil {
		t.Fatalf("rules: %v", err)
	}
	return rules
}

func compile(t testing.TB, text string) *Rules {
	t.Helper()
	rules := readRules(t, text)
	compiled, errs := Compile(&rules, field.NewPath("spec", "podSecurityRules"))
	if len(errs) > 0 {
		t.Fatalf("rules do not compile: %v", errs.ToAggregate())
	}
	return compiled
}

// everything blocks each factor, so that a verdict names all that a pod has.
func everything(t testing.TB) *Rules {
	t.Helper()
	var rules v1alpha1.PodSecurityRules
	for f := range numFactors {
		rules.BlockFactors = append(rules.BlockFactors, f.String())
	}
	compiled, errs := Compile(&rules, field.NewPath("spec"))
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return compiled
}

func factorsOf(t testing.TB, p *pod.Pod) []string {
	t.Helper()
	verdict := everything(t).Judge(Input{Pod: p, Subresource: "exec"})
	return verdict.Factors
}

// withContainer puts a container into one of the lists of a pod that has one
// safe container otherwise.
func withContainer(kind pod.Kind, c corev1.Container) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "default"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{safe("first")}},
	}
	switch kind {
	case pod.Init:
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	case pod.Main:
		p.Spec.Containers = append(p.Spec.Containers, c)
	default:
		p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{
			EphemeralContainerCommon: corev1.EphemeralContainerCommon(c),
		})
	}
	return p
}
