package standard

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// parse makes a pod of its YAML.
func parse(t testing.TB, manifest string) *pod.Pod {
	t.Helper()
	var object corev1.Pod
	if err := yaml.UnmarshalStrict([]byte(manifest), &object); err != nil {
		t.Fatalf("the pod does not parse: %v\n%s", err, manifest)
	}
	return podOf(&object)
}

func podOf(object *corev1.Pod) *pod.Pod {
	return &pod.Pod{Meta: &object.ObjectMeta, Spec: &object.Spec}
}

func mustNew(t testing.TB, level v1alpha1.StandardLevel, version string, hosts v1alpha1.ProbeHosts) *Standard {
	t.Helper()
	s, err := New(level, version, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newEvaluator is the judge of the PodSecurity admission plugin.
func newEvaluator(t testing.TB) policy.Evaluator {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return evaluator
}

// controlTest is one pod and what one check has to find in it.
type controlTest struct {
	name string
	// version is the latest where it is empty.
	version string
	pod     string
	// want is nil where the pod passes the check.
	want []decision.Finding
}

// testControl runs tests of one check, whatever the others find.
func testControl(t *testing.T, level v1alpha1.StandardLevel, id, control string, tests []controlTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := mustNew(t, level, test.version, v1alpha1.ProbeHostsKubernetes)
			var got []decision.Finding
			for _, v := range s.Check(parse(t, test.pod)) {
				if v.ID != id {
					continue
				}
				got = v.Findings
				if v.Control != control || v.Reason == "" {
					t.Errorf("control %q, reason %q", v.Control, v.Reason)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings of %s at %s (-want +got):\n%s", id, s, diff)
			}
		})
	}
}
