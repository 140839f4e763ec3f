package policy

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestBrokenPodKindSpares asks what a PodKind that cannot work leaves out, by what it
// says of its kinds.
func TestBrokenPodKindSpares(t *testing.T) {
	object := func(raw string) *pod.Object { return &pod.Object{Raw: []byte(raw)} }
	before, after := object(`{"spec":{"a":1}}`), object(`{"spec":{"a":2}}`)
	touched := object(`{"metadata":{"labels":{"a":"b"}},"spec":{"a":1},"status":{"b":1}}`)
	farm, wide := "spec: {group: y.io, kinds: [Yard], pods: [{path: a..b}]}", "spec: 3"
	for _, c := range []struct {
		name, kindOf, group, kind, subresource string
		operation                              request.Operation
		old, object                            *pod.Object
		spared                                 bool
	}{
		{"created", farm, "y.io", "Yard", "", request.Create, nil, after, false},
		{"created by one that names no kinds", wide, "z.io", "Z", "", request.Create, nil, after, false},
		{"a kind of Kubernetes in a group with a dot", wide, "networking.k8s.io", "Ingress", "", request.Create, nil, after, true},
		{"a kind of Kubernetes that makes pods", wide, "batch", "Job", "", request.Create, nil, after, true},
		{"a group without a dot, which no definition can have", wide, "servers", "Server", "", request.Create, nil, after, true},
		{"a group of Kubernetes' projects", wide, "cluster.x-k8s.io", "Machine", "", request.Create, nil, after, false},
		{"a subresource", farm, "y.io", "Yard", "scale", request.Create, nil, after, true},
		{"without an object", farm, "y.io", "Yard", "", request.Create, nil, nil, true},
		{"removed", farm, "y.io", "Yard", "", request.Delete, before, before, true},
		{"entered", farm, "y.io", "Yard", "", request.Connect, before, after, true},
		{"changed", farm, "y.io", "Yard", "", request.Update, before, after, false},
		{"changed, from something not shown", farm, "y.io", "Yard", "", request.Update, nil, after, false},
		{"changed, from something that cannot be read", farm, "y.io", "Yard", "", request.Update, object(`{`), object(`{`), false},
		{"changed only in metadata and status", farm, "y.io", "Yard", "", request.Update, before, touched, true},
		{"not changed, but created", farm, "y.io", "Yard", "", request.Create, before, before, false},
	} {
		inCluster := asStored(t, yamlOf("PodKind", "p", c.kindOf))[0]
		broken := stored.NewBroken(inCluster, stored.Problems{{Kind: stored.KindPodKind, Name: "p", Detail: "x"}})
		r := &request.Request{
			Kind: schema.GroupVersionKind{Group: c.group, Version: "v1", Kind: c.kind}, Subresource: c.subresource,
			Operation: c.operation, OldObject: c.old, Object: c.object,
		}
		if spared := clusterpolicy.SparesAsPodKind(broken, r); spared != c.spared {
			t.Errorf("%s: spared is %v", c.name, spared)
		}
	}
}

// TestBrokenPodKindOfGroupsThatCannotExist holds one that names no group, or several, or
// no kinds, to be about every custom kind.
func TestBrokenPodKindOfGroupsThatCannotExist(t *testing.T) {
	for _, group := range []string{`""`, `"*"`, `"*.io"`, `"y.?o"`, "y.io/v1", `"y. io"`} {
		store, _ := started(t, yamlOf("PodKind", "p", "spec: {group: "+group+", kinds: [Yard], pods: [{path: spec}]}"))
		set := store.Set()
		if d := set.Decide(t.Context(), writes(t, set, dirtyFarm)); !d.Refuses() {
			t.Errorf("group %s: Farm.x.io is let in: %s", group, messages(d))
		}
	}
	for _, kinds := range []string{"[]", "3", "[{a: b}]", "[Yard, 3]", `[""]`} {
		store, _ := started(t, yamlOf("PodKind", "p", "spec: {group: y.io, kinds: "+kinds+", pods: [{path: spec}]}"))
		if d := store.Set().Decide(t.Context(), writes(t, store.Set(), dirtyFarm)); !d.Refuses() {
			t.Errorf("kinds %s: Farm.x.io is let in: %s", kinds, messages(d))
		}
	}
	store, _ := started(t, yamlOf("PodKind", "p", "spec: {group: y.io, kinds: [Yard], pods: [{path: a..b}]}"))
	if d := store.Set().Decide(t.Context(), writes(t, store.Set(), dirtyFarm)); d.Refuses() {
		t.Errorf("a kind that is not named is refused: %s", messages(d))
	}
}
