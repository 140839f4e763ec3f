package standard

import (
	"testing"

	"k8s.io/pod-security-admission/policy"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// everyStandard lists the standards of a reading of probe hosts that are in the
// table.
func everyStandard(hosts v1alpha1.ProbeHosts) []*Standard {
	var all []*Standard
	for key, s := range standards().standards {
		if key.hosts == hosts {
			all = append(all, s)
		}
	}
	return all
}

// FuzzAgainstLibrary makes a pod of each seed and compares verdict, reasons and
// details with the library's at every level and version, and findings with the
// pod.
func FuzzAgainstLibrary(f *testing.F) {
	for seed := range int64(150) {
		f.Add(seed)
	}
	evaluator := newEvaluator(f)
	all := everyStandard(v1alpha1.ProbeHostsKubernetes)
	kep := everyStandard(v1alpha1.ProbeHostsKEP4940)
	f.Fuzz(func(t *testing.T, seed int64) {
		p := randomPod(seed)
		object := untyped(t, p)
		for _, s := range all {
			violations := s.Check(p)
			compareWithLibrary(t, evaluator, s, p, violations)
			compareWithPod(t, object, violations)
		}
		for _, s := range kep {
			compareReadings(t, s, p, object)
		}
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
}

// compareReadings holds that the reading of KEP-4940 differs only in probe
// hosts, and there only in letting two addresses through.
func compareReadings(t *testing.T, s *Standard, p *pod.Pod, object any) {
	t.Helper()
	violations := s.Check(p)
	compareWithPod(t, object, violations)
	strict := mustNew(t, s.level, s.version, v1alpha1.ProbeHostsKubernetes).Check(p)
	var others, probes []Violation
	for _, v := range violations {
		if v.ID == string(hostProbesID) {
			probes = append(probes, v)
		} else {
			others = append(others, v)
		}
	}
	for _, v := range strict {
		if v.ID != string(hostProbesID) {
			if len(others) == 0 || others[0].ID != v.ID || others[0].Detail != v.Detail {
				t.Fatalf("%s: %s is judged in only one reading", s, v.ID)
			}
			others = others[1:]
			continue
		}
		want := 0
		for _, finding := range v.Findings {
			if finding.Value != "127.0.0.1" && finding.Value != "::1" {
				want++
			}
		}
		got := 0
		for _, probe := range probes {
			got += len(probe.Findings)
		}
		if got != want {
			t.Errorf("%s: %d probe hosts, want %d", s, got, want)
		}
		probes = nil
	}
	if len(others)+len(probes) > 0 {
		t.Errorf("%s: the reading of KEP-4940 is stricter: %v %v", s, others, probes)
	}
}

// TestGeneratorReaches holds that the random pods pass and fail each check, so
// that the comparison means something.
func TestGeneratorReaches(t *testing.T) {
	t.Parallel()
	failed, passed := map[string]int{}, map[string]int{}
	complies := 0
	restricted := []*Standard{
		mustNew(t, v1alpha1.LevelRestricted, "latest", v1alpha1.ProbeHostsKubernetes),
		mustNew(t, v1alpha1.LevelBaseline, "latest", v1alpha1.ProbeHostsKubernetes),
		mustNew(t, v1alpha1.LevelRestricted, "v1.18", v1alpha1.ProbeHostsKubernetes),
	}
	for seed := range int64(300) {
		p := randomPod(seed)
		for _, s := range restricted {
			for _, step := range s.plan.steps {
				passed[string(step.id)]++
			}
			violations := s.Check(p)
			for _, v := range violations {
				failed[v.ID]++
				passed[v.ID]--
			}
			if len(violations) == 0 {
				complies++
			}
		}
	}
	if complies == 0 {
		t.Error("no pod complies with anything")
	}
	for _, check := range policy.DefaultChecks() {
		id := string(check.ID)
		if failed[id] < 5 || passed[id] < 5 {
			t.Errorf("%s: %d fail, %d pass", id, failed[id], passed[id])
		}
	}
}
