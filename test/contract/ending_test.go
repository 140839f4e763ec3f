package contract

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSecondSignal ends the server at once, and not before, with a status that says so;
// what was decided is in the audit log.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	s := serve(t, files(t, map[string]string{
		"policy.yaml": denyPolicy("no-exec", "{appliesTo: {subresources: [exec]}, blockFactors: [hostPID]}"),
		"pods.yaml":   documents(t, newPod("shop", "risky", hostPID)),
	}), "--shutdown-delay", "1h", "--audit-log", audit)
	signal := func() {
		t.Helper()
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	signal()
	eventually(t, "it says that it is ending", func() bool {
		return strings.Contains(s.log.String(), "another signal ends the program at once")
	})
	wantDenied(t, s.authorize(t, "/authorize", enterPod(t, "get", "shop", "risky", "exec")), "hostPID")
	select {
	case <-s.exited:
		t.Fatal("the first signal ended it")
	default:
	}
	signal()
	select {
	case <-s.exited:
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
	if status := s.cmd.ProcessState.ExitCode(); status != 1 || !strings.Contains(s.log.String(), "it ends at once, with what it was still doing") {
		t.Errorf("status %d", status)
	}
	if n := len(auditEvents(t, audit)); n != 1 {
		t.Errorf("%d events are in the audit log", n)
	}
}
