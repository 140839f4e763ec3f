package report_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/observe/report"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

func result(namespace string, status decision.Status, action decision.Action) decision.Result {
	return decision.Result{
		Policy: "p", Rule: "r", Kind: "ClusterPolicy", Status: status, Action: action, Message: "why",
		Resource: decision.Resource{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: "web"},
	}
}

// TestReportsAreOpenReports reads what is made with the types of OpenReports, and
// knows every field again.
func TestReportsAreOpenReports(t *testing.T) {
	score := 90
	excused := result("dev", decision.Skip, decision.Enforce)
	excused.Exceptions = []decision.Exception{{Kind: "PolicyException", Namespace: "dev", Name: "x", Reason: "migration", Requester: "ann", Approver: "ben", ExpiresAt: "2027-01-01T00:00:00Z"}}
	risky := result("dev", decision.Fail, decision.Enforce)
	risky.PolicyNamespace, risky.Score, risky.Factors = "dev", &score, []string{"hostPID", "hostNetwork"}
	risky.Findings = []decision.Finding{{Path: "spec.hostPID", Value: "true", Detail: "is set"}}
	reports := report.Of([]decision.Result{result("dev", decision.Pass, decision.Enforce), excused, risky, result("", decision.Error, decision.ActionAudit), result("dev", decision.Warn, decision.ActionWarn)})
	if len(reports) != 2 || reports[0].Kind != report.KindCluster || reports[1].Kind != report.KindNamespace || reports[1].Metadata.Namespace != "dev" {
		t.Fatalf("reports %+v", reports)
	}
	raw, err := json.Marshal(reports[1])
	if err != nil {
		t.Fatal(err)
	}
	var got openreports.Report
	if err := yaml.UnmarshalStrict(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(openreports.ReportSummary{Pass: 1, Skip: 1, Fail: 1, Warn: 1}, got.Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	properties := map[openreports.Result]map[string]string{}
	severities := map[openreports.Result]openreports.ResultSeverity{}
	for _, r := range got.Results {
		properties[r.Result], severities[r.Result] = r.Properties, r.Severity
	}
	if diff := cmp.Diff(map[openreports.Result]map[string]string{
		"pass": {"policyKind": "ClusterPolicy", "action": "enforce"},
		"skip": {"policyKind": "ClusterPolicy", "action": "enforce", "exception.0": "PolicyException dev/x, reason migration, requested by ann, approved by ben, until 2027-01-01T00:00:00Z"},
		"fail": {"policyKind": "ClusterPolicy", "action": "enforce", "score": "90", "factors": "hostPID, hostNetwork", "finding.0": "spec.hostPID = true: is set"},
		"warn": {"policyKind": "ClusterPolicy", "action": "warn"},
	}, properties); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[openreports.Result]openreports.ResultSeverity{"pass": "", "skip": "", "fail": "high", "warn": "medium"}, severities); diff != "" {
		t.Errorf("severities (-want +got):\n%s", diff)
	}
}
