// Package standard judges pods by the Pod Security Standards. Which checks hold
// at which level and version is read from the library that Kubernetes itself
// uses, and so are the words of a denial; this package adds where in the pod
// each violation stands, and takes one walk over the pod for all of them.
package standard

import (
	"fmt"

	"k8s.io/pod-security-admission/api"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Standard is one level at one version in one reading of the check on probe
// hosts. It is immutable. Standards of a released version are shared, so that
// equal ones are the same pointer.
type Standard struct {
	level   v1alpha1.StandardLevel
	version string
	plan    *plan
}

// New returns the standard of a level (privileged, baseline or restricted) at a
// version: "v1.N", or "latest" for which "" may stand. A version that is newer
// than the last change of the standards is judged as the latest. Empty hosts
// means kep-4940.
func New(level v1alpha1.StandardLevel, version string, hosts v1alpha1.ProbeHosts) (*Standard, error) {
	if version == "" {
		version = api.VersionLatest
	}
	if hosts == "" {
		hosts = v1alpha1.ProbeHostsKEP4940
	}
	t := standards()
	if s, ok := t.standards[tableKey{level, version, hosts}]; ok {
		return s, nil
	}
	// Whatever is not in the table is wrong, or a version of the future.
	latest, ok := t.standards[tableKey{level, api.VersionLatest, hosts}]
	if !ok {
		return nil, reject(level, hosts)
	}
	if _, err := api.ParseVersion(version); err != nil {
		return nil, fmt.Errorf(`version %q of the Pod Security Standards is unknown: it %w such as "v1.34"`, version, err)
	}
	return &Standard{level: level, version: version, plan: latest.plan}, nil
}

// reject says which of level and hosts is unknown.
func reject(level v1alpha1.StandardLevel, hosts v1alpha1.ProbeHosts) error {
	switch level {
	case v1alpha1.LevelPrivileged, v1alpha1.LevelBaseline, v1alpha1.LevelRestricted:
		return fmt.Errorf("probeHosts %q is unknown: it must be %s or %s", hosts, v1alpha1.ProbeHostsKEP4940, v1alpha1.ProbeHostsKubernetes)
	case v1alpha1.LevelNamespace:
		return fmt.Errorf("level %q has no checks of its own: it stands for the levels that the labels of a namespace name", level)
	default:
		return fmt.Errorf("level %q is unknown: it must be %s, %s or %s", level, v1alpha1.LevelPrivileged, v1alpha1.LevelBaseline, v1alpha1.LevelRestricted)
	}
}

// Level is the level as it was asked for.
func (s *Standard) Level() v1alpha1.StandardLevel { return s.level }

// Version is the version as it was asked for: "latest" or "v1.N".
func (s *Standard) Version() string { return s.version }

// LowerThan reports whether the standard asks for less than another: a lower level
// or, of one level, an earlier version. A later version counts as no lower, although
// single checks of it let in what earlier ones did not. Nothing is lower than
// privileged, whatever its version.
func (s *Standard) LowerThan(other *Standard) bool {
	if s.level != other.level {
		return api.CompareLevels(api.Level(s.level), api.Level(other.level)) < 0
	}
	if s.level == v1alpha1.LevelPrivileged {
		return false
	}
	a, err := api.ParseVersion(s.version)
	if err != nil {
		return true
	}
	b, err := api.ParseVersion(other.version)
	return err != nil || a.Older(b)
}

// String is level and version as the PodSecurity admission plugin writes them:
// "restricted:latest".
func (s *Standard) String() string { return string(s.level) + ":" + s.version }

// Check judges a pod and returns what it violates: baseline checks first, then
// restricted ones, each by the order of their ids. A pod that complies gives
// nil, and nothing is allocated for it.
func (s *Standard) Check(p *pod.Pod) []Violation {
	if p.Completed {
		p = completed(p)
	}
	walk := scans.Get().(*scan)
	walk.over(p, s.plan)
	violations := walk.violations(s.plan)
	walk.release()
	return violations
}
