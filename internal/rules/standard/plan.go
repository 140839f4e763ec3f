package standard

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// plan is what one level at one version takes to judge a pod.
type plan struct {
	steps []step
	// containers are the steps that look into containers.
	containers []containerStep
}

// step is one check in the revision that holds.
type step struct {
	id    policy.CheckID
	name  string
	level v1alpha1.StandardLevel
	// library is the check as Kubernetes has it.
	library policy.CheckPodFn
	// control is ours. It is nil for a check, or a revision of one, that this
	// package does not know: then the library judges.
	control *control
	// under are the baseline checks that this one took the place of, and that
	// are of another control. Nil where there are none.
	under *plan
}

// containerStep is the part of a step that looks into containers.
type containerStep struct {
	index int
	judge func(*scan, pod.Container)
}

// violation is what the step found in the pod, put into words.
func (s *step) violation(p *pod.Pod, findings []decision.Finding) Violation {
	v := Violation{ID: string(s.id), Control: s.name, Level: s.level, Findings: findings, step: s, all: findings}
	if s.control != nil && s.control.says != nil {
		v.Reason, v.Detail = s.control.says(p)
		return v
	}
	result := s.library(p.Meta, p.Spec)
	if result.Allowed {
		// The two readings differ. The stricter one holds, in its own words.
		paths := make([]string, len(findings))
		for i := range findings {
			paths[i] = findings[i].Path
		}
		v.Reason, v.Detail = string(s.id), strings.Join(paths, ", ")
		return v
	}
	v.Reason, v.Detail = result.ForbiddenReason, result.ForbiddenDetail
	if v.Reason == "" {
		v.Reason = policy.UnknownForbiddenReason
	}
	return v
}

// tableKey names a standard.
type tableKey struct {
	level   v1alpha1.StandardLevel
	version string
	hosts   v1alpha1.ProbeHosts
}

// table holds every standard up to the version that last changed one, and the
// latest.
type table struct {
	standards map[tableKey]*Standard
}

// standards is the table of the library's checks.
var standards = sync.OnceValue(func() *table {
	return newTable(policy.DefaultChecks(), controlsFor)
})

// newTable works the standards out of the library's checks and of the controls
// in each reading of probe hosts.
func newTable(checks []policy.Check, controls func(v1alpha1.ProbeHosts) []control) *table {
	checks = slices.Clone(checks)
	slices.SortFunc(checks, func(a, b policy.Check) int { return cmp.Compare(a.ID, b.ID) })
	newest := 0
	for _, check := range checks {
		for _, revision := range check.Versions {
			newest = max(newest, revision.MinimumVersion.Minor())
		}
	}
	t := &table{standards: map[tableKey]*Standard{}}
	for _, hosts := range []v1alpha1.ProbeHosts{v1alpha1.ProbeHostsKEP4940, v1alpha1.ProbeHostsKubernetes} {
		known := controls(hosts)
		for _, level := range []v1alpha1.StandardLevel{v1alpha1.LevelPrivileged, v1alpha1.LevelBaseline, v1alpha1.LevelRestricted} {
			var last *plan
			for minor := 0; minor <= newest; minor++ {
				last = newPlan(level, minor, checks, known)
				t.put(level, "v1."+strconv.Itoa(minor), hosts, last)
			}
			t.put(level, api.VersionLatest, hosts, last)
		}
	}
	return t
}

func (t *table) put(level v1alpha1.StandardLevel, version string, hosts v1alpha1.ProbeHosts, p *plan) {
	t.standards[tableKey{level, version, hosts}] = &Standard{level: level, version: version, plan: p}
}

// newPlan makes the plan of a level at a minor version from checks that are
// sorted by id.
func newPlan(level v1alpha1.StandardLevel, minor int, checks []policy.Check, controls []control) *plan {
	if level == v1alpha1.LevelPrivileged {
		return &plan{}
	}
	var baseline, restricted []step
	// overrides says for each restricted step which checks it takes the place of.
	var overrides [][]policy.CheckID
	for i := range checks {
		check := &checks[i]
		revision := revisionAt(check, minor)
		if revision == nil {
			continue
		}
		s := newStep(check, revision, controls)
		if s.level == v1alpha1.LevelBaseline {
			baseline = append(baseline, s)
			continue
		}
		restricted = append(restricted, s)
		overrides = append(overrides, revision.OverrideCheckIDs)
	}
	if level == v1alpha1.LevelBaseline {
		return planOf(baseline)
	}
	for i := range restricted {
		restricted[i].under = planUnder(&restricted[i], overrides[i], baseline)
	}
	overridden := slices.Concat(overrides...)
	steps := slices.DeleteFunc(baseline, func(s step) bool { return slices.Contains(overridden, s.id) })
	return planOf(append(steps, restricted...))
}

// planOf is the plan of the given steps.
func planOf(steps []step) *plan {
	p := &plan{steps: steps}
	for i := range p.steps {
		if c := p.steps[i].control; c != nil && c.container != nil {
			p.containers = append(p.containers, containerStep{i, c.container})
		}
	}
	return p
}

// planUnder is the plan of the baseline steps that a restricted one takes the
// place of under the name of another control, nil if there are none.
func planUnder(restricted *step, overrides []policy.CheckID, baseline []step) *plan {
	var under []step
	for i := range baseline {
		if slices.Contains(overrides, baseline[i].id) && baseline[i].name != restricted.name {
			under = append(under, baseline[i])
		}
	}
	if under == nil {
		return nil
	}
	return planOf(under)
}

// revisionAt returns the revision of a check that holds at a minor version, nil
// where the check does not exist yet.
func revisionAt(check *policy.Check, minor int) *policy.VersionedCheck {
	var found *policy.VersionedCheck
	for i := range check.Versions {
		if check.Versions[i].MinimumVersion.Minor() <= minor {
			found = &check.Versions[i]
		}
	}
	return found
}

// newStep joins a revision of a check with the control that reads it.
func newStep(check *policy.Check, revision *policy.VersionedCheck, controls []control) step {
	s := step{
		id:      check.ID,
		name:    string(check.ID),
		level:   v1alpha1.LevelBaseline,
		library: revision.CheckPod,
	}
	if check.Level == api.LevelRestricted {
		s.level = v1alpha1.LevelRestricted
	}
	for i := range controls {
		c := &controls[i]
		if c.id != check.ID {
			continue
		}
		s.name = c.name
		if c.since == revision.MinimumVersion.Minor() {
			s.control = c
		}
	}
	return s
}
