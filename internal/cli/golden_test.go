package cli_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
)

// TestGolden runs commands on the examples, as text and as JSON, and compares
// all that they write and their exit status. `go test ./internal/cli -update`
// writes what is expected again.
func TestGolden(t *testing.T) {
	tests := []struct{ name, args string }{
		{"check-baseline", "check -p podsecurity/baseline.yaml workloads"},
		{"check-restricted", "check -p podsecurity/restricted.yaml workloads"},
		{"check-namespace-labels", "check -p podsecurity/namespace-labels.yaml -p cluster/namespaces.yaml workloads"},
		{"check-probe-hosts", "check -p podsecurity/probe-hosts.yaml workloads/bad/prober.yaml"},
		{"check-policies", "check -p podsecurity/baseline.yaml denypolicies podsecurity"},
		{"check-verbose", "check -v -p podsecurity -p cluster workloads/good"},
		{"check-demo", "check -p demo/policies demo/manifests"},

		{"document-safe", "access exec shop/web-0 --cluster prod-eu -p denypolicies/high-risk-pod-exec-blocking.yaml -p cluster"},
		{"document-warned", "access exec shop/cache-0 --cluster prod-eu -p denypolicies/high-risk-pod-exec-blocking.yaml -p cluster"},
		{"document-blocked", "access attach shop/router-0 --cluster prod-eu -p denypolicies/high-risk-pod-exec-blocking.yaml -p cluster"},
		{"document-exempt", "access exec -v kube-system/proxy-0 --cluster prod-eu -p denypolicies/high-risk-pod-exec-blocking.yaml -p cluster"},
		{"document-other-cluster", "access exec shop/router-0 --cluster dev-eu -p denypolicies/high-risk-pod-exec-blocking.yaml -p cluster"},
		{"strict-denied", "access portforward shop/traced-0 --cluster prod-eu -p denypolicies/prod-strict-exec.yaml -p cluster"},
		{"permissive-warned", "access exec shop/traced-0 --cluster dev-1 -p denypolicies/dev-permissive-exec.yaml -p cluster"},
		{"permissive-missing", "access exec shop/gone-0 --cluster dev-1 -p denypolicies/dev-permissive-exec.yaml -p cluster"},
		{"block-list-allowed", "access exec shop/deployer-0 -p denypolicies/block-list.yaml -p cluster"},
		{"block-list-node", "access nodes/proxy node-1 -p denypolicies/block-list.yaml -p cluster"},
		{"container-application", "access exec shop/traced-0 -c app --door admission --as alice -p denypolicies/container-scope.yaml -p cluster"},
		{"container-sidecar", "access exec shop/traced-0 -c tracer --door admission --as alice -p denypolicies/container-scope.yaml -p cluster"},
		{"approval-required", "access exec shop/deployer-0 --as alice -p denypolicies/require-approval.yaml -p cluster"},
		{"breakglass-offered", "access exec shop/traced-0 --cluster prod-eu --as alice --as-group on-call -p denypolicies/require-approval.yaml -p cluster -p breakglass"},
		{"breakglass-not-his", "access exec shop/traced-0 --cluster drill-1 --as dave --as-group developers -p denypolicies/require-approval.yaml -p cluster -p breakglass"},
		{"breakglass-let-in", "access exec shop/traced-0 --cluster drill-1 --as alice --as-group on-call -p denypolicies/require-approval.yaml -p cluster -p breakglass"},
		{"breakglass-sessions", "sessions -p breakglass --history"},
		{"rule-denied", "access exec kube-system/proxy-0 --cluster prod-eu -p denypolicies/no-secrets-by-hand.yaml -p cluster"},
		{"debug-denied", "access ephemeralcontainers shop/traced-0 --door admission -p denypolicies/block-list.yaml -p cluster"},
		{"identity-denied", "check -p identities/document.yaml -p identities/gke.yaml -p identities/holders.yaml --as alice claims"},
		{"identity-held", "check -p identities/document.yaml -p identities/holders.yaml -v --as employee-10 claims/deployment.yaml"},
		{"identity-half", "check -p identities/document.yaml -p identities/gke.yaml -p identities/holders.yaml --as employee-10 --suggest-exception claims/document.yaml"},
		{"identity-nobody", "check -p identities/document.yaml -v claims/deployment.yaml"},
		{"who-can", "who-can kerberos=legacy-frontend-app -p identities -p cluster"},
		{"who-can-any", "who-can spiffe --form resource -p identities"},
		{"who-can-nobody", "who-can kerberos-realm=legacy-frontend-app -p identities"},
		{"identities", "identities -p identities/document.yaml -p identities/gke.yaml -p identities/holders.yaml -p auditing"},
		{"identities-claim", "identities --claim cloud.google.com/serviceaccount -p identities/gke.yaml -p identities/holders.yaml -p auditing"},
		{"identities-all", "identities --with-claims-only=false --limit 1 -p identities -p cluster -p auditing"},
		{"all-of-them", "access exec shop/traced-0 --cluster prod-eu -p denypolicies -p cluster"},
	}
	golden, err := filepath.Abs(filepath.Join("testdata", "golden"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join("..", "..", "examples"))
	for _, test := range tests {
		for _, format := range []string{"text", "json"} {
			t.Run(test.name+"/"+format, func(t *testing.T) {
				args := append(strings.Fields(test.args), "-o", format)
				status, stdout, stderr := clitest.Run(t, "", args...)
				got := fmt.Sprintf("$ sallyport %s\n%s", strings.Join(args, " "), stdout)
				if stderr != "" {
					got += "--- standard error\n" + stderr
				}
				got += fmt.Sprintf("--- exit status %d\n", status)
				clitest.Compare(t, filepath.Join(golden, test.name+"."+format), got)
			})
		}
	}
}
