package standard

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

func TestCompileExclusionsRefuses(t *testing.T) {
	t.Parallel()
	const add = `spec.containers[*].securityContext.capabilities.add`
	tests := []struct {
		name, exclude string
		// want are pieces of the one error.
		want []string
	}{
		{"no name", `[{}]`, []string{"exclude[0].controlName: Required", `"HostProcess"`, `"Running as Non-root user"`}},
		{"an unknown name", `[{controlName: Made Up Entirely}]`, []string{`exclude[0].controlName: Invalid value: "Made Up Entirely": is not a control of the Pod Security Standards. The controls are "HostProcess", "Host Namespaces"`}},
		{"a name in another case", `[{controlName: capabilities, images: ["*"]}]`, []string{`did you mean "Capabilities"?`, `"/proc Mount Type"`}},
		{"a name with a letter too few", `[{controlName: Host Namespace}]`, []string{`did you mean "Host Namespaces"?`}},
		{"the id of a check", `[{controlName: hostNamespaces}]`, []string{`did you mean "Host Namespaces"?`}},
		{"another spelling of a name", `[{controlName: Running as Non-Root User}]`, []string{`did you mean "Running as Non-root user"?`}},
		{"a pattern for a name", `[{controlName: "Host*"}]`, []string{"is not a control"}},
		{"space around a name", `[{controlName: " Seccomp"}]`, []string{`did you mean "Seccomp"?`}},
		{"a version that the page does not give", `[{controlName: Capabilities (v1.99+), images: ["*"]}]`, []string{`did you mean "Capabilities"?`}},
		{"the second of two", `[{controlName: Sysctls}, {controlName: Sysctl}]`, []string{"exclude[1].controlName", `did you mean "Sysctls"?`}},
		{"capabilities without images", `[{controlName: Capabilities}]`, []string{"exclude[0].images: Required", "Capabilities is a control of containers"}},
		{"capabilities with no image", `[{controlName: Capabilities, images: []}]`, []string{"exclude[0].images: Required"}},
		{"privileged without images", `[{controlName: Privileged Containers}]`, []string{"exclude[0].images: Required"}},
		{"host ports without images", `[{controlName: Host Ports}]`, []string{"exclude[0].images: Required"}},
		{"proc mount without images", `[{controlName: /proc Mount Type}]`, []string{"exclude[0].images: Required"}},
		{"escalation without images", `[{controlName: Privilege Escalation}]`, []string{"exclude[0].images: Required"}},
		{"probes without images", `[{controlName: Host Probes / Lifecycle Hooks}]`, []string{"exclude[0].images: Required"}},
		{"host namespaces with images", `[{controlName: Host Namespaces, images: [a]}]`, []string{"exclude[0].images: Forbidden", "Host Namespaces is a control of the pod"}},
		{"host paths with images", `[{controlName: HostPath Volumes, images: [a]}]`, []string{"exclude[0].images: Forbidden"}},
		{"sysctls with images", `[{controlName: Sysctls, images: [a]}]`, []string{"exclude[0].images: Forbidden"}},
		{"volume types with images", `[{controlName: Volume Types, images: [a]}]`, []string{"exclude[0].images: Forbidden"}},
		{"an empty image", `[{controlName: Seccomp, images: [a, ""]}]`, []string{"exclude[0].images[1]: Required"}},
		{"an image with a space", `[{controlName: Seccomp, images: ["a b"]}]`, []string{`exclude[0].images[0]: Invalid value: "a b"`}},
		{"an image with a line end", `[{controlName: Seccomp, images: ["a\n"]}]`, []string{"exclude[0].images[0]"}},
		{"values without a field", `[{controlName: Sysctls, values: [kernel.msgmax]}]`, []string{"exclude[0].restrictedField: Required", `"spec.securityContext.sysctls[*].name"`}},
		{"a field without values", `[{controlName: Sysctls, restrictedField: "spec.securityContext.sysctls[*].name"}]`, []string{"exclude[0].values: Required"}},
		{"a field with no values", `[{controlName: Sysctls, restrictedField: "spec.securityContext.sysctls[*].name", values: []}]`, []string{"exclude[0].values: Required"}},
		{"a field of another control", `[{controlName: Host Namespaces, restrictedField: "spec.securityContext.sysctls[*].name", values: [a]}]`, []string{"exclude[0].restrictedField: Invalid", `"spec.hostNetwork", "spec.hostPID", "spec.hostIPC"`}},
		{"a field that no control has", `[{controlName: Capabilities, images: ["*"], restrictedField: spec.hostUsers, values: [a]}]`, []string{`"` + add + `"`, `"spec.initContainers[*].securityContext.capabilities.drop"`, `"spec.ephemeralContainers[*].securityContext.capabilities.add"`}},
		{"an index", `[{controlName: Capabilities, images: ["*"], restrictedField: "spec.containers[0].securityContext.capabilities.add", values: [a]}]`, []string{"exclude[0].restrictedField: Invalid"}},
		{"the field of a template", `[{controlName: Capabilities, images: ["*"], restrictedField: "spec.template.` + add + `", values: [a]}]`, []string{"exclude[0].restrictedField: Invalid"}},
		{"a pattern for the list", `[{controlName: Capabilities, images: ["*"], restrictedField: "spec.*[*].securityContext.capabilities.add", values: [a]}]`, []string{"exclude[0].restrictedField: Invalid"}},
		{"the beginning of a field", `[{controlName: Capabilities, images: ["*"], restrictedField: "spec.containers[*].securityContext.capabilities", values: [a]}]`, []string{"exclude[0].restrictedField: Invalid"}},
		{"a field in another case", `[{controlName: Host Namespaces, restrictedField: spec.hostpid, values: ["true"]}]`, []string{"exclude[0].restrictedField: Invalid"}},
		{"a field of containers without images", `[{controlName: Seccomp, restrictedField: "spec.containers[*].securityContext.seccompProfile.type", values: [Unconfined]}]`, []string{"exclude[0].images: Required"}},
		{"a field of the pod with images", `[{controlName: Seccomp, images: ["*"], restrictedField: spec.securityContext.seccompProfile.type, values: [Unconfined]}]`, []string{"exclude[0].restrictedField: Invalid", "is a field of the pod"}},
		{"an annotation with images", `[{controlName: AppArmor, images: ["*"], restrictedField: 'metadata.annotations["container.apparmor.security.beta.kubernetes.io/*"]', values: [unconfined]}]`, []string{"is a field of the pod"}},
		{"one annotation", `[{controlName: AppArmor, restrictedField: 'metadata.annotations["container.apparmor.security.beta.kubernetes.io/web"]', values: [unconfined]}]`, []string{"is not a field that AppArmor restricts"}},
		{"a volume type that is allowed", `[{controlName: Volume Types, restrictedField: "spec.volumes[*].emptyDir", values: ["*"]}]`, []string{`"spec.volumes[*]"`, `"spec.volumes[*].nfs"`, `"spec.volumes[*].hostPath"`}},
		{"a value that is not a fault", `[{controlName: Host Namespaces, restrictedField: spec.hostPID, values: ["false", ""]}]`, []string{"exclude[0].values: Invalid", "where it is true"}},
		{"a user that is not a fault", `[{controlName: Running as Non-root user, restrictedField: spec.securityContext.runAsUser, values: ["1000"]}]`, []string{"where it is 0"}},
		{"non-root where it is", `[{controlName: Running as Non-root, images: ["*"], restrictedField: "spec.containers[*].securityContext.runAsNonRoot", values: ["true"]}]`, []string{`where it is false or not set (written "")`}},
		{"not set for the pod", `[{controlName: Running as Non-root, restrictedField: spec.securityContext.runAsNonRoot, values: [""]}]`, []string{"where it is false"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x, errs := CompileExclusions(parseExclusions(t, test.exclude), field.NewPath("exclude"))
			if len(errs) != 1 {
				t.Fatalf("%d errors: %v", len(errs), errs)
			}
			for _, want := range test.want {
				if got := errs[0].Error(); !strings.Contains(got, want) {
					t.Errorf("%q lacks %q", got, want)
				}
			}
			p := parse(t, riskyPod)
			violations := mustNew(t, v1alpha1.LevelRestricted, "", "").Check(p)
			if left, used := x.Excuse(p, violations); len(left) != len(violations) || used != nil {
				t.Errorf("what was refused excuses: %q is left", Message(left))
			}
		})
	}
}

