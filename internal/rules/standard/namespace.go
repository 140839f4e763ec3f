package standard

import (
	"fmt"

	"k8s.io/pod-security-admission/api"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// Levels are the three standards that a namespace asks for. None is nil.
type Levels struct {
	Enforce, Audit, Warn *Standard
}

// ForNamespace reads the standards of a namespace from its labels, as the
// PodSecurity admission plugin does: a missing label leaves what defaults say,
// privileged:latest where they say nothing, and warn follows a stricter enforce
// label. A level that is wrong counts as restricted for enforce and as
// privileged for audit and warn, a version that is wrong as the latest.
//
// There is always an answer. The errors say what was wrong with the labels and
// the defaults; without labels they are only about the defaults, of which a
// wrong level counts as restricted.
func ForNamespace(labels map[string]string, defaults *v1alpha1.StandardDefaults, hosts v1alpha1.ProbeHosts) (Levels, []error) {
	fallback, errs := policyOf(defaults)
	policy, labelErrs := api.PolicyToEvaluate(labels, fallback)
	for _, err := range labelErrs {
		errs = append(errs, err)
	}
	standard := func(lv api.LevelVersion) *Standard {
		s, err := New(v1alpha1.StandardLevel(lv.Level), lv.Version.String(), hosts)
		if err == nil {
			return s
		}
		errs = append(errs, err)
		return standards().standards[tableKey{v1alpha1.LevelRestricted, api.VersionLatest, v1alpha1.ProbeHostsKubernetes}]
	}
	levels := Levels{
		Enforce: standard(policy.Enforce),
		Audit:   standard(policy.Audit),
		Warn:    standard(policy.Warn),
	}
	return levels, errs
}

// policyOf is the policy of a namespace without labels.
func policyOf(defaults *v1alpha1.StandardDefaults) (api.Policy, []error) {
	if defaults == nil {
		defaults = &v1alpha1.StandardDefaults{}
	}
	var errs []error
	parse := func(mode string, level v1alpha1.StandardLevel, version string) api.LevelVersion {
		lv := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
		var err error
		if level != "" {
			if lv.Level, err = api.ParseLevel(string(level)); err != nil {
				errs = append(errs, fmt.Errorf("defaults.%s: level %q is unknown: it %w", mode, level, err))
			}
		}
		if version != "" {
			if lv.Version, err = api.ParseVersion(version); err != nil {
				errs = append(errs, fmt.Errorf("defaults.%s-version: version %q is unknown: it %w", mode, version, err))
			}
		}
		return lv
	}
	policy := api.Policy{
		Enforce: parse("enforce", defaults.Enforce, defaults.EnforceVersion),
		Audit:   parse("audit", defaults.Audit, defaults.AuditVersion),
		Warn:    parse("warn", defaults.Warn, defaults.WarnVersion),
	}
	return policy, errs
}
