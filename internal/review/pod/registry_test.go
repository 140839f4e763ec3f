package pod

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRegistrationsThatCannotWork(t *testing.T) {
	tests := []struct {
		name string
		regs []Registration
		want string
	}{
		{"no kind", []Registration{{Group: "x.io", Paths: []string{"spec"}}}, "belongs in the field kind"},
		{"version in the kind", []Registration{{Group: "x.io", Kind: "v1/X", Paths: []string{"spec"}}}, "belongs in the field kind"},
		{"version in the group", []Registration{{Group: "x.io/v1", Kind: "X", Paths: []string{"spec"}}}, "without a version"},
		{"wildcard", []Registration{{Group: "*", Kind: "X", Paths: []string{"spec"}}}, "belongs in the field group"},
		{"a list", []Registration{{Group: "x.io", Kind: "XList", Paths: []string{"items[*]"}}}, "lists are read by the kind of their items"},
		{"no paths", []Registration{{Group: "x.io", Kind: "X"}}, "pods in X.x.io: no paths are given"},
		{"built in", []Registration{{Group: "apps", Kind: "Deployment", Paths: []string{"spec.other"}}},
			"pods in Deployment.apps: the kind is built in and cannot be registered"},
		{"built in, other case", []Registration{{Kind: "pod", Paths: []string{"spec.other"}}}, "built in"},
		{"bad path", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"spec..x"}}}, `pods in X.x.io: path "spec..x"`},
		{"metadata", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"metadata.x"}}}, "no pods stand in metadata"},
		{"leading wildcard", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"*.template"}}}, "begins with a wildcard"},
		{"spec of the whole", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"."}, PodSpecOnly: true}},
			"an object is not a pod spec"},
		{"inside another", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"spec", "spec.template"}}},
			`path "spec.template" leads into the pod that path "spec" leads to`},
		{"inside another by a wildcard", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"spec.a.template", "spec.*"}}},
			`path "spec.a.template" leads into the pod that path "spec.*" leads to`},
		{"inside the whole", []Registration{{Group: "x.io", Kind: "X", Paths: []string{".", "spec.template"}}}, `leads into the pod that path "." leads to`},
		{"both kinds of pod", []Registration{
			{Group: "x.io", Kind: "X", Paths: []string{"spec.t"}},
			{Group: "x.io", Kind: "X", Paths: []string{"spec.t"}, PodSpecOnly: true},
		}, "both for pod templates and for pod specs"},
		{"both kinds of pod by a wildcard", []Registration{
			{Group: "x.io", Kind: "X", Paths: []string{"spec.l[*]"}},
			{Group: "x.io", Kind: "X", Paths: []string{"spec.l[0]"}, PodSpecOnly: true},
		}, "meet, one for pod specs and one for pod templates"},
		{"whole and completed", []Registration{
			{Group: "x.io", Kind: "X", Paths: []string{"spec.t"}},
			{Group: "x.io", Kind: "X", Paths: []string{"spec.t"}, Completed: true},
		}, "both for pod templates and for pod templates that are completed"},
		{"other parts", []Registration{
			{Group: "x.io", Kind: "X", Paths: []string{"spec.t"}, Parts: []Part{{"a", "spec.containers"}}},
			{Group: "x.io", Kind: "X", Paths: []string{"spec.t"}, Parts: []Part{{"b", "spec.containers"}}},
		}, "registered twice for parts of pods, and not for the same ones"},
		{"parts of a spec", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"spec"}, PodSpecOnly: true, Parts: []Part{{"a", "spec"}}}}, "either a pod spec or has parts"},
		{"parts of the whole", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"."}, Parts: []Part{{"a", "spec"}}}}, "an object is not a pod spec"},
		{"no containers", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"spec"}, Parts: []Part{{"a", "spec.volumes"}}}}, "no pod would be found"},
		{"no such field", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"spec"}, Parts: []Part{{"a", "spec.container"}}}}, `to "spec.container"`},
		{"no such field of a container", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"spec"}, Parts: []Part{{"a", "container.images"}}}}, `to "container.images"`},
		{"a bad way to a part", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"spec"}, Parts: []Part{{"a..b", "spec.containers"}}}}, `from: path "a..b"`},
		{"a part from a wildcard", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"spec"}, Parts: []Part{{"$.*.a", "spec.containers"}}}}, "begins with a wildcard"},
		{"other case", []Registration{{Group: "x.io", Kind: "X", Paths: []string{"spec"}}, {Group: "x.io", Kind: "x", Paths: []string{"spec"}}}, "the kind is written X.x.io"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewRegistry(tt.regs...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestEveryFaultyRegistrationIsNamed(t *testing.T) {
	_, err := NewRegistry(Registration{Group: "a", Kind: "A"}, Registration{Group: "b", Kind: "B", Paths: []string{"["}})
	if err == nil || !strings.Contains(err.Error(), "A.a") || !strings.Contains(err.Error(), "B.b") {
		t.Error(err)
	}
}

func TestWildcardsAndNamesMeet(t *testing.T) {
	r, err := NewRegistry(
		Registration{Group: "x.io", Kind: "X", Paths: []string{"spec.*.t", "spec.a.u", "spec.l[*][0]", "spec.l[1].v"}},
		Registration{Group: "x.io", Kind: "X", Paths: []string{"spec.s.pod"}, PodSpecOnly: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Makes(schema.GroupKind{Kind: "Pod"}) || !r.Makes(schema.GroupKind{Group: "x.io", Kind: "X"}) ||
		r.Makes(schema.GroupKind{Group: "y.io", Kind: "X"}) || r.Makes(schema.GroupKind{Kind: "ConfigMap"}) {
		t.Error("the registry holds other kinds than were registered")
	}
	raw := objectText("x.io/v3", "X", `"spec":{
		"z":{"t":T,"u":T},
		"a":{"u":T,"t":T},
		"s":{"pod":S,"t":T},
		"l":[[T,T],{"v":T}]
	}`)
	raw = []byte(strings.NewReplacer("[T,T]", "["+templateText+","+templateText+"]").Replace(string(raw)))
	o, err := r.Decode(gvkOf(t, "x.io/v3", "X"), raw)
	if err != nil {
		t.Fatal(err)
	}
	const field = ".containers[1].securityContext.privileged"
	want := []string{
		"spec.a.t.spec" + field, "spec.a.u.spec" + field, "spec.l[0][0].spec" + field, "spec.l[1].v.spec" + field,
		"spec.s.pod" + field, "spec.s.t.spec" + field, "spec.z.t.spec" + field,
	}
	if diff := cmp.Diff(want, fieldPathsOf(o)); diff != "" {
		t.Error(diff)
	}
	bare := o.Pods[4]
	if bare.FieldPath("spec") != "spec.s.pod" || bare.FieldPath("spec.hostPID") != "spec.s.pod.hostPID" {
		t.Errorf("fields of a bare spec stand at %s", bare.FieldPath("spec.hostPID"))
	}
}

func TestPathsAreOrderedByNumber(t *testing.T) {
	for i, a := range []string{"", "a", "a[9]", "a[9].b", "a[10].b", "b2", "b10"} {
		for j, b := range []string{"", "a", "a[9]", "a[9].b", "a[10].b", "b2", "b10"} {
			if got := comparePaths(a, b); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%q and %q compare as %d", a, b, got)
			}
		}
	}
}
