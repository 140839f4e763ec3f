package standard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

var bothHosts = []v1alpha1.ProbeHosts{v1alpha1.ProbeHostsKEP4940, v1alpha1.ProbeHostsKubernetes}

// TestEveryCheckHasAControl fails when the library comes to know a check, or a
// revision of one, that this package does not, and the other way round.
func TestEveryCheckHasAControl(t *testing.T) {
	t.Parallel()
	library := map[string]bool{}
	for _, check := range policy.DefaultChecks() {
		for _, revision := range check.Versions {
			library[fmt.Sprintf("%s since %s", check.ID, revision.MinimumVersion)] = true
		}
	}
	for _, hosts := range bothHosts {
		ours := map[string]bool{}
		names := map[policy.CheckID]string{}
		for _, c := range controlsFor(hosts) {
			key := fmt.Sprintf("%s since v1.%d", c.id, c.since)
			if ours[key] {
				t.Errorf("%s: two controls for %s", hosts, key)
			}
			ours[key] = true
			if c.pod == nil && c.container == nil {
				t.Errorf("%s: the control for %s judges nothing", hosts, key)
			}
			if known, ok := names[c.id]; c.name == "" || ok && known != c.name {
				t.Errorf("%s: %s is named %q and %q", hosts, c.id, known, c.name)
			}
			names[c.id] = c.name
		}
		if diff := cmp.Diff(library, ours); diff != "" {
			t.Errorf("%s: checks of the library (-) and controls (+):\n%s", hosts, diff)
		}
	}
}

// TestPlansAreTheLibrarys compares the number of checks at every level and
// version; which ones they are is compared by what they say of pods.
func TestPlansAreTheLibrarys(t *testing.T) {
	t.Parallel()
	evaluator := newEvaluator(t)
	for key, s := range standards().standards {
		want := len(evaluator.EvaluatePod(libraryLevel(t, s), &metav1.ObjectMeta{}, &corev1.PodSpec{}))
		if got := len(s.plan.steps); got != want {
			t.Errorf("%v: %d checks, the library has %d", key, got, want)
		}
		for _, step := range s.plan.steps {
			if step.control == nil {
				t.Errorf("%v: %s is left to the library", key, step.id)
			}
		}
	}
}

// libraryLevel is a standard in the library's terms.
func libraryLevel(t testing.TB, s *Standard) api.LevelVersion {
	t.Helper()
	version, err := api.ParseVersion(s.Version())
	if err != nil {
		t.Fatal(err)
	}
	return api.LevelVersion{Level: api.Level(s.Level()), Version: version}
}

