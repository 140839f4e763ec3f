package doctor_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	clidoctor "github.com/sallyport-io/sallyport/internal/cli/doctor"
	"github.com/sallyport-io/sallyport/internal/controller/doctor"
)

// report is one of each status, with several findings of one check.
func report() *doctor.Report {
	return &doctor.Report{
		Summary: doctor.Summary{OK: 1, Warning: 1, Problem: 2, Unknown: 1}, Incomplete: true,
		Checks: []doctor.Finding{
			{Group: "Installation", Name: "installation.kinds", Status: doctor.OK, Message: "all kinds of sallyport.io/v1alpha1 are served"},
			{Group: "Webhooks", Name: "webhooks.rules", Status: doctor.Problem, Object: "webhook access.sallyport.io of sallyport", Path: "webhooks[10].rules[0].resources[0]", Message: "*: matches no request", Hint: "Apply config/wiring again."},
			{Group: "Webhooks", Name: "webhooks.rules", Status: doctor.Problem, Object: "webhook access.sallyport.io of sallyport", Path: "webhooks[10].objectSelector", Message: "a=b: rule 0 is about CONNECT", Hint: "Apply config/wiring again."},
			{Group: "Webhooks", Name: "webhooks.timeout", Status: doctor.Warning, Message: "the API server waits 30 s", Hint: "5 is shipped."},
			{Group: "People", Name: "people.weaken", Status: doctor.Unknown, Message: "who may weaken Sallyport is not known", Hint: "Run it as somebody who may."},
		},
	}
}

// TestReport is written for people and for scripts.
func TestReport(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		if err := clidoctor.WriteReport(command.Streams{Out: &out}, format, report()); err != nil {
			t.Fatal(err)
		}
		clitest.Compare(t, filepath.Join("testdata", "report."+format), out.String())
	}
}

// TestSummary says that all is sound only where all is known.
func TestSummary(t *testing.T) {
	for _, c := range []struct {
		of   doctor.Report
		want string
	}{
		{doctor.Report{Summary: doctor.Summary{OK: 2}}, "Sound. 2 ok, 0 warnings, 0 problems, 0 unknown"},
		{doctor.Report{Summary: doctor.Summary{OK: 1, Warning: 1}}, "Sound, with warnings. 1 ok, 1 warning, 0 problems, 0 unknown"},
		{doctor.Report{Summary: doctor.Summary{Warning: 1, Unknown: 1}, Incomplete: true}, "Not known to be sound. 0 ok, 1 warning, 0 problems, 1 unknown"},
		{doctor.Report{Summary: doctor.Summary{Problem: 1, Unknown: 1}, Incomplete: true}, "Not sound. 0 ok, 0 warnings, 1 problem, 1 unknown"},
	} {
		if got := clidoctor.Summary(&c.of); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestPlan says what would be done, and what would not.
func TestPlan(t *testing.T) {
	plans := map[string]*doctor.Repair{
		"nothing":   {},
		"answering": {Answers: true},
		"something": {Steps: []doctor.Step{{Object: "ValidatingWebhookConfiguration sallyport", Does: []string{"pods.sallyport.io: failurePolicy: Ignore, in place of Fail"}}}, Left: []string{"MutatingWebhookConfiguration sallyport: webhook a.example.com, which is not Sallyport's"}},
	}
	var out bytes.Buffer
	for _, name := range []string{"nothing", "answering", "something"} {
		for _, yes := range []bool{false, true} {
			fmt.Fprintf(&out, "--- %s, --yes %t\n", name, yes)
			if err := clidoctor.WritePlan(&out, plans[name], yes); err != nil {
				t.Fatal(err)
			}
		}
	}
	clitest.Compare(t, filepath.Join("testdata", "plan.text"), out.String())
}

// TestUsage refuses what cannot be meant, and files that are wrong.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for args, says := range map[string]string{
		"-o yaml":        `there is no output format "yaml"`,
		"--repair=burn":  `--repair is "burn"; ignore or delete is expected`,
		"--yes":          "--yes belongs to --repair",
		"--namespace=":   "cannot be empty",
		"--pre --repair": "[pre repair]",
		"now":            `"now" is one argument too many`,
		"--kubeconfig " + filepath.Join(dir, "gone"):                                  "the kubeconfig cannot be used",
		"--authorization-config " + filepath.Join(dir, "gone"):                        "--authorization-config: open",
		"--authorization-config " + file("pod.yaml", "kind: Pod\n"):                   `found "Pod", AuthorizationConfiguration is expected`,
		"--authorization-config " + file("bad.yaml", "kind: X\nauthorisers: []\n"):    "unknown field",
		"--kubeconfig " + file("away.yaml", away) + " --repair":                       "no way out could be found",
		"--kubeconfig " + file("away2.yaml", away) + " -o json --namespace sallyport": "nothing could be looked at: the API server does not say who asks",
	} {
		status, stdout, stderr := clitest.Run(t, "", append([]string{"doctor"}, strings.Fields(args)...)...)
		if status != command.Wrong || !strings.Contains(stderr, says) || stdout != "" {
			t.Errorf("%s: exit status %d: %s%s", args, status, stdout, stderr)
		}
	}
}

// away is a kubeconfig that leads to no API server.
const away = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

// TestKeep makes a file that is not there, and leaves one that is.
func TestKeep(t *testing.T) {
	name := filepath.Join(t.TempDir(), "undo.yaml")
	if err := clidoctor.Keep(name, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := clidoctor.Keep(name, []byte("second")); err == nil || !strings.Contains(err.Error(), "--undo-file") {
		t.Error(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "first" {
		t.Errorf("%q %v", text, err)
	}
}
