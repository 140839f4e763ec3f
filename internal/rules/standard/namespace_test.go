package standard

import (
	"strings"
	"testing"

	"k8s.io/pod-security-admission/api"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

func TestForNamespace(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                 string
		labels               map[string]string
		defaults             *v1alpha1.StandardDefaults
		enforce, audit, warn string
		// errors are parts of the messages, in order.
		errors []string
	}{
		{name: "nothing", enforce: "privileged:latest", audit: "privileged:latest", warn: "privileged:latest"},
		{
			name:    "warn follows enforce",
			labels:  map[string]string{"enforce": "baseline", "enforce-version": "v1.30"},
			enforce: "baseline:v1.30", audit: "privileged:latest", warn: "baseline:v1.30",
		},
		{
			name:    "warn keeps its own version",
			labels:  map[string]string{"enforce": "baseline", "enforce-version": "v1.30", "warn-version": "v1.31"},
			enforce: "baseline:v1.30", audit: "privileged:latest", warn: "baseline:v1.31",
		},
		{
			name:    "warn says otherwise",
			labels:  map[string]string{"enforce": "restricted", "warn": "privileged"},
			enforce: "restricted:latest", audit: "privileged:latest", warn: "privileged:latest",
		},
		{
			name:     "defaults",
			defaults: &v1alpha1.StandardDefaults{Enforce: "baseline", EnforceVersion: "v1.29", Audit: "restricted", WarnVersion: "v1.28"},
			enforce:  "baseline:v1.29", audit: "restricted:latest", warn: "privileged:v1.28",
		},
		{
			name:     "labels over defaults",
			labels:   map[string]string{"enforce": "privileged", "audit-version": "v1.25"},
			defaults: &v1alpha1.StandardDefaults{Enforce: "baseline", EnforceVersion: "v1.29", Audit: "restricted", Warn: "baseline"},
			enforce:  "privileged:v1.29", audit: "restricted:v1.25", warn: "baseline:latest",
		},
		{
			name:    "wrong levels",
			labels:  map[string]string{"enforce": "Baseline", "audit": "", "warn": "none"},
			enforce: "restricted:latest", audit: "privileged:latest", warn: "privileged:latest",
			errors: []string{
				`metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "Baseline": must be one of privileged, baseline, restricted`,
				"pod-security.kubernetes.io/audit", "pod-security.kubernetes.io/warn",
			},
		},
		{
			name:    "wrong versions",
			labels:  map[string]string{"enforce": "baseline", "enforce-version": "1.30", "audit": "baseline", "audit-version": "v1", "warn-version": "v2.0"},
			enforce: "baseline:latest", audit: "baseline:latest", warn: "baseline:latest",
			errors: []string{
				`metadata.labels[pod-security.kubernetes.io/enforce-version]: Invalid value: "1.30": must be "latest" or "v1.x"`,
				"audit-version", "warn-version",
			},
		},
		{
			name:    "version of the future",
			labels:  map[string]string{"enforce": "restricted", "enforce-version": "v1.400"},
			enforce: "restricted:v1.400", audit: "privileged:latest", warn: "restricted:v1.400",
		},
		{
			name:     "wrong defaults",
			defaults: &v1alpha1.StandardDefaults{Enforce: "high", Audit: "namespace", WarnVersion: "1"},
			enforce:  "restricted:latest", audit: "restricted:latest", warn: "privileged:latest",
			errors: []string{
				`defaults.enforce: level "high" is unknown: it must be one of privileged, baseline, restricted`,
				`defaults.audit: level "namespace"`,
				`defaults.warn-version: version "1" is unknown: it must be "latest" or "v1.x"`,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			labels := map[string]string{"kubernetes.io/metadata.name": "shop"}
			for key, value := range test.labels {
				labels["pod-security.kubernetes.io/"+key] = value
			}
			levels, errs := ForNamespace(labels, test.defaults, v1alpha1.ProbeHostsKEP4940)
			for _, mode := range []struct{ name, got, want string }{
				{"enforce", levels.Enforce.String(), test.enforce},
				{"audit", levels.Audit.String(), test.audit},
				{"warn", levels.Warn.String(), test.warn},
			} {
				if mode.got != mode.want {
					t.Errorf("%s is %s, want %s", mode.name, mode.got, mode.want)
				}
			}
			if len(errs) != len(test.errors) {
				t.Fatalf("errors %v", errs)
			}
			for i, want := range test.errors {
				if !strings.Contains(errs[i].Error(), want) {
					t.Errorf("error %q, want %q", errs[i], want)
				}
			}
		})
	}
}

// TestNamespaceLabelsAreTheLibrarys goes through every combination of a few
// values of the labels.
func TestNamespaceLabelsAreTheLibrarys(t *testing.T) {
	t.Parallel()
	levels := []string{"-", "privileged", "baseline", "restricted", "Restricted"}
	versions := []string{"-", "v1.30", "30"}
	keys := []string{api.EnforceLevelLabel, api.AuditLevelLabel, api.WarnLevelLabel, api.EnforceVersionLabel, api.AuditVersionLabel, api.WarnVersionLabel}
	values := [][]string{levels, levels, levels, versions, versions, versions}
	defaults := api.Policy{
		Enforce: api.LevelVersion{Level: "baseline", Version: api.LatestVersion()},
		Audit:   api.LevelVersion{Level: "privileged", Version: api.MajorMinorVersion(1, 20)},
		Warn:    api.LevelVersion{Level: "baseline", Version: api.MajorMinorVersion(1, 25)},
	}
	ours := &v1alpha1.StandardDefaults{Enforce: "baseline", AuditVersion: "v1.20", Warn: "baseline", WarnVersion: "v1.25"}
	var walk func(labels map[string]string, next int)
	walk = func(labels map[string]string, next int) {
		if next < len(keys) {
			for _, value := range values[next] {
				delete(labels, keys[next])
				if value != "-" {
					labels[keys[next]] = value
				}
				walk(labels, next+1)
			}
			delete(labels, keys[next])
			return
		}
		want, wantErrs := api.PolicyToEvaluate(labels, defaults)
		got, errs := ForNamespace(labels, ours, "")
		if got.Enforce.String() != want.Enforce.String() || got.Audit.String() != want.Audit.String() || got.Warn.String() != want.Warn.String() || len(errs) != len(wantErrs) {
			t.Errorf("%v: %s %s %s, errors %v; the library says %s", labels, got.Enforce, got.Audit, got.Warn, errs, &want)
		}
	}
	walk(map[string]string{}, 0)
}

func TestForNamespaceWithUnknownHosts(t *testing.T) {
	t.Parallel()
	levels, errs := ForNamespace(nil, nil, "anything")
	if len(errs) == 0 {
		t.Error("no error")
	}
	for _, s := range []*Standard{levels.Enforce, levels.Audit, levels.Warn} {
		if s == nil || s.String() != "restricted:latest" {
			t.Errorf("got %v", s)
		}
	}
}
