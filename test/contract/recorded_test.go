package contract

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorded returns the requests that a real API server was seen to send while
// people worked with kubectl, in order.
func recorded(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "recorded", "*.json"))
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d recorded requests: %v", len(paths), err)
	}
	return paths
}

// recordedPolicies judge the recorded requests: some are denied, some not.
func recordedPolicies(t *testing.T) string {
	t.Helper()
	on := func(node string) change { return func(p *corePod) { p.Spec.NodeName = node } }
	return files(t, map[string]string{
		"deny.yaml": denyPolicy("guard", `{appliesTo: {subresources: [exec, attach, ephemeralcontainers]}, riskFactors: {hostPID: 90}, thresholds: [{maxScore: 50, action: warn}, {maxScore: 100, action: deny, reason: "{{.user}} may not {{.subresource}} into {{.pod}}: {{.factors}}"}]}`),
		"node.yaml": denyPolicy("nodes", "{appliesTo: {subresources: [nodes/proxy, proxy]}, blockFactors: [hostPID]}"),
		"rule.yaml": denyPolicySpec("rules", `rules: [{verbs: [get], apiGroups: [""], resources: [secrets]}]`),
		"pss.yaml":  podSecurityPolicy("standard", "Warn", "{level: restricted}"),
		"pods.yaml": documents(t, newPod("shop", "web", hostPID, on("node1"))),
	})
}

// review is what both recorded kinds and their answers have in common.
type review struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Request    *struct {
		UID string `json:"uid"`
	} `json:"request"`
	Response *struct {
		UID     string `json:"uid"`
		Allowed bool   `json:"allowed"`
	} `json:"response"`
	Status *struct {
		Allowed bool `json:"allowed"`
		Denied  bool `json:"denied"`
	} `json:"status"`
}

// door returns the path that a recorded request was sent to.
func (r review) door() string {
	if r.Kind == "AdmissionReview" {
		return "/validate"
	}
	return "/authorize"
}

func read(t *testing.T, path string) (string, review) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r review
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return string(raw), r
}

// TestRecordedRequests sends each recorded request to its door: a whole answer
// with the same uid, and both verdicts among them.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, recordedPolicies(t))
	denied, allowed := 0, 0
	for _, path := range recorded(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			body, sent := read(t, path)
			r := s.post(t, sent.door(), body)
			if r.code != http.StatusOK {
				t.Fatalf("status %d\n%s", r.code, clip(r.body))
			}
			var got review
			if err := json.Unmarshal([]byte(r.body), &got); err != nil {
				t.Fatalf("the answer is not JSON: %v\n%s", err, clip(r.body))
			}
			if got.Kind != sent.Kind || got.APIVersion != sent.APIVersion {
				t.Errorf("the answer is a %s of %s", got.Kind, got.APIVersion)
			}
			refused := false
			switch {
			case sent.Request != nil && got.Response != nil:
				refused = !got.Response.Allowed
				if got.Response.UID != sent.Request.UID {
					t.Errorf("uid %q, want %q", got.Response.UID, sent.Request.UID)
				}
			case sent.Request == nil && got.Status != nil:
				refused = got.Status.Denied
				if got.Status.Allowed {
					t.Error("allowed, where no session grants anything")
				}
			default:
				t.Errorf("half an answer: %s", clip(r.body))
			}
			// Who execs into this pod is denied, however they do it. Whether they
			// may impersonate while they do is another question.
			name := filepath.Base(path)
			if strings.Contains(name, "pods_exec") && !strings.Contains(name, "impersonate-on") && strings.Contains(body, `"name": "web"`) && !refused {
				t.Errorf("not refused: %s", clip(r.body))
			}
			if refused {
				denied++
			} else {
				allowed++
			}
		})
	}
	if denied == 0 || allowed == 0 {
		t.Errorf("%d denied and %d allowed, want some of each", denied, allowed)
	}
}

// TestReviewAnswersAsTheServer gives all recorded requests to `review` in one
// command: one answer each, and the server's own.
func TestReviewAnswersAsTheServer(t *testing.T) {
	t.Parallel()
	dir, paths := recordedPolicies(t), recorded(t)
	s := serve(t, dir)
	out := run(t, append(append([]string{"review"}, paths...), "-p", dir, "-o", "json")...)
	if out.code != 0 && out.code != 1 {
		t.Errorf("exit status %d, want 1, as some are denied\n%s", out.code, clip(out.stderr))
	}
	answers := jsonStream(t, out.stdout)
	if len(answers) != len(paths) {
		t.Fatalf("%d answers to %d reviews\n%s", len(answers), len(paths), clip(out.all()))
	}
	for i, path := range paths {
		body, sent := read(t, path)
		var want any
		if err := json.Unmarshal([]byte(s.post(t, sent.door(), body).body), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, answers[i]); diff != "" {
			t.Errorf("%s (-server +review):\n%s", filepath.Base(path), clip(diff))
		}
	}
}

// jsonStream parses JSON values that follow one another, or a list of them.
func jsonStream(t *testing.T, text string) []any {
	t.Helper()
	var values []any
	decoder := json.NewDecoder(bytes.NewBufferString(text))
	for {
		var v any
		err := decoder.Decode(&v)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("no JSON: %v\n%s", err, clip(text))
		}
		values = append(values, v)
	}
	if len(values) == 1 {
		if list, isList := values[0].([]any); isList {
			return list
		}
	}
	return values
}

// TestReviewExitStatus says what a script learns from a review.
func TestReviewExitStatus(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{
		"p/policy.yaml":  denyPolicy("guard", "{blockFactors: [hostPID]}"),
		"p/pods.yaml":    documents(t, newPod("shop", "risky", hostPID), newPod("shop", "safe")),
		"denied.json":    enterPod(t, "create", "shop", "risky", "exec"),
		"allowed.json":   connectPod(t, "shop", "safe", "exec", nil),
		"malformed.json": "null",
	})
	for name, code := range map[string]int{"denied": 1, "allowed": 0, "malformed": 2, "missing": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out := run(t, "review", filepath.Join(dir, name+".json"), "-p", filepath.Join(dir, "p")); out.code != code {
				t.Errorf("exit status %d, want %d\n%s", out.code, code, clip(out.all()))
			}
		})
	}
}
