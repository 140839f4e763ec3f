package pod

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestSignificantUpdate(t *testing.T) {
	const spec = `"containers":[{"name":"a","image":"x:1"}],"initContainers":[{"name":"i","image":"x:1"}]`
	const ephemeral = spec + `,"ephemeralContainers":[{"name":"e","image":"x:1"}]`
	pod := func(meta, spec string) string { return `{"metadata":{` + meta + `},"spec":{` + spec + `}}` }
	template := func(object, meta, spec string) string {
		return `{"metadata":{` + object + `},"spec":{"replicas":1,"template":{"metadata":{` + meta + `},"spec":{` + spec + `}}}}`
	}
	plain := pod(``, spec)
	tests := []struct {
		name     string
		gvk      schema.GroupVersionKind
		old, new string
		want     bool
	}{
		{"nothing", podGVK, plain, plain, false},
		{"labels", podGVK, plain, pod(`"labels":{"a":"b"}`, spec), false},
		{"annotations", podGVK, plain, pod(`"annotations":{"a":"b"}`, spec), false},
		{"finalizers and owners", podGVK, pod(`"finalizers":["x"]`, spec), pod(`"ownerReferences":[{"name":"x"}],"deletionTimestamp":"2026-01-01T00:00:00Z"`, spec), false},
		{"image", podGVK, plain, pod(``, `"containers":[{"name":"a","image":"x:2"}],"initContainers":[{"name":"i","image":"x:1"}]`), true},
		{"image of an init container", podGVK, plain, pod(``, `"containers":[{"name":"a","image":"x:1"}],"initContainers":[{"name":"i","image":"x:2"}]`), true},
		{"image of an ephemeral container", podGVK, pod(``, ephemeral), pod(``, spec+`,"ephemeralContainers":[{"name":"e","image":"x:2"}]`), true},
		{"new ephemeral container", podGVK, plain, pod(``, ephemeral), true},
		{"removed ephemeral container", podGVK, pod(``, ephemeral), plain, true},
		{"changed ephemeral container", podGVK, pod(``, ephemeral), pod(``, spec+`,"ephemeralContainers":[{"name":"e","image":"x:1","securityContext":{"privileged":true}}]`), true},
		{"new container", podGVK, plain, pod(``, `"containers":[{"name":"a","image":"x:1"},{"name":"b"}],"initContainers":[{"name":"i","image":"x:1"}]`), true},
		{"security context", podGVK, plain, pod(``, spec+`,"securityContext":{"runAsUser":0}`), true},
		{"an empty security context", podGVK, plain, pod(``, spec+`,"volumes":[]`), false},
		{"host network", podGVK, plain, pod(``, spec+`,"hostNetwork":true`), true},
		{"volume", podGVK, plain, pod(``, spec+`,"volumes":[{"name":"v","hostPath":{"path":"/"}}]`), true},
		{"service account", podGVK, plain, pod(``, spec+`,"serviceAccountName":"x"`), true},
		{"runtime class", podGVK, plain, pod(``, spec+`,"runtimeClassName":"x"`), true},
		{"scheduling", podGVK, pod(``, spec+`,"schedulingGates":[{"name":"x"}]`), pod(``, spec+`,"nodeSelector":{"a":"b"},"affinity":{},"tolerations":[{"key":"x"}]`), false},
		{"lifetime", podGVK, plain, pod(``, spec+`,"activeDeadlineSeconds":5,"terminationGracePeriodSeconds":1`), false},
		{"resources", podGVK, plain, pod(``, `"containers":[{"name":"a","image":"x:1","resources":{"limits":{"cpu":"2"}}}],"initContainers":[{"name":"i","image":"x:1"}]`), false},
		{"AppArmor annotation", podGVK, plain, pod(`"annotations":{"container.apparmor.security.beta.kubernetes.io/a":"unconfined"}`, spec), true},
		{"seccomp annotation of the pod", podGVK, plain, pod(`"annotations":{"seccomp.security.alpha.kubernetes.io/pod":"unconfined"}`, spec), true},
		{"seccomp annotation of a container", podGVK, pod(`"annotations":{"container.seccomp.security.alpha.kubernetes.io/a":"x"}`, spec), plain, true},
		{"same annotation", podGVK, pod(`"annotations":{"container.apparmor.security.beta.kubernetes.io/a":"x","b":"c"}`, spec),
			pod(`"annotations":{"container.apparmor.security.beta.kubernetes.io/a":"x"}`, spec), false},

		{"template: nothing", deploymentGVK, template(``, ``, spec), template(`"labels":{"a":"b"}`, ``, spec+`,"volumes":[]`), false},
		{"template: label", deploymentGVK, template(``, ``, spec), template(``, `"labels":{"a":"b"}`, spec), true},
		{"template: resources", deploymentGVK, template(``, ``, spec), template(``, ``, spec+`,"terminationGracePeriodSeconds":1`), true},
		{"template: gone", deploymentGVK, template(``, ``, spec), `{"spec":{}}`, true},
		{"template: new", deploymentGVK, `{"spec":{}}`, template(``, ``, spec), true},
		{"no pods", schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, `{"data":{"a":"b"}}`, `{"data":{"a":"c"}}`, false},
		{"moved", schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "TFJob"},
			`{"spec":{"tfReplicaSpecs":{"PS":{"template":{}}}}}`, `{"spec":{"tfReplicaSpecs":{"Chief":{"template":{}}}}}`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old, updated := mustDecode(t, tt.gvk, tt.old), mustDecode(t, tt.gvk, tt.new)
			if got := SignificantUpdate(old, updated); got != tt.want {
				t.Errorf("got %v", got)
			}
			if got := SignificantUpdate(updated, old); got != tt.want {
				t.Errorf("the other way round: %v", got)
			}
			again := mustDecode(t, tt.gvk, tt.new)
			if SignificantUpdate(updated, again) {
				t.Error("comparing changed the object")
			}
		})
	}
}

func TestWhatCannotBeComparedIsSignificant(t *testing.T) {
	o := mustDecode(t, podGVK, `{}`)
	if !SignificantUpdate(nil, o) || !SignificantUpdate(o, nil) || !SignificantUpdate(o, mustDecode(t, deploymentGVK, `{}`)) {
		t.Error("an update was passed over that nobody compared")
	}
}