// TestCompileExclusionsAll holds that the error about one entry does not hide
// those about others.
func TestCompileExclusionsAll(t *testing.T) {
	t.Parallel()
	_, errs := CompileExclusions(parseExclusions(t, `[{controlName: x}, {controlName: Sysctls}, {controlName: Sysctls, images: [a], values: [b]}]`), nil)
	var paths []string
	for _, err := range errs {
		paths = append(paths, err.Field)
	}
	if diff := cmp.Diff([]string{"[0].controlName", "[2].images", "[2].restrictedField"}, paths); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// TestExcusableControls holds the table of what can be excused to the controls
// that are judged.
func TestExcusableControls(t *testing.T) {
	t.Parallel()
	judged := map[string]bool{}
	for _, c := range controlsFor("") {
		judged[c.name] = true
		if excusables().byName[c.name] == nil {
			t.Errorf("%s cannot be excused", c.name)
		}
	}
	for _, name := range excusables().names() {
		if !judged[name] {
			t.Errorf("nothing is judged by the name %s", name)
		}
	}
}

// TestExcusableFields holds that every field is found by its name and by no name
// of another control.
func TestExcusableFields(t *testing.T) {
	t.Parallel()
	for _, c := range excusables().list {
		names := c.fieldNames()
		if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) != len(names) {
			t.Errorf("%s has a field twice", c.name)
		}
		for _, name := range names {
			f, kind := c.lookup(name)
			if f == nil {
				t.Errorf("%s: %s is not found", c.name, name)
				continue
			}
			full := f.name
			if f.inContainer != nil {
				full = containerField(kind) + full
			}
			if full != name {
				t.Errorf("%s: %s is taken for %s", c.name, name, full)
			}
		}
	}
}

