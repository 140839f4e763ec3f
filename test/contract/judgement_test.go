package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// judgement is the JSON that check and access print, as the contract has it,
// together with the exit status of the command that printed it.
type judgement struct {
	Decision string         `json:"decision"`
	Summary  map[string]int `json:"summary"`
	Results  []result       `json:"results"`
	outcome  outcome
}

type result struct {
	Policy   string `json:"policy"`
	Rule     string `json:"rule"`
	Kind     string `json:"kind"`
	Resource struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace"`
		Name       string `json:"name"`
	} `json:"resource"`
	Status   string    `json:"status"`
	Action   string    `json:"action"`
	Message  string    `json:"message"`
	Findings []finding `json:"findings"`
	Score    *int      `json:"score"`
	Factors  []string  `json:"factors"`
}

type finding struct {
	Path   string `json:"path"`
	Value  any    `json:"value"`
	Detail string `json:"detail"`
}

// exitStatus is what the contract says that each decision ends with.
var exitStatus = map[string]int{"allow": 0, "warn": 0, "deny": 1, "error": 2}

// judge runs a command with JSON output and returns the judgement it printed.
func judge(t *testing.T, args ...string) *judgement {
	t.Helper()
	out := run(t, append(slices.Clone(args), "-o", "json")...)
	j := &judgement{outcome: out}
	if err := json.Unmarshal([]byte(out.stdout), j); err != nil {
		t.Fatalf("sallyport %q printed no JSON object: %v\nexit status %d\nstdout: %s\nstderr: %s",
			args, err, out.code, clip(out.stdout), clip(out.stderr))
	}
	return j
}

// expect fails the test unless the decision is the wanted one and the exit
// status is the one that belongs to it.
func (j *judgement) expect(t *testing.T, decision string) {
	t.Helper()
	if j.Decision != decision || j.outcome.code != exitStatus[decision] {
		t.Errorf("decision %q with exit status %d, want %q with %d\nstdout: %s\nstderr: %s",
			j.Decision, j.outcome.code, decision, exitStatus[decision], clip(j.outcome.stdout), clip(j.outcome.stderr))
	}
}

// of returns the results of one policy.
func (j *judgement) of(policy string) []result {
	var found []result
	for _, r := range j.Results {
		if r.Policy == policy {
			found = append(found, r)
		}
	}
	return found
}

// only returns the one result of one policy.
func (j *judgement) only(t *testing.T, policy string) result {
	t.Helper()
	found := j.of(policy)
	if len(found) != 1 {
		t.Fatalf("%d results of policy %q, want 1\nstdout: %s\nstderr: %s", len(found), policy, clip(j.outcome.stdout), clip(j.outcome.stderr))
	}
	return found[0]
}

// messages returns the messages of all results, one a line.
func (j *judgement) messages() string {
	var lines []string
	for _, r := range j.Results {
		lines = append(lines, r.Message)
	}
	return strings.Join(lines, "\n")
}

// paths returns the fields that a result found fault with.
func (r result) paths() []string {
	var paths []string
	for _, f := range r.Findings {
		paths = append(paths, f.Path)
	}
	return paths
}

// score returns the score of a result as text, "none" if it has none.
func (r result) score() string {
	if r.Score == nil {
		return "none"
	}
	return fmt.Sprint(*r.Score)
}

// wantContains fails the test for each of parts that text does not contain.
func wantContains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, clip(text))
		}
	}
}

// clip keeps failures readable.
func clip(text string) string {
	const limit = 4000
	if len(text) > limit {
		return text[:limit] + "..."
	}
	return text
}
