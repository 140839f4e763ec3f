package pod_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/standard"
)

// manifest is an object in the shape that its project's users write, and the paths at
// which it breaks the baseline standard.
type manifest struct {
	text string
	want []string
}

func shippedManifests(t *testing.T) []manifest {
	t.Helper()
	files, err := filepath.Glob("testdata/shipped/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all []manifest
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for text := range strings.SplitSeq(string(data), "\n---\n") {
			m := manifest{text: text}
			for line := range strings.Lines(text) {
				if path, ok := strings.CutPrefix(line, "# "); ok {
					m.want = append(m.want, strings.TrimSpace(path))
				}
			}
			all = append(all, m)
		}
	}
	return all
}

// TestShippedKinds finds what breaks the baseline standard in a manifest of each kind
// that is shipped, at its path, and nothing else.
func TestShippedKinds(t *testing.T) {
	baseline, err := standard.New("baseline", "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range shippedManifests(t) {
		raw, err := yaml.YAMLToJSON([]byte(m.text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, m.text)
		}
		object, err := pod.Default().Decode(schema.GroupVersionKind{}, raw)
		if err != nil {
			t.Errorf("%v in\n%s", err, m.text)
			continue
		}
		t.Run(object.GVK.GroupKind().String(), func(t *testing.T) {
			var got []string
			tree, err := object.Tree()
			if err != nil || object.Fault != nil {
				t.Fatal(err, object.Fault)
			}
			for i := range object.Pods {
				p := &object.Pods[i]
				if subtree, err := p.Subtree(tree); err != nil || subtree["spec"] == nil && subtree["metadata"] == nil {
					t.Errorf("%s: the tree of the pod is %v, %v", p.Path, subtree, err)
				}
				for _, violation := range baseline.Check(p) {
					for _, finding := range violation.Findings {
						got = append(got, finding.Path)
						if relative, ok := p.Relative(finding.Path); !ok || p.FieldPath(relative) != finding.Path {
							t.Errorf("%s is relative %s, %v, which is %s", finding.Path, relative, ok, p.FieldPath(relative))
						}
					}
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(m.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if n := len(pod.Projects()); n < 40 {
		t.Errorf("%d projects are shipped", n)
	}
}