// TestUnknownChecksAreJudged holds that what the library knows and this package
// does not is left to the library, and is never skipped.
func TestUnknownChecksAreJudged(t *testing.T) {
	t.Parallel()
	refuse := func(reason, detail string) policy.CheckPodFn {
		return func(meta *metav1.ObjectMeta, _ *corev1.PodSpec) policy.CheckResult {
			return policy.CheckResult{Allowed: meta.Name == "good", ForbiddenReason: reason, ForbiddenDetail: detail}
		}
	}
	checks := []policy.Check{
		{
			ID:    "newCheck",
			Level: api.LevelBaseline,
			Versions: []policy.VersionedCheck{
				{MinimumVersion: api.MajorMinorVersion(1, 40), CheckPod: refuse("new thing", "has it")},
				{MinimumVersion: api.MajorMinorVersion(1, 41), CheckPod: refuse("", "")},
			},
		},
		{
			ID:    "privileged",
			Level: api.LevelBaseline,
			Versions: []policy.VersionedCheck{
				{MinimumVersion: api.MajorMinorVersion(1, 0), CheckPod: refuse("privileged", "old")},
				{MinimumVersion: api.MajorMinorVersion(1, 41), CheckPod: refuse("privileged", "stricter")},
			},
		},
		{
			ID:    "newRestricted",
			Level: api.LevelRestricted,
			Versions: []policy.VersionedCheck{
				{MinimumVersion: api.MajorMinorVersion(1, 41), CheckPod: refuse("replaced", ""), OverrideCheckIDs: []policy.CheckID{"newCheck"}},
			},
		},
	}
	table := newTable(checks, controlsFor)
	bad := parse(t, `{metadata: {name: bad}, spec: {containers: [{name: a, image: a}]}}`)
	bad.Path = "spec.template"
	good := parse(t, `{metadata: {name: good}, spec: {containers: [{name: a, image: a}]}}`)

	violation := func(id, control string, level v1alpha1.StandardLevel, reason, detail, finding string) Violation {
		return Violation{
			ID: id, Control: control, Level: level, Reason: reason, Detail: detail,
			Findings: []decision.Finding{{Path: "spec.template.spec", Detail: finding}},
		}
	}
	unnamed := violation("newCheck", "newCheck", "baseline", "unknown forbidden reason", "", "")
	stricter := violation("privileged", "Privileged Containers", "baseline", "privileged", "stricter", "stricter")
	replaced := violation("newRestricted", "newRestricted", "restricted", "replaced", "", "replaced")
	tests := []struct {
		level   v1alpha1.StandardLevel
		version string
		want    []Violation
	}{
		{"baseline", "v1.39", nil},
		{"baseline", "v1.40", []Violation{violation("newCheck", "newCheck", "baseline", "new thing", "has it", "has it")}},
		{"baseline", "v1.41", []Violation{unnamed, stricter}},
		{"baseline", "latest", []Violation{unnamed, stricter}},
		{"restricted", "latest", []Violation{stricter, replaced}},
		{"privileged", "latest", nil},
	}
	for _, test := range tests {
		t.Run(string(test.level)+" "+test.version, func(t *testing.T) {
			for _, hosts := range bothHosts {
				s := table.standards[tableKey{test.level, test.version, hosts}]
				if diff := cmp.Diff(test.want, s.Check(bad), cmpopts.IgnoreUnexported(Violation{})); diff != "" {
					t.Errorf("%s (-want +got):\n%s", hosts, diff)
				}
				if got := s.Check(good); got != nil {
					t.Errorf("%s: a pod that complies: %v", hosts, got)
				}
			}
		})
	}
}

// TestStricterReadingHolds covers a control that finds what the library lets
// through: the pod is denied, in words of our own.
func TestStricterReadingHolds(t *testing.T) {
	t.Parallel()
	lenient := []policy.Check{{
		ID:    "privileged",
		Level: api.LevelBaseline,
		Versions: []policy.VersionedCheck{{
			MinimumVersion: api.MajorMinorVersion(1, 0),
			CheckPod: func(*metav1.ObjectMeta, *corev1.PodSpec) policy.CheckResult {
				return policy.CheckResult{Allowed: true}
			},
		}},
	}}
	s := newTable(lenient, controlsFor).standards[tableKey{"baseline", "latest", v1alpha1.ProbeHostsKubernetes}]
	got := Message(s.Check(parse(t, `{spec: {containers: [{name: a, image: a, securityContext: {privileged: true}}]}}`)))
	if want := "privileged (spec.containers[0].securityContext.privileged)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestManyChecks goes past the width of the mask of excused checks: there, a
// pod is not excused, and nothing breaks.
func TestManyChecks(t *testing.T) {
	t.Parallel()
	var checks []policy.Check
	var controls []control
	for i := range 70 {
		id := policy.CheckID(fmt.Sprintf("check%02d", i))
		checks = append(checks, policy.Check{ID: id, Level: api.LevelBaseline, Versions: []policy.VersionedCheck{{
			MinimumVersion: api.MajorMinorVersion(1, 0),
			CheckPod: func(*metav1.ObjectMeta, *corev1.PodSpec) policy.CheckResult {
				return policy.CheckResult{ForbiddenReason: string(id)}
			},
		}}})
		controls = append(controls, control{id: id, name: "many", unless: onWindows, container: judgePrivilegeEscalation})
	}
	table := newTable(checks, func(v1alpha1.ProbeHosts) []control { return controls })
	s := table.standards[tableKey{"baseline", "latest", v1alpha1.ProbeHostsKEP4940}]
	got := Message(s.Check(parse(t, `{spec: {os: {name: windows}, containers: [{name: a, image: a}]}}`)))
	if want := "check64, check65, check66, check67, check68, check69"; got != want {
		t.Errorf("excused from all but %q", got)
	}
	linux := s.Check(parse(t, `{spec: {containers: [{name: a, image: a}]}}`))
	if len(linux) != 70 || !strings.HasPrefix(Message(linux), "check00, check01") {
		t.Errorf("%d violations: %s", len(linux), Message(linux))
	}
}
