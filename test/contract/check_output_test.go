package contract

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outputInput writes a policy and three manifests: one passes, two fail.
func outputInput(t *testing.T) string {
	t.Helper()
	return files(t, map[string]string{
		"policy.yaml":    podSecurityPolicy("standard", "Enforce", "{level: baseline}"),
		"m/good.yaml":    documents(t, newPod("shop", "good")),
		"m/bad.yaml":     documents(t, newPod("shop", "bad", first(privileged), hostPID)),
		"m/cronjob.yaml": "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly, namespace: shop}\nspec: {schedule: '0 0 * * *', jobTemplate: {spec: {template: " + template(badPodSpec) + "}}}\n",
	})
}

// TestCheckJSON holds the output to the documented shape.
func TestCheckJSON(t *testing.T) {
	t.Parallel()
	dir := outputInput(t)
	j := judge(t, "check", "-p", dir+"/policy.yaml", dir+"/m")
	j.expect(t, "deny")
	if diff := cmp.Diff(map[string]int{"pass": 1, "fail": 2, "warn": 0, "skip": 0, "error": 0}, j.Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if len(j.Results) != 3 {
		t.Fatalf("%d results, want 3\n%s", len(j.Results), clip(j.outcome.stdout))
	}
	for _, r := range j.Results {
		if r.Policy != "standard" || r.Kind != "ClusterPolicy" || r.Action != "enforce" || r.Score != nil {
			t.Errorf("policy %q of kind %q with action %q and score %s", r.Policy, r.Kind, r.Action, r.score())
		}
		for _, f := range r.Findings {
			if f.Path == "" || f.Detail == "" || f.Value == nil {
				t.Errorf("a finding without path, value or detail: %+v", f)
			}
		}
		if r.Status == "fail" && (r.Message == "" || len(r.Findings) == 0) {
			t.Errorf("a failed result without message or findings: %+v", r)
		}
	}
	bad := resultOf(t, j, "bad")
	got := map[string]string{}
	for _, f := range bad.Findings {
		got[f.Path] = fmt.Sprint(f.Value)
	}
	want := map[string]string{"spec.hostPID": "true", "spec.containers[0].securityContext.privileged": "true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings by path (-want +got):\n%s", diff)
	}
	if cron := resultOf(t, j, "nightly"); cron.Resource.APIVersion != "batch/v1" || cron.Resource.Kind != "CronJob" || cron.Resource.Namespace != "shop" {
		t.Errorf("the result is about %+v", cron.Resource)
	}
}

// TestCheckJSONIsStable says that the same input gives the same bytes.
func TestCheckJSONIsStable(t *testing.T) {
	t.Parallel()
	dir := outputInput(t)
	first := run(t, "check", "-p", dir+"/policy.yaml", dir+"/m", "-o", "json").stdout
	for range 3 {
		if diff := cmp.Diff(first, run(t, "check", "-p", dir+"/policy.yaml", dir+"/m", "-o", "json").stdout); diff != "" {
			t.Fatalf("another output for the same input (-first +next):\n%s", diff)
		}
	}
}

// TestCheckText says that a person finds the field, and the summary last.
func TestCheckText(t *testing.T) {
	t.Parallel()
	dir := outputInput(t)
	out := run(t, "check", "-p", dir+"/policy.yaml", dir+"/m")
	if out.code != 1 {
		t.Errorf("exit status %d, want 1", out.code)
	}
	wantContains(t, out.stdout, "standard", "spec.hostPID", "spec.containers[0].securityContext.privileged",
		"spec.jobTemplate.spec.template.spec.initContainers[0].securityContext.privileged", "autogen-cronjob-standard")
	lines := strings.Split(strings.TrimSpace(out.stdout), "\n")
	last := lines[len(lines)-1]
	if !strings.Contains(last, "1") || !strings.Contains(last, "2") {
		t.Errorf("the last line is not a summary of 1 pass and 2 failures: %q", last)
	}
	if strings.Contains(out.stdout, "\x1b[") {
		t.Error("colours where there is no terminal")
	}
}

// TestCheckJUnit reads the output as a CI server does.
func TestCheckJUnit(t *testing.T) {
	t.Parallel()
	dir := outputInput(t)
	out := run(t, "check", "-p", dir+"/policy.yaml", dir+"/m", "-o", "junit")
	if out.code != 1 {
		t.Errorf("exit status %d, want 1", out.code)
	}
	var cases, failures int
	var text strings.Builder
	decoder := xml.NewDecoder(strings.NewReader(out.stdout))
	for {
		token, err := decoder.Token()
		if token == nil {
			if err.Error() != "EOF" {
				t.Fatalf("the output is not XML: %v\n%s", err, clip(out.all()))
			}
			break
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "testcase":
				cases++
			case "failure":
				failures++
			}
			for _, a := range e.Attr {
				text.WriteString(a.Value + "\n")
			}
		case xml.CharData:
			text.Write(e)
		}
	}
	if cases != 3 || failures != 2 {
		t.Errorf("%d test cases with %d failures, want 3 with 2\n%s", cases, failures, clip(out.stdout))
	}
	wantContains(t, text.String(), "spec.hostPID", "standard", "bad")
}

// TestCheckSARIF reads the output as a code scanner does.
func TestCheckSARIF(t *testing.T) {
	t.Parallel()
	dir := outputInput(t)
	out := run(t, "check", "-p", dir+"/policy.yaml", filepath.Join(dir, "m"), "-o", "sarif")
	if out.code != 1 {
		t.Errorf("exit status %d, want 1", out.code)
	}
	var log struct {
		Version string `json:"version"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name  string `json:"name"`
					Rules []struct {
						ID string `json:"id"`
					} `json:"rules"`
				} `json:"driver"`
			} `json:"tool"`
			Results []struct {
				RuleID  string `json:"ruleId"`
				Level   string `json:"level"`
				Message struct {
					Text string `json:"text"`
				} `json:"message"`
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct {
							URI string `json:"uri"`
						} `json:"artifactLocation"`
					} `json:"physicalLocation"`
				} `json:"locations"`
			} `json:"results"`
		} `json:"runs"`
	}
	if err := json.Unmarshal([]byte(out.stdout), &log); err != nil {
		t.Fatalf("the output is not JSON: %v\n%s", err, clip(out.all()))
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || !strings.EqualFold(log.Runs[0].Tool.Driver.Name, "sallyport") {
		t.Fatalf("version %q with %d runs, want one run of sallyport in 2.1.0\n%s", log.Version, len(log.Runs), clip(out.stdout))
	}
	known := map[string]bool{}
	for _, rule := range log.Runs[0].Tool.Driver.Rules {
		known[rule.ID] = true
	}
	inBad := 0
	for _, r := range log.Runs[0].Results {
		if r.Level != "error" {
			continue
		}
		if r.Message.Text == "" || !known[r.RuleID] {
			t.Errorf("a result of rule %q, which is among the rules: %v, with message %q", r.RuleID, known[r.RuleID], r.Message.Text)
		}
		if len(r.Locations) > 0 && strings.HasSuffix(r.Locations[0].PhysicalLocation.ArtifactLocation.URI, "bad.yaml") {
			inBad++
		}
	}
	if inBad == 0 {
		t.Errorf("no error is located in bad.yaml\n%s", clip(out.stdout))
	}
}

func resultOf(t *testing.T, j *judgement, name string) result {
	t.Helper()
	for _, r := range j.Results {
		if r.Resource.Name == name {
			return r
		}
	}
	t.Fatalf("no result about %q\n%s", name, clip(j.outcome.stdout))
	return result{}
}
