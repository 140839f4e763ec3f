package check_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/files/filestest"
)

// TestCheckSaysWhatHasNoEffect has check refuse a policy, or warn of it, as the front
// door does.
func TestCheckSaysWhatHasNoEffect(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	policy := func(kinds, validate string) string {
		return "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [" + kinds + "]}}]}\n    validate: " + validate + "\n"
	}
	pod := write("pod.yaml", filestest.GoodPod)
	const sound, workloads = "{pattern: {metadata: {name: '?*'}}}", "Pod, Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController, Job, CronJob"
	for name, c := range map[string]struct {
		policy string
		strict bool
		status int
		says   string
	}{
		"null":                             {policy("Pod", "{pattern: {spec: {containers: [{X(lifecycle): null}]}}}"), false, command.Wrong, `spec.rules[0].validate.pattern.spec.containers[0].X(lifecycle): Invalid value: null: is null, which kubectl apply takes out on its way, with what it asks; write X(lifecycle): "null", in quotes`},
		"a tag":                            {policy("Pod", "{pattern: {spec: {containers: [{(image): !registry/* , name: a}]}}}"), false, 0, "warning: "},
		"a tag, strictly":                  {policy("Pod", "{pattern: {spec: {containers: [{(image): !registry/* , name: a}]}}}"), true, command.Wrong, "the rule is not applied"},
		"a control of another level":       {policy("Pod", "{podSecurity: {level: baseline, exclude: [{controlName: Running as Non-root}]}}"), true, command.Wrong, "which belongs to restricted"},
		"Pod and every kind that makes it": {policy(workloads, sound), true, 0, ""},
		"Pod and some kinds":               {policy("Pod, Deployment", sound), true, command.Wrong, "not for what makes them"},
		"Pod":                              {policy("Pod", sound), true, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"check", "-p", write("policy.yaml", c.policy), pod}
			if c.strict {
				args = append(args, "--strict")
			}
			status, stdout, stderr := clitest.Run(t, "", args...)
			if status != c.status || !strings.Contains(stderr, c.says) || c.says == "" && stderr != "" {
				t.Errorf("exit status %d, want %d: %s%s", status, c.status, stdout, stderr)
			}
		})
	}
}
