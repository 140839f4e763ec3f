package standard

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// parseExclusions reads a list of exclusions from YAML.
func parseExclusions(t testing.TB, text string) []v1alpha1.PodSecurityExclusion {
	t.Helper()
	var list []v1alpha1.PodSecurityExclusion
	if err := yaml.UnmarshalStrict([]byte(text), &list); err != nil {
		t.Fatalf("the exclusions do not parse: %v\n%s", err, text)
	}
	return list
}

func compileExclusions(t testing.TB, list []v1alpha1.PodSecurityExclusion) Exclusions {
	t.Helper()
	x, errs := CompileExclusions(list, field.NewPath("exclude"))
	if len(errs) > 0 {
		t.Fatalf("%v", errs.ToAggregate())
	}
	return x
}

func mustExclude(t testing.TB, text string) Exclusions {
	t.Helper()
	return compileExclusions(t, parseExclusions(t, text))
}

// excuseTest is a pod, what is excused of one of its controls, and what has to be
// left.
type excuseTest struct {
	name string
	// level is restricted, and version the latest, where they are empty.
	level   v1alpha1.StandardLevel
	version string
	pod     string
	exclude string
	// left is the message about the controls that are tested, "" where nothing
	// is left, and paths are those of the findings in it.
	left  string
	paths []string
	used  []int
}

// testExcuse runs tests of some controls, whatever the pods violate of others.
func testExcuse(t *testing.T, controls []string, tests []excuseTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			level := test.level
			if level == "" {
				level = v1alpha1.LevelRestricted
			}
			s := mustNew(t, level, test.version, v1alpha1.ProbeHostsKubernetes)
			p := parse(t, test.pod)
			violations := ofControls(s.Check(p), controls)
			if len(violations) == 0 {
				t.Fatal("there is nothing to excuse")
			}
			before := Message(violations)
			left, used := mustExclude(t, test.exclude).Excuse(p, violations)
			checkLeft(t, left, used, test.left, test.paths, test.used)
			if after := Message(violations); after != before {
				t.Errorf("the violations were changed from %q to %q", before, after)
			}
		})
	}
}

func checkLeft(t *testing.T, left []Violation, used []int, message string, paths []string, wantUsed []int) {
	t.Helper()
	if diff := cmp.Diff(message, Message(left)); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(paths, pathsOf(left)); diff != "" {
		t.Errorf("findings that are left (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantUsed, used); diff != "" {
		t.Errorf("entries used (-want +got):\n%s", diff)
	}
}

func ofControls(violations []Violation, controls []string) []Violation {
	var some []Violation
	for _, v := range violations {
		for _, control := range controls {
			if v.Control == control {
				some = append(some, v)
			}
		}
	}
	return some
}

func pathsOf(violations []Violation) []string {
	var paths []string
	for _, v := range violations {
		for _, f := range v.Findings {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// inTemplate is the pod as the template of a workload.
func inTemplate(p *pod.Pod) *pod.Pod {
	template := *p
	template.Path = "spec.template"
	return &template
}
