package pod

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// workerPods registers a kind whose pods stand in parts.
func workerPods(t *testing.T, completed bool) *Registry {
	t.Helper()
	r, err := Default().With(Registration{Group: "x.io", Kind: "Farm", Paths: []string{"spec.workers[*]"}, Completed: completed, Parts: []Part{
		{"run", "spec.containers"}, {"more.*", "spec.containers"}, {"first", "spec.initContainers"},
		{"meta", "metadata"}, {"$.spec.meta", "metadata"}, {"$.metadata.labels", "metadata.labels"},
		{"disks", "spec.volumes"}, {"$.spec.disks", "spec.volumes"},
		{"security", "spec.securityContext"}, {"$.spec.security", "spec.securityContext"},
		{"account", "spec.serviceAccountName"}, {"image", "container.image"}, {"pod", "spec"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func farm(spec string) []byte {
	return []byte(`{"apiVersion":"x.io/v1","kind":"Farm","metadata":{"name":"n","labels":{"of":"object"}},"spec":` + spec + `}`)
}

func TestAssembledPod(t *testing.T) {
	o, err := workerPods(t, false).Decode(schema.GroupVersionKind{}, farm(`{
		"security":{"runAsUser":1},"disks":[{"name":"shared"}],"meta":{"labels":{"team":"a","of":"spec"}},
		"workers":[
			{"run":{"image":"a","x":1},"more":{"b":{"name":"b","image":"b"},"c":{"image":"c"}},"disks":[{"name":"own"}],"meta":{"labels":{"team":"b"},"annotations":{"k":"v"}},"account":"s"},
			{"first":[{"image":"d"}],"security":{"runAsUser":2},"image":"e","run":null},
			{"dag":{}},
			{"pod":{"hostPID":true,"containers":[{"name":"f","image":"f"}]}}
		]}`))
	if err != nil || o.Fault != nil {
		t.Fatal(err, o.Fault)
	}
	if len(o.Pods) != 3 {
		t.Fatalf("%d pods", len(o.Pods))
	}
	var got []string
	for i := range o.Pods {
		p := &o.Pods[i]
		for c := range p.Containers() {
			got = append(got, p.ContainerPath(c, "image")+" "+c.Name+" "+c.Image)
		}
		got = append(got, p.FieldPath("spec.securityContext.runAsNonRoot"), p.FieldPath("spec.hostPID"))
	}
	want := []string{
		"spec.workers[0].run.image main a", "spec.workers[0].more.b.image b b", "spec.workers[0].more.c.image main-2 c",
		"spec.security.runAsNonRoot", "spec.workers[0].pod.hostPID",
		"spec.workers[1].first[0].image init d", "spec.workers[1].image main e",
		"spec.workers[1].security.runAsNonRoot", "spec.workers[1].pod.hostPID",
		"spec.workers[3].pod.containers[0].image f f",
		"spec.security.runAsNonRoot", "spec.workers[3].pod.hostPID",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	first := &o.Pods[0]
	if diff := cmp.Diff(map[string]string{"team": "b", "of": "spec"}, first.Meta.Labels); diff != "" {
		t.Error(diff)
	}
	if first.Meta.Annotations["k"] != "v" || first.Spec.ServiceAccountName != "s" || len(first.Spec.Volumes) != 2 || *first.Spec.SecurityContext.RunAsUser != 1 {
		t.Errorf("%+v", first.Spec)
	}
	if first.FieldPath("spec.volumes[1].hostPath") != "spec.disks[0].hostPath" || first.FieldPath("metadata.labels[of]") != "spec.meta.labels.of" {
		t.Error(first.FieldPath("spec.volumes[1].hostPath"), first.FieldPath("metadata.labels[of]"))
	}
	tree, err := first.Subtree(nil)
	if err != nil || len(tree["spec"].(map[string]any)["containers"].([]any)) != 3 {
		t.Error(tree, err)
	}
}

func TestAssembledPodFailsClosed(t *testing.T) {
	r := workerPods(t, false)
	for spec, want := range map[string]string{
		`{"workers":["x"]}`:                               "spec.workers[0]: found a string",
		`{"workers":{}}`:                                  "spec.workers",
		`{"workers":[{"run":"x"}]}`:                       "spec.workers[0].run",
		`{"workers":[{"run":{"image":3}}]}`:               "spec.workers[0].run.image",
		`{"workers":[{"run":{"ports":[{"name":true}]}}]}`: "spec.workers[0].run.ports[0].name",
		`{"workers":[{"more":[{}]}]}`:                     "spec.workers[0].more",
		`{"disks":{},"workers":[{"run":{}}]}`:             "spec.disks",
	} {
		o, err := r.Decode(schema.GroupVersionKind{}, farm(spec))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", spec, o, err)
		}
	}
	for spec, want := range map[string]string{
		`{"workers":[{"Run":{"image":"a"}}]}`:                                    "spec.workers[0].Run",
		`{"Workers":[{"run":{"image":"a"}}]}`:                                    "spec.Workers",
		`{"workers":[{"run":{"image":"a","SecurityContext":{}}}]}`:               "spec.workers[0].run.SecurityContext",
		`{"workers":[{"run":{"image":"a","securityContext":{"Privileged":1}}}]}`: "spec.workers[0].run.securityContext.Privileged",
		`{"Security":{},"workers":[{"run":{"image":"a"}}]}`:                      "spec.Security",
	} {
		o, err := r.Decode(schema.GroupVersionKind{}, farm(spec))
		if err != nil || o.Fault == nil || !strings.Contains(o.Fault.Error(), want) {
			t.Errorf("%s: %v, %v", spec, o.Fault, err)
		}
	}
}

// A list of such objects, and a revision of one, have the paths of their pods counted
// from the whole.
func TestAssembledPodBelow(t *testing.T) {
	r := workerPods(t, false)
	list := `{"apiVersion":"v1","kind":"List","items":[` + string(farm(`{"disks":[{"name":"d"}],"workers":[{"run":{"image":"a"}}]}`)) + `]}`
	o, err := r.Decode(schema.GroupVersionKind{}, []byte(list))
	if err != nil || len(o.Pods) != 1 {
		t.Fatal(o, err)
	}
	p := &o.Pods[0]
	if p.Path != "items[0].spec.workers[0]" || p.FieldPath("spec.containers[0].image") != "items[0].spec.workers[0].run.image" || p.FieldPath("spec.volumes[0].name") != "items[0].spec.disks[0].name" {
		t.Error(p.Path, p.FieldPath("spec.containers[0].image"), p.FieldPath("spec.volumes[0].name"))
	}
	if item := &o.Items[0].Pods[0]; item.FieldPath("spec.containers[0].image") != "spec.workers[0].run.image" {
		t.Error(item.FieldPath("spec.containers[0].image"))
	}
	revision := `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"n"},"data":{"spec":{"workers":[{"run":{"image":"a"}}]}}}`
	o, err = r.DecodeRevision([]byte(revision), schema.GroupKind{Group: "x.io", Kind: "Farm"})
	if err != nil || len(o.Pods) != 1 || o.Pods[0].FieldPath("spec.containers[0].image") != "data.spec.workers[0].run.image" {
		t.Error(o, err)
	}
}

// What is completed is a pod without containers too.
func TestCompletedPod(t *testing.T) {
	for spec, pods := range map[string]int{`{"workers":[{}]}`: 1, `{"security":{},"workers":[{"x":1}]}`: 1, `{}`: 0} {
		o, err := workerPods(t, true).Decode(schema.GroupVersionKind{}, farm(spec))
		if err != nil || len(o.Pods) != pods || pods > 0 && !o.Pods[0].Completed {
			t.Errorf("%s: %+v, %v", spec, o, err)
		}
	}
}

func TestResources(t *testing.T) {
	r := workerPods(t, false)
	got := map[string]bool{}
	for _, gr := range r.Resources(func(gk schema.GroupKind) (string, bool) { return "farmland", gk.Kind == "Farm" }) {
		got[gr.String()] = true
	}
	for _, want := range []string{"farmland.x.io", "workflows.argoproj.io", "prometheuses.monitoring.coreos.com", "elasticsearches.elasticsearch.k8s.elastic.co", "deploymentconfigs.apps.openshift.io", "clusterbuildstrategies.shipwright.io"} {
		if !got[want] {
			t.Errorf("%s is left out", want)
		}
	}
	if got["pods"] || got["deployments.apps"] || len(got) != len(r.Custom()) {
		t.Error("what is built in is among them, or something is twice")
	}
}
