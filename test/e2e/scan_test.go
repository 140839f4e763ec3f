package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"

	"github.com/sallyport-io/sallyport/test/lab"
)

// scanRights let the lab's Sallyport list everything and keep reports.
const scanRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: sallyport-scan-lab}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-scan}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + lab.SallyportUser + `}]
`

const scanPolicies = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: scanned}
spec:
  validationFailureAction: Audit
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod, Deployment], namespaces: [scan]}}]}
    validate: {message: say whose it is, pattern: {metadata: {labels: {team: "?*"}}}}
---
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: migration, namespace: scan}
spec:
  exceptions: [{policyName: scanned, ruleNames: [team]}]
  match: {any: [{resources: {kinds: [Deployment], names: [old]}}]}
  reason: moves on Monday
  duration: 8760h
`

// openReports are the CustomResourceDefinitions of OpenReports.
func openReports(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/openreports/reports-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "config", "crd", "*.yaml"))
	if err != nil || len(files) != 2 {
		t.Fatalf("CustomResourceDefinitions %v, %v", files, err)
	}
	return files
}

// TestBackgroundScan reports on what is in the cluster, and goes by exceptions
// as the doors do.
func TestBackgroundScan(t *testing.T) {
	for _, file := range openReports(t) {
		want(t, shared.Kubectl(t.Context(), root, "apply", "-f", file), true)
	}
	want(t, shared.Kubectl(t.Context(), root, "wait", "--for=condition=Established", "--timeout=60s", "crd/reports.openreports.io", "crd/clusterreports.openreports.io"), true)
	role, err := os.ReadFile(filepath.Join(repository(t), "config", "rbac", "features", "scan.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	deployment := strings.ReplaceAll(deploymentOf("new", "a:1", "")+"---"+deploymentOf("old", "a:1", ""), "namespace: dev", "namespace: scan")
	manifest := "apiVersion: v1\nkind: Namespace\nmetadata: {name: scan}\n---\n" + string(role) + "---\n" + scanRights + "---\n" + deployment
	if err := shared.Apply(t.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "scan", Args: []string{"--watch-policies", "--background-scan", "1s", "--background-scan-reports"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.Log())
		}
	})
	if err := shared.Apply(t.Context(), scanPolicies); err != nil {
		t.Fatal(err)
	}
	awaitReport := func(says ...string) {
		t.Helper()
		eventually(t, func() string {
			got := reportLines(t, "scan")
			for _, line := range says {
				if !strings.Contains(got, line) {
					return "not in the report: " + line + "\n" + got
				}
			}
			return ""
		})
	}
	excused := "skip Deployment/old PolicyException scan/migration, reason moves on Monday, "
	awaitReport("fail Deployment/new", excused, "until ")
	want(t, shared.Kubectl(t.Context(), root, "label", "deployment", "-n", "scan", "new", "team=blue"), true)
	want(t, shared.Kubectl(t.Context(), root, "delete", "policyexception", "-n", "scan", "migration"), true)
	awaitReport("fail Deployment/old")
	eventually(t, func() string {
		if got := reportLines(t, "scan"); strings.Contains(got, "Deployment/new") || strings.Contains(got, "skip") {
			return got
		}
		return ""
	})
	status, metrics, err := s.Get(t.Context(), "/metrics")
	if err != nil || status != 200 || !strings.Contains(string(metrics), `sallyport_scan_results{kind="ClusterPolicy",policy="scanned",status="fail"} 1`) {
		t.Errorf("metrics %d %v:\n%s", status, err, metrics)
	}
	remove := func() {
		t.Helper()
		want(t, shared.Kubectl(t.Context(), root, "delete", "clusterpolicy", "scanned"), true)
	}
	remove()
	eventually(t, func() string {
		r := shared.Kubectl(t.Context(), root, "get", "reports.openreports.io", "-A", "-o", "name")
		if !r.OK() || r.Stdout != "" {
			r = shared.Kubectl(t.Context(), root, "get", "reports.openreports.io", "-A", "-o", "yaml")
			return r.String()
		}
		return ""
	})

	// Whoever comes to lead does not wait for the time of its next scan.
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := shared.Apply(t.Context(), scanPolicies); err != nil {
		t.Fatal(err)
	}
	hourly, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: "scan-hourly", Args: []string{"--watch-policies", "--background-scan", "1h", "--background-scan-reports"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hourly.Stop(); err != nil {
			t.Error(err)
		}
	})
	awaitReport(excused)
	remove()
}

// reportLines is what the reports of a namespace list, a line each.
func reportLines(t *testing.T, namespace string) string {
	t.Helper()
	r := shared.Kubectl(t.Context(), root, "get", "reports.openreports.io", "-n", namespace, "-o", "json")
	if !r.OK() {
		return r.String()
	}
	var list openreports.ReportList
	if err := json.Unmarshal([]byte(r.Stdout), &list); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range list.Items {
		for _, one := range list.Items[i].Results {
			fmt.Fprintf(&b, "%s %s/%s %s\n", one.Result, one.Subjects[0].Kind, one.Subjects[0].Name, one.Properties["exception.0"])
		}
	}
	return b.String()
}