func TestExclusionsIdle(t *testing.T) {
	t.Parallel()
	x := mustExclude(t, `[
		{controlName: HostPath Volumes}, {controlName: Volume Types}, {controlName: Capabilities, images: ["*"]},
		{controlName: Host Probes, images: ["*"]}, {controlName: Seccomp},
		{controlName: Capabilities, images: ["*"], restrictedField: "spec.containers[*].securityContext.capabilities.drop", values: [ALL]},
		{controlName: Capabilities, images: ["*"], restrictedField: "spec.initContainers[*].securityContext.capabilities.add", values: [NET_ADMIN]},
		{controlName: Seccomp, restrictedField: "spec.securityContext.seccompProfile.type", values: [Unconfined]},
		{controlName: Seccomp, restrictedField: "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]", values: [unconfined]},
		{controlName: AppArmor, restrictedField: "spec.securityContext.appArmorProfile.type", values: [Unconfined]},
	]`)
	tests := []struct {
		level   v1alpha1.StandardLevel
		version string
		want    []int
	}{
		{"restricted", "latest", []int{8}},
		{"restricted", "v1.33", []int{3, 8}},
		{"restricted", "v1.21", []int{3, 5, 8}},
		{"restricted", "v1.18", []int{3, 5, 7}},
		{"baseline", "latest", []int{1, 5, 8}},
		{"baseline", "v1.20", []int{1, 3, 5, 8}},
		{"baseline", "v1.18", []int{1, 3, 5, 7}},
		{"privileged", "latest", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
	}
	for _, test := range tests {
		var got []int
		for _, idle := range x.Idle(mustNew(t, test.level, test.version, "")) {
			got = append(got, idle.Index)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("idle at %s:%s (-want +got):\n%s", test.level, test.version, diff)
		}
	}
	// What one of several standards demands is excused there.
	if idle := x.Idle(mustNew(t, "baseline", "v1.18", ""), mustNew(t, "restricted", "latest", "")); len(idle) > 0 {
		t.Errorf("idle at both: %+v", idle)
	}
}

func TestWordsOfIdleExclusions(t *testing.T) {
	t.Parallel()
	for exclude, want := range map[string]string{
		`[{controlName: Running as Non-root}]`:        "excuses nothing: at baseline in the latest version there is no control Running as Non-root, which belongs to restricted at every version; take it out, or name a control that it has",
		`[{controlName: Host Probes, images: ["*"]}]`: "",
		`[{controlName: Capabilities, images: ["*"], restrictedField: "spec.containers[*].securityContext.capabilities.drop", values: [ALL]}]`: "excuses nothing: at baseline in the latest version Capabilities has no securityContext.capabilities.drop, which belongs to restricted from v1.22 on; take it out, or name securityContext.capabilities.add",
	} {
		got := ""
		for _, idle := range mustExclude(t, exclude).Idle(mustNew(t, "baseline", "latest", "")) {
			got += idle.Detail
		}
		if got != want {
			t.Errorf("%s: %q, want %q", exclude, got, want)
		}
	}
}
