package contract

import (
	"testing"
)

// TestCheckActions pins what each action comes to, and the exit status of it.
func TestCheckActions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		action   string
		pod      change
		flags    []string
		decision string
		code     int
	}{
		{"Enforce fails", "Enforce", hostPID, nil, "deny", 1},
		{"enforce in lower case", "enforce", hostPID, nil, "deny", 1},
		{"Enforce passes", "Enforce", func(*corePod) {}, nil, "allow", 0},
		{"Warn fails", "Warn", hostPID, nil, "warn", 0},
		{"Warn fails, warnings count", "Warn", hostPID, []string{"--warnings-as-errors"}, "warn", 1},
		{"Warn passes, warnings count", "Warn", func(*corePod) {}, []string{"--warnings-as-errors"}, "allow", 0},
		{"Audit fails", "Audit", hostPID, nil, "allow", 0},
		{"audit in lower case", "audit", hostPID, nil, "allow", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{
				"policy.yaml": podSecurityPolicy("standard", tt.action, "{level: baseline}"),
				"pod.yaml":    documents(t, newPod("shop", "web", tt.pod)),
			})
			j := judge(t, append([]string{"check", "-p", dir + "/policy.yaml", dir + "/pod.yaml"}, tt.flags...)...)
			if j.Decision != tt.decision || j.outcome.code != tt.code {
				t.Errorf("decision %q with exit status %d, want %q with %d\n%s", j.Decision, j.outcome.code, tt.decision, tt.code, clip(j.outcome.all()))
			}
			r := j.only(t, "standard")
			if failed := len(r.Findings) > 0; failed == (r.Status == "pass") {
				t.Errorf("status %q with findings %v", r.Status, r.Findings)
			}
		})
	}
}

// TestCheckEnforcesByDefault says that a policy without an action enforces.
func TestCheckEnforcesByDefault(t *testing.T) {
	t.Parallel()
	policy := "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: standard}\nspec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: baseline}}}]}\n"
	dir := files(t, map[string]string{"policy.yaml": policy, "pod.yaml": documents(t, newPod("shop", "web", hostPID))})
	judge(t, "check", "-p", dir+"/policy.yaml", dir+"/pod.yaml").expect(t, "deny")
}

// TestCheckWrongInput says that what cannot be read or judged ends with 2 and
// names the file.
func TestCheckWrongInput(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, manifest string }{
		{"not YAML", "kind: [Pod"},
		{"privileged is text", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: a, securityContext: {privileged: \"yes\"}}]}\n"},
		{"containers is a map", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: {name: a}}\n"},
		{"template is text", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: none}\n"},
		{"duplicate key", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: a, securityContext: {privileged: true, privileged: false}}]}\n"},
		{"no kind", "apiVersion: v1\nmetadata: {name: web}\nspec: {containers: [{name: a, image: a}]}\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{
				"policy.yaml":         podSecurityPolicy("standard", "Enforce", "{level: baseline}"),
				"wrong-manifest.yaml": tt.manifest,
			})
			out := run(t, "check", "-p", dir+"/policy.yaml", dir+"/wrong-manifest.yaml")
			if out.code != 2 {
				t.Errorf("exit status %d, want 2\n%s", out.code, out.all())
			}
			wantContains(t, out.all(), "wrong-manifest.yaml")
		})
	}
	t.Run("no such file", func(t *testing.T) {
		t.Parallel()
		dir := files(t, map[string]string{"policy.yaml": podSecurityPolicy("standard", "Enforce", "{level: baseline}")})
		out := run(t, "check", "-p", dir+"/policy.yaml", dir+"/missing.yaml")
		if out.code != 2 {
			t.Errorf("exit status %d, want 2\n%s", out.code, out.all())
		}
		wantContains(t, out.stderr, "missing.yaml")
	})
	t.Run("unknown flag", func(t *testing.T) {
		t.Parallel()
		if out := run(t, "check", "--no-such-flag"); out.code != 2 {
			t.Errorf("exit status %d, want 2\n%s", out.code, out.all())
		}
	})
}

// TestCheckPoliciesFromStandardInput reads `-` as a file.
func TestCheckPoliciesFromStandardInput(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"pod.yaml": documents(t, newPod("shop", "web", hostPID))})
	out := runWithInput(t, podSecurityPolicy("standard", "Enforce", "{level: baseline}"), "check", "-p", "-", dir+"/pod.yaml")
	if out.code != 1 {
		t.Errorf("exit status %d, want 1\n%s", out.code, out.all())
	}
}

// TestCheckUpdate judges a change: what was there before is not judged again.
func TestCheckUpdate(t *testing.T) {
	t.Parallel()
	relabelled := labelled("app", "web")
	newImage := func(p *corePod) { p.Spec.Containers[0].Image = "example.com/app:2" }
	debugged := ephemeral(func(*securityContext) {})
	tests := []struct {
		name     string
		now      []change
		decision string
	}{
		{"nothing relevant changed", []change{hostPID, relabelled}, "allow"},
		{"a changed image", []change{hostPID, newImage}, "deny"},
		{"a new ephemeral container", []change{hostPID, debugged}, "deny"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{
				"policy.yaml": podSecurityPolicy("standard", "Enforce", "{level: baseline}"),
				"old.yaml":    documents(t, newPod("shop", "web", hostPID)),
				"new.yaml":    documents(t, newPod("shop", "web", tt.now...)),
			})
			judge(t, "check", "-p", dir+"/policy.yaml", "--operation", "UPDATE", "--old", dir+"/old.yaml", dir+"/new.yaml").expect(t, tt.decision)
		})
	}
}
