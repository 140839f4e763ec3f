package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

func TestDefaultContainer(t *testing.T) {
	const lists = `"initContainers":[{"name":"i"}],"containers":[{"name":"a"},{"name":"b"}],"ephemeralContainers":[{"name":"e"}]`
	tests := []struct{ name, annotation, spec, want string }{
		{"the first", ``, lists, "a"},
		{"the annotated one", `b`, lists, "b"},
		{"an init container", `i`, lists, "i"},
		{"an ephemeral container", `e`, lists, "e"},
		{"an annotation that names none", `c`, lists, "a"},
		{"no containers", `c`, ``, ""},
		{"no main containers", ``, `"initContainers":[{"name":"i"}]`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p corev1.Pod
			text := `{"metadata":{"annotations":{"kubectl.kubernetes.io/default-container":"` + tt.annotation + `"}},"spec":{` + tt.spec + `}}`
			if err := apijson.Unmarshal([]byte(text), &p); err != nil {
				t.Fatal(err)
			}
			if got := DefaultContainer(&p); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestContainerNamed(t *testing.T) {
	p := mustDecode(t, podGVK, `{"spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"a"}],"ephemeralContainers":[{"name":"e"}]}}`).Pods[0]
	for name, want := range map[string]string{"i": "spec.initContainers[0]", "a": "spec.containers[0]", "e": "spec.ephemeralContainers[0]"} {
		c, ok := p.ContainerNamed(name)
		if !ok || p.ContainerPath(c, "") != want {
			t.Errorf("%s: %v at %s", name, ok, p.ContainerPath(c, ""))
		}
	}
	if _, ok := p.ContainerNamed(""); ok {
		t.Error("a container without a name was found")
	}
}

func TestServiceAccountName(t *testing.T) {
	for spec, want := range map[string]string{
		`{}`: "default", `{"serviceAccountName":"a"}`: "a", `{"serviceAccount":"b"}`: "b", `{"serviceAccountName":"a","serviceAccount":"b"}`: "a",
	} {
		if got := mustDecode(t, podGVK, `{"spec":`+spec+`}`).Pods[0].ServiceAccountName(); got != want {
			t.Errorf("%s: %s, want %s", spec, got, want)
		}
	}
}
