package contract

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// recordedServer serves policies that deny, warn, allow and fail closed, and
// writes an audit log.
func recordedServer(t *testing.T) (*server, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	return serve(t, files(t, map[string]string{
		"deny.yaml": denyPolicy("guard", `{blockFactors: [privilegedContainer], riskFactors: {hostPID: 50, hostIPC: 10}, thresholds: [{maxScore: 20, action: allow}, {maxScore: 60, action: warn}, {maxScore: 100, action: deny}]}`),
		"pss.yaml":  podSecurityPolicy("standard", "Enforce", "{level: baseline}"),
		"pods.yaml": documents(t, newPod("shop", "blocked", first(privileged)), newPod("shop", "warned", hostPID), newPod("shop", "safe")),
	}), "--audit-log", log, "--cluster-name", "main"), log
}

// auditEvents parses the audit log, every line of which is one JSON object.
func auditEvents(t *testing.T, path string) []map[string]any {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var events []map[string]any
	for line := range strings.Lines(string(raw)) {
		if !strings.HasSuffix(line, "\n") {
			continue // it is being written
		}
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("a line of the audit log is not a JSON object: %v\n%s", err, clip(line))
		}
		events = append(events, event)
	}
	return events
}

// eventType finds the event's type among its values, whatever the case and the
// marks between the words.
func eventType(event map[string]any, word string) bool {
	letters := regexp.MustCompile(`[^a-z]`)
	for _, v := range event {
		if s, isText := v.(string); isText && strings.Contains(letters.ReplaceAllString(strings.ToLower(s), ""), "podsecurity"+word) {
			return true
		}
	}
	return false
}

// TestServeAuditLog says what is recorded of an access, and what is not.
func TestServeAuditLog(t *testing.T) {
	t.Parallel()
	s, path := recordedServer(t)
	const secret = "hunter2-in-the-command"
	command := map[string]any{"container": "app", "command": []string{"sh", "-c", "echo " + secret}, "stdin": true}
	for _, pod := range []string{"blocked", "warned", "safe"} {
		s.admit(t, "/validate", connectPod(t, "shop", pod, "exec", command))
		s.authorize(t, "/authorize", enterPod(t, "create", "shop", pod, "exec"))
	}
	s.admit(t, "/validate", createPod(t, newPod("shop", "refused-at-creation", hostPID)))
	for word, pod := range map[string]string{"denied": "blocked", "warning": "warned"} {
		eventually(t, "an event "+word+" about the pod "+pod, func() bool {
			return slices.ContainsFunc(auditEvents(t, path), func(event map[string]any) bool {
				line := text(t, event)
				return eventType(event, word) && strings.Contains(line, pod) && strings.Contains(line, "alice@example.com") &&
					strings.Contains(line, "shop") && strings.Contains(line, "guard")
			})
		})
	}
	eventually(t, "an event about the refused creation", func() bool {
		return slices.ContainsFunc(auditEvents(t, path), func(event map[string]any) bool {
			return strings.Contains(text(t, event), "refused-at-creation")
		})
	})
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), secret) || strings.Contains(s.log.String(), secret) || strings.Contains(s.get(t, "/metrics"), secret) {
		t.Error("the command of an exec is recorded")
	}
}

// TestServeAuditLogOnStandardOutput writes the same lines to `-`.
func TestServeAuditLogOnStandardOutput(t *testing.T) {
	t.Parallel()
	s := serve(t, files(t, map[string]string{
		"deny.yaml": denyPolicy("guard", "{blockFactors: [hostPID]}"),
		"pods.yaml": documents(t, newPod("shop", "blocked", hostPID)),
	}), "--audit-log", "-")
	s.authorize(t, "/authorize", enterPod(t, "create", "shop", "blocked", "exec"))
	eventually(t, "an event on standard output", func() bool {
		for line := range strings.Lines(s.log.String()) {
			var event map[string]any
			if json.Unmarshal([]byte(line), &event) == nil && eventType(event, "denied") && strings.Contains(line, "blocked") {
				return true
			}
		}
		return false
	})
}

// podSecurityMetrics are the five that the document "Pod Security Risk
// Classification" names, under our prefix, with their types.
var podSecurityMetrics = map[string]string{
	"sallyport_pod_security_evaluations_total": "counter",
	"sallyport_pod_security_risk_score":        "histogram",
	"sallyport_pod_security_factors_total":     "counter",
	"sallyport_pod_security_denied_total":      "counter",
	"sallyport_pod_security_warnings_total":    "counter",
}

// TestServeMetrics covers names, types and labels.
func TestServeMetrics(t *testing.T) {
	t.Parallel()
	s, _ := recordedServer(t)
	for _, pod := range []string{"blocked", "warned", "safe"} {
		s.authorize(t, "/authorize", enterPod(t, "create", "shop", pod, "exec"))
		s.admit(t, "/validate", connectPod(t, "shop", pod, "exec", nil))
	}
	metrics := s.get(t, "/metrics")
	for name, kind := range podSecurityMetrics {
		wantContains(t, metrics, "# TYPE "+name+" "+kind)
	}
	for _, sample := range []string{
		`sallyport_pod_security_factors_total\{[^}]*factor="hostPID"[^}]*\} [1-9]`,
		`sallyport_pod_security_evaluations_total\{[^}]*action="denied"[^}]*\} [1-9]`,
		`sallyport_pod_security_evaluations_total\{[^}]*action="warned"[^}]*\} [1-9]`,
		`sallyport_pod_security_evaluations_total\{[^}]*action="allowed"[^}]*\} [1-9]`,
		`sallyport_pod_security_evaluations_total\{[^}]*policy="guard"[^}]*\} [1-9]`,
		`sallyport_pod_security_evaluations_total\{[^}]*cluster="main"[^}]*\} [1-9]`,
		`sallyport_pod_security_denied_total\{[^}]*cluster="main"[^}]*\} [1-9]`,
		`sallyport_pod_security_warnings_total\{[^}]*cluster="main"[^}]*\} [1-9]`,
		`sallyport_pod_security_risk_score_bucket\{[^}]*le="150"[^}]*\} [1-9]`,
		`sallyport_[a-z_]+\{[^}]*door="access"[^}]*\} [1-9]`,
		`sallyport_[a-z_]+\{[^}]*door="admission"[^}]*\} [1-9]`,
		`sallyport_[a-z_]+seconds_count\{[^}]*door="(access|admission)"[^}]*\} [1-9]`,
	} {
		if !regexp.MustCompile(sample).MatchString(metrics) {
			t.Errorf("no sample matches %s in:\n%s", sample, clip(metrics))
		}
	}
	for _, unbounded := range []string{"alice", "blocked", "warned\",", reviewUID} {
		for line := range strings.Lines(metrics) {
			if strings.HasPrefix(line, "sallyport_") && strings.Contains(line, unbounded) && !strings.Contains(line, `action="`+unbounded) {
				t.Errorf("a label without bounds: %s", line)
			}
		}
	}
}

// TestServeMetricsOfUnknownClusters says that callers cannot fill the memory
// with clusters that they make up.
func TestServeMetricsOfUnknownClusters(t *testing.T) {
	t.Parallel()
	s, _ := recordedServer(t)
	for i := range 300 {
		s.post(t, "/authorize/made-up-"+strings.Repeat("x", i), enterPod(t, "create", "shop", "warned", "exec"))
	}
	if n := strings.Count(s.get(t, "/metrics"), "made-up-"); n > 200 {
		t.Errorf("%d samples about clusters that a caller made up", n)
	}
}
