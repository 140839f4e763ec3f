package convert_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
)

// TestConvertedPoliciesDecideTheSame judges objects by policies of another system
// as they stand, and by what they are converted to. Objects say by their names
// what is to come of them: good, bad, warn or skip. `-update` writes what is
// converted again.
func TestConvertedPoliciesDecideTheSame(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join("testdata", "kyverno", "*", "policy.yaml"))
	if err != nil || len(cases) < 20 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, original := range cases {
		dir := filepath.Dir(original)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			golden := filepath.Join(dir, "converted.golden.yaml")
			status, text, stderr := clitest.Run(t, "", "convert", original)
			if status != 0 {
				t.Fatalf("exit status %d: %s", status, stderr)
			}
			clitest.Compare(t, golden, text)
			objects := filepath.Join(dir, "objects.yaml")
			before, after := judged(t, original, objects), judged(t, golden, objects)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("converted, it decides otherwise (-original +converted)\n%s", diff)
			}
			checkExpected(t, before, objects)

			again := filepath.Join(t.TempDir(), "again.yaml")
			if status, _, stderr := clitest.Run(t, "", "convert", golden, "-o", again); status != 0 {
				t.Fatalf("exit status %d: %s", status, stderr)
			}
			twice, err := os.ReadFile(again)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(text, string(twice)); diff != "" {
				t.Errorf("what was converted is changed by converting it (-once +twice)\n%s", diff)
			}
		})
	}
}

// judgedResult is what counts of a result.
type judgedResult struct {
	Policy, Rule, Kind, Status, Action, Message string
	Resource                                    struct{ Kind, Namespace, Name string }
	Findings                                    []struct{ Path, Value, Detail string }
	Exceptions                                  []struct{ Kind, Namespace, Name string }
}

func judged(t *testing.T, policies, objects string) []judgedResult {
	t.Helper()
	_, stdout, stderr := clitest.Run(t, "", "check", "-p", policies, "--trusted-exception-namespaces", "kyverno", "-o", "json", objects)
	var got struct{ Results []judgedResult }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	return got.Results
}

// checkExpected holds results to the names of the objects.
func checkExpected(t *testing.T, results []judgedResult, objects string) {
	t.Helper()
	worst := map[string]string{}
	rank := map[string]int{"": 0, "pass": 1, "skip": 2, "warn": 3, "fail": 4, "error": 5}
	for _, r := range results {
		if name := r.Resource.Name; rank[r.Status] > rank[worst[name]] {
			worst[name] = r.Status
		}
	}
	text, err := os.ReadFile(objects)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		_, name, _ := strings.Cut(document, "{name: ")
		name = name[:strings.IndexAny(name, ",}")]
		got := worst[name]
		switch {
		case strings.Contains(name, "good"):
			if got != "" && got != "pass" {
				t.Errorf("%s: %s", name, got)
			}
		case strings.HasPrefix(name, "bad"):
			if got != "fail" {
				t.Errorf("%s: %q, want fail", name, got)
			}
		case !strings.HasPrefix(name, got) || got == "":
			t.Errorf("%s: %q", name, got)
		}
	}
}
