package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

func TestResembles(t *testing.T) {
	const containers = `"containers":[{"name":"x"},{"image":"a"}]`
	for text, want := range map[string]*Resemblance{
		`{"spec":{"template":{"spec":{` + containers + `}}}}`:               {"spec.template.spec.containers[1]", Registration{Paths: []string{"spec.template"}}},
		`{"spec":{"jobs":[{"x":1},{"pod":{"spec":{` + containers + `}}}]}}`: {"spec.jobs[1].pod.spec.containers[1]", Registration{Paths: []string{"spec.jobs[*].pod"}}},
		`{"spec":{` + containers + `}}`:                                     {"spec.containers[1]", Registration{Paths: []string{"spec"}, PodSpecOnly: true}},
		`{"spec":{"agent":{"initContainers":[{"image":"a"}]}}}`:             {"spec.agent.initContainers[0]", Registration{Paths: []string{"spec.agent"}, PodSpecOnly: true}},
		`{"spec":{"steps":[{"container":{"image":"a"}}]}}`: {"spec.steps[0].container",
			Registration{Paths: []string{"spec.steps[*]"}, Parts: []Part{{"container", "spec.containers"}}}},
		`{"metadata":{` + containers + `},"status":{` + containers + `}}`: nil,
		`{"spec":{"containers":["a"],"container":"b"}}`:                   nil,
		`{"spec":{"containers":[{"image":3}]}}`:                           nil,
	} {
		tree, err := apijson.Tree([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := Resembles(tree)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
		if got == nil {
			continue
		}
		got.Place.Group, got.Place.Kind = "x.io", "X"
		if _, err := NewRegistry(got.Place); err != nil {
			t.Errorf("%s: what is proposed does not work: %v", text, err)
		}
	}
}
