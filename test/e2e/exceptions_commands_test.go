package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sallyport runs the program as the user of a kubeconfig.
func (w *workflowLab) sallyport(user, stdin string, ok bool, says []string, args ...string) string {
	w.Helper()
	kubeconfig, err := shared.Kubeconfig(w.Context(), user)
	if err != nil {
		w.Fatal(err)
	}
	run := exec.CommandContext(w.Context(), binary, append(args, "--kubeconfig", kubeconfig)...)
	run.Stdin = strings.NewReader(stdin)
	out, err := run.CombinedOutput()
	if (err == nil) != ok {
		w.Fatalf("sallyport %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	for _, text := range says {
		if !strings.Contains(string(out), text) {
			w.Errorf("sallyport %s says not %q:\n%s", strings.Join(args, " "), text, out)
		}
	}
	return string(out)
}

// TestExceptionCommands goes through the workflow only with the command line:
// from the refusal of check to the request that it suggests, its answers, and the
// list of what is excused.
func TestExceptionCommands(t *testing.T) {
	w := newWorkflowLab(t)
	latest := deploymentOf("test", "test:latest", named)
	w.refused(alice, "create", latest, "disallow-latest-tag")

	dir := t.TempDir()
	policies := filepath.Join(dir, "policies.yaml")
	if err := os.WriteFile(policies, []byte(documentPolicies), 0o600); err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), binary, "check", "-p", policies, "--suggest-exception", "-o", "json", "-")
	check.Stdin = strings.NewReader(latest)
	out, _ := check.Output()
	var judged struct {
		Results []struct{ SuggestedException string }
	}
	if err := json.Unmarshal(out, &judged); err != nil || len(judged.Results) == 0 {
		t.Fatalf("%v:\n%s", err, out)
	}
	asked := judged.Results[0].SuggestedException
	w.sallyport(alice, asked, false, []string{"says not why"}, "request", "exception", "-f", "-")
	w.sallyport(alice, asked, true, []string{"sallyport approve dev/tag"}, "request", "exception", "tag", "-f", "-", "--reason", "the registry moves", "--duration", "2h")
	w.sallyport(alice, "", true, []string{"dev/tag", "Pending", "the registry moves"}, "exceptions", "-n", "dev")
	w.await("dave", "namespace dev", "get", "policyexceptionrequest", "-n", "dev", "tag", "-o", "jsonpath={.status.reach}")
	w.sallyport(alice, "", false, []string{"needs the verb approve"}, "approve", "dev/tag", "--yes")
	w.sallyport("dave", "", false, []string{"there is no terminal"}, "approve", "dev/tag")
	w.sallyport("dave", "", true, []string{"asked for by alice", "It reaches: namespace dev.", "Denied"}, "deny", "dev/tag", "--yes", "--reason", "say more")
	w.await("dave", "Denied", "get", "policyexceptionrequest", "-n", "dev", "tag", "-o", "jsonpath={.status.state}")
	want(t, shared.Kubectl(t.Context(), alice, "patch", "policyexceptionrequest", "-n", "dev", "tag", "--type=merge", "-p", `{"spec":{"reason":"the registry moves on Monday"}}`), true)
	w.await("dave", "Pending", "get", "policyexceptionrequest", "-n", "dev", "tag", "-o", "jsonpath={.status.state}")
	w.sallyport("dave", "", true, []string{"on Monday", "Approved", "kubectl delete policyexceptionresponse"}, "approve", "dev/tag", "--yes", "--reason", "fine")
	w.await("dave", "True InForce", "get", "policyexceptionrequest", "-n", "dev", "tag", "-o", `jsonpath={.status.conditions[?(@.type=="Enforced")].status} {.status.conditions[?(@.type=="Enforced")].reason}`)
	eventually(t, func() string {
		if r := w.do(alice, latest, "create", "--dry-run=server"); !r.OK() {
			return r.String()
		}
		return ""
	})
	w.sallyport("bob", "", true, []string{"dev/tag", "Active", "alice", "dave", "the registry moves on Monday"}, "exceptions", "-A")
}
