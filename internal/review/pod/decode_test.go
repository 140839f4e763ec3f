package pod

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

var (
	podGVK        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	deploymentGVK = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func mustDecode(t testing.TB, gvk schema.GroupVersionKind, raw string) *Object {
	t.Helper()
	o, err := Default().Decode(gvk, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestDecodeErrors(t *testing.T) {
	none := schema.GroupVersionKind{}
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	tests := []struct {
		name string
		gvk  schema.GroupVersionKind
		raw  string
		want string
	}{
		{"nothing", podGVK, ``, "the Pod cannot be read: nothing was found, JSON belongs here"},
		{"null", podGVK, ` null `, "the Pod cannot be read: found null, an object belongs here"},
		{"null for a template", deploymentGVK, `null`, "the Deployment cannot be read: found null, an object belongs here"},
		{"null for another", configMap, `null`, "the ConfigMap cannot be read: found null, an object belongs here"},
		{"null for no kind", none, `null`, "the object cannot be read: found null, an object belongs here"},
		{"a list", podGVK, `[]`, "the Pod cannot be read: found a list, an object belongs here"},
		{"trailing data", podGVK, `{} {}`, "the Pod cannot be read: not JSON: invalid character '{' after top-level value, at byte 3"},
		{"field", podGVK, `{"spec":{"containers":[{"name":"a"},{"name":1}]}}`,
			"the Pod cannot be read: spec.containers[1].name: found a number, a string belongs here: write it in quotes"},
		{"field of a template", deploymentGVK, `{"spec":{"template":{"spec":{"hostPID":"no"}}}}`,
			"the Deployment cannot be read: spec.template.spec.hostPID: found a string, true or false belongs here"},
		{"way to a template", deploymentGVK, `{"spec":[]}`, "the Deployment cannot be read: spec: found a list, an object belongs here"},
		{"duplicate", deploymentGVK, `{"spec":{"template":{},"template":{}}}`,
			"the Deployment cannot be read: spec.template: stands more than once in the same object"},
		{"duplicate beside", deploymentGVK, `{"spec":{},"status":{"a":1,"a":1}}`,
			"the Deployment cannot be read: status.a: stands more than once in the same object"},
		{"metadata", configMap, `{"metadata":[]}`, "the ConfigMap cannot be read: metadata: found a list, an object belongs here"},
		{"other kind", podGVK, `{"apiVersion":"v1","kind":"ConfigMap"}`,
			`the Pod cannot be read: kind: found "ConfigMap", "Pod" was expected`},
		{"other version", deploymentGVK, `{"apiVersion":"apps/v1beta1","kind":"Deployment"}`,
			`the Deployment cannot be read: apiVersion: found "apps/v1beta1", "apps/v1" was expected`},
		{"other group", podGVK, `{"apiVersion":"apps/v1","kind":"Pod"}`,
			`the Pod cannot be read: apiVersion: found "apps/v1", "v1" was expected`},
		{"other kind for no pod", configMap, `{"kind":"Pod"}`, `the ConfigMap cannot be read: kind: found "Pod", "ConfigMap" was expected`},
		{"no kind", none, `{"apiVersion":"v1"}`,
			`the object cannot be read: kind: nothing was found, a kind such as "Pod" belongs here`},
		{"no version", none, `{"kind":"Pod"}`,
			`the object cannot be read: apiVersion: nothing was found, a version such as "v1" or "apps/v1" belongs here`},
		{"odd version", none, `{"kind":"Pod","apiVersion":"a/b/c"}`,
			`the object cannot be read: apiVersion: found "a/b/c", a version such as "v1" or "apps/v1" belongs here`},
		{"kind of another case", none, `{"kind":"pod","apiVersion":"v1"}`,
			`the object cannot be read: kind: found pod, the kind is written Pod`},
		{"group of another case", none, `{"kind":"Deployment","apiVersion":"Apps/v1"}`,
			`the object cannot be read: kind: found Deployment.Apps, the kind is written Deployment.apps`},
		{"a pod with items", podGVK, `{"kind":"Pod","spec":{},"items":[]}`,
			`the Pod cannot be read: items: an object that makes pods holds no items; with them it would be applied as a list`},
		{"a deployment with items", deploymentGVK, `{"items":[{"kind":"Pod"}]}`,
			`the Deployment cannot be read: items: an object that makes pods holds no items; with them it would be applied as a list`},
		{"revision", schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"},
			`{"data":{"spec":{"template":{"spec":1}}}}`,
			`the ControllerRevision cannot be read: data.spec.template.spec: found a number, an object belongs here`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := Default().Decode(tt.gvk, []byte(tt.raw))
			if err == nil {
				t.Fatalf("no error, and %d pods", len(o.Pods))
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
			var own *apijson.Error
			if !errors.As(err, &own) {
				t.Errorf("%#v wraps no *wire.Error", err)
			}
		})
	}
}

func TestDecodeOfOtherKinds(t *testing.T) {
	o := mustDecode(t, schema.GroupVersionKind{}, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"},"data":{"a":"b"}}`)
	if o.GVK.Kind != "ConfigMap" || o.Meta.Name != "c" || len(o.Pods) != 0 {
		t.Errorf("%+v", o)
	}
	o = mustDecode(t, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, `{"data":{"a":"b"}}`)
	if o.Meta == nil {
		t.Error("no metadata at all")
	}
	o = mustDecode(t, podGVK, `{"metadata":{"managedFields":[{"manager":"m"}],"labels":{"a":"b"}}}`)
	if o.Meta.ManagedFields != nil || o.Meta.Labels["a"] != "b" || o.Pods[0].Meta != o.Meta {
		t.Errorf("%+v", o.Meta)
	}
	// A virtual machine has a template that is none of a pod.
	o = mustDecode(t, schema.GroupVersionKind{}, `{"kind":"VirtualMachine","apiVersion":"kubevirt.io/v1",
		"metadata":null,"spec":{"template":{"spec":{"volumes":[{"name":1}]}}}}`)
	if len(o.Pods) != 0 || o.Meta == nil {
		t.Errorf("%+v", o)
	}
}

func TestDecodeIgnoresWhatTheAPIServerIgnores(t *testing.T) {
	o := mustDecode(t, podGVK, `{"Spec":{"hostPID":true},"spec":{"hostNetwork":true,"HostIPC":true,
		"containers":[{"name":"a","securityContext":{"Privileged":true}}]}}`)
	spec := o.Pods[0].Spec
	if spec.HostPID || spec.HostIPC || !spec.HostNetwork || spec.Containers[0].SecurityContext.Privileged != nil {
		t.Errorf("%+v", spec)
	}
}

func TestRevisions(t *testing.T) {
	revision := func(owner, data string) string {
		refs := ""
		if owner != "" {
			refs = `"ownerReferences":[{"controller":true,` + owner + `}]`
		}
		return `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{` + refs + `},"data":` +
			strings.ReplaceAll(data, ":T", ":"+templateText) + `}`
	}
	tests := []struct {
		name, owner, data string
		want              []string
	}{
		{"a stateful set's", `"apiVersion":"apps/v1","kind":"StatefulSet"`, `{"spec":{"template":T}}`, []string{"data.spec.template"}},
		{"nobody's", ``, `{"spec":{"template":T}}`, []string{"data.spec.template"}},
		{"of an owner that cannot be read", `"apiVersion":"a/b/c","kind":"X"`, `{"spec":{"template":T}}`, []string{"data.spec.template"}},
		{"of groups of pods", `"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet"`,
			`{"spec":{"leaderWorkerTemplate":{"workerTemplate":T}}}`, []string{"data.spec.leaderWorkerTemplate.workerTemplate"}},
		{"a virtual machine's", `"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine"`,
			`{"spec":{"template":{"spec":{"volumes":"x"}}}}`, nil},
		{"a revision's", `"apiVersion":"apps/v1","kind":"ControllerRevision"`, `{"data":{"spec":{"template":T}}}`, nil},
		{"a pod's", `"apiVersion":"v1","kind":"Pod"`, `{"spec":{}}`, nil},
		{"empty", ``, `null`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := mustDecode(t, schema.GroupVersionKind{}, revision(tt.owner, tt.data))
			var got []string
			for _, p := range o.Pods {
				got = append(got, p.Path)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRecordedUpdate(t *testing.T) {
	var review struct {
		Request struct {
			Object, OldObject apijson.Raw
		} `json:"request"`
	}
	data := strings.NewReplacer(`"object":`, `"Object":`, `"oldObject":`, `"OldObject":`).Replace(string(readFile(t, "review-update.json")))
	if err := apijson.Unmarshal([]byte(data), &review); err != nil {
		t.Fatal(err)
	}
	o := mustDecode(t, podGVK, string(review.Request.Object))
	old := mustDecode(t, podGVK, string(review.Request.OldObject))
	c, ok := o.Pods[0].ContainerNamed("dbg1")
	if !ok || c.Kind != Ephemeral || o.Pods[0].ContainerPath(c, "securityContext.capabilities.add[0]") !=
		"spec.ephemeralContainers[0].securityContext.capabilities.add[0]" {
		t.Errorf("the debugging container was not found: %+v", c)
	}
	if !SignificantUpdate(old, o) || SignificantUpdate(o, o) {
		t.Error("the debugging container does not count")
	}
}

func TestTree(t *testing.T) {
	o := mustDecode(t, podGVK, `{"spec":{"priority":5,"x":1.5}}`)
	tree, err := o.Tree()
	want := map[string]any{"spec": map[string]any{"priority": int64(5), "x": 1.5}}
	if diff := cmp.Diff(want, tree); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := (&Object{}).Tree(); err == nil {
		t.Error("an object without JSON gave a tree")
	}
	live := FromPod(&corev1.Pod{})
	if !live.Live || live.Meta == nil || live.Spec == nil || live.Path != "" {
		t.Errorf("%+v", live)
	}
}
