package standard

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// fewestFixtures guards against a directory that was moved or emptied.
const fewestFixtures = 4500

// TestFixtures judges every pod that the library's own tests come with, at the
// level and version of its directory: the verdict is the directory's, and the
// words are the library's.
func TestFixtures(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/pod-security-admission").Output()
	if err != nil {
		t.Fatalf("the module with the fixtures is not found: %v", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "test", "testdata")
	files, err := filepath.Glob(filepath.Join(root, "*", "v1.*", "*", "*.yaml"))
	if err != nil || len(files) < fewestFixtures {
		t.Fatalf("%d fixtures below %s, error %v", len(files), root, err)
	}
	byVersion := map[string][]string{}
	for _, file := range files {
		dir := filepath.Dir(filepath.Dir(file))
		byVersion[dir] = append(byVersion[dir], file)
	}
	evaluator := newEvaluator(t)
	for dir, files := range byVersion {
		level, version := filepath.Base(filepath.Dir(dir)), filepath.Base(dir)
		t.Run(level+" "+version, func(t *testing.T) {
			t.Parallel()
			s := mustNew(t, v1alpha1.StandardLevel(level), version, v1alpha1.ProbeHostsKubernetes)
			for _, file := range files {
				p := podOf(readFixture(t, file))
				complies := filepath.Base(filepath.Dir(file)) == "pass"
				violations := s.Check(p)
				if got := len(violations) == 0; got != complies {
					t.Errorf("%s: complies is %t: %s", file, got, Message(violations))
				}
				compareWithLibrary(t, evaluator, s, p, violations)
				compareWithPod(t, untyped(t, p), violations)
			}
		})
	}
}

func readFixture(t *testing.T, file string) *corev1.Pod {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var object corev1.Pod
	if err := yaml.UnmarshalStrict(data, &object); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	// The fixtures are what a user writes; the library judges what the API
	// server makes of it.
	for i := range object.Spec.Volumes {
		if source := &object.Spec.Volumes[i].VolumeSource; *source == (corev1.VolumeSource{}) {
			source.EmptyDir = &corev1.EmptyDirVolumeSource{}
		}
	}
	return &object
}

// said is what the library says of a check that failed.
type said struct{ Reason, Detail string }

// compareWithLibrary fails the test where violations are not the library's, in
// its words and its order.
func compareWithLibrary(t *testing.T, evaluator policy.Evaluator, s *Standard, p *pod.Pod, violations []Violation) {
	t.Helper()
	var want, got []said
	var results []policy.CheckResult
	for _, result := range evaluator.EvaluatePod(libraryLevel(t, s), p.Meta, p.Spec) {
		if !result.Allowed {
			want = append(want, said{result.ForbiddenReason, result.ForbiddenDetail})
			results = append(results, result)
		}
	}
	for _, v := range violations {
		got = append(got, said{v.Reason, v.Detail})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s of pod %s (-library +ours):\n%s", s, p.Meta.Name, diff)
	}
	aggregate := policy.AggregateCheckResults(results)
	if message := Message(violations); message != aggregate.ForbiddenDetail() {
		t.Errorf("%s of pod %s: message %q, the library says %q", s, p.Meta.Name, message, aggregate.ForbiddenDetail())
	}
}
