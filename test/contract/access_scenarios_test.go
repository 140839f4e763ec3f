package contract

import (
	"strings"
	"testing"
)

// TestAccessScenarios runs the nine scenarios of the document "Pod Security Risk
// Classification" at both doors and in both apiVersions.
func TestAccessScenarios(t *testing.T) {
	t.Parallel()
	execOnly := denyPolicy("exec-only", `{appliesTo: {subresources: [exec]}, blockFactors: [privilegedContainer]}`)
	tests := []struct {
		name        string
		example     string
		extra       string
		cluster     string
		subresource string
		pod         string
		decision    string
	}{
		{"risk score denial", "high-risk-pod-exec-blocking", "", "prod-eu", "exec", "shop/risky", "deny"},
		{"safe pod allowed", "high-risk-pod-exec-blocking", "", "prod-eu", "exec", "shop/safe", "allow"},
		{"block factor denial", "high-risk-pod-exec-blocking", "", "prod-eu", "exec", "shop/hostnetwork", "deny"},
		{"namespace exemption", "high-risk-pod-exec-blocking", "", "prod-eu", "exec", "kube-system/risky", "allow"},
		{"fail mode closed", "high-risk-pod-exec-blocking", "", "prod-eu", "exec", "shop/gone", "deny"},
		{"fail mode open", "dev-permissive-exec", "", "dev-1", "exec", "shop/gone", "allow"},
		{"attach evaluation", "high-risk-pod-exec-blocking", "", "prod-eu", "attach", "shop/risky", "deny"},
		{"portforward evaluation", "high-risk-pod-exec-blocking", "", "prod-eu", "portforward", "shop/risky", "deny"},
		{"subresource scope: named", "", execOnly, "prod-eu", "exec", "shop/privileged", "deny"},
		{"subresource scope: not named", "", execOnly, "prod-eu", "attach", "shop/privileged", "allow"},
		{"subresource scope: not named either", "", execOnly, "prod-eu", "portforward", "shop/privileged", "allow"},
	}
	pods := documents(t,
		newPod("shop", "safe"),
		newPod("shop", "risky", hostPID, hostPath("data", "/srv/data", true)),
		newPod("shop", "hostnetwork", hostNetwork),
		newPod("shop", "privileged", first(privileged)),
		newPod("kube-system", "risky", hostPID, hostPath("data", "/srv/data", true)),
	)
	for _, apiVersion := range apiVersions {
		for _, door := range doors {
			for _, tt := range tests {
				t.Run(tt.name+"/"+door+"/"+apiVersion, func(t *testing.T) {
					t.Parallel()
					policy := strings.Replace(tt.extra, apiVersions[0], apiVersion, 1)
					if tt.example != "" {
						policy = examplePolicy(t, tt.example, apiVersion)
					}
					dir := files(t, map[string]string{"policy.yaml": policy, "pods.yaml": pods})
					access(t, dir, tt.subresource, tt.pod, "--cluster", tt.cluster, "--door", door).expect(t, tt.decision)
				})
			}
		}
	}
}

// TestAccessExamplePolicies holds each example policy to every line of it. No
// breakglass session is known here, so escalationRefs narrow nothing.
func TestAccessExamplePolicies(t *testing.T) {
	t.Parallel()
	const high, strict, dev = "high-risk-pod-exec-blocking", "prod-strict-exec", "dev-permissive-exec"
	readOnly, writable := hostPath("data", "/srv/data", true), hostPath("data", "/srv/data", false)
	tests := []struct {
		name     string
		example  string
		cluster  string
		pod      []change
		decision string
		message  string
	}{
		{"score up to 30 is allowed", high, "prod-eu", []change{readOnly}, "allow", ""},
		{"score 40 warns", high, "prod-eu", []change{first(root)}, "warn", ""},
		{"score 70 warns", high, "prod-eu", []change{hostPID}, "warn", ""},
		{"score 80 denies with the reason", high, "prod-eu", []change{hostPID, readOnly}, "deny", "Pod exceeds security risk threshold (score: 80). Factors: "},
		{"score 110 is above all", high, "prod-eu", []change{hostPID, first(root)}, "deny", "110"},
		{"a listed capability denies by its score", high, "prod-eu", []change{first(adding("SYS_ADMIN"))}, "deny", "(score: 80)"},
		{"hostNetwork is blocked", high, "prod-eu", []change{hostNetwork}, "deny", "hostNetwork"},
		{"a privileged container is blocked", high, "prod-eu", []change{first(privileged)}, "deny", "privilegedContainer"},
		{"the label exempts", high, "prod-eu", []change{first(privileged), labelled("breakglass.telekom.com/security-exempt", "true")}, "allow", ""},
		{"the label with another value does not", high, "prod-eu", []change{first(privileged), labelled("breakglass.telekom.com/security-exempt", "false")}, "deny", ""},
		{"another cluster is not concerned", high, "dev-eu", []change{first(privileged)}, "allow", ""},

		{"score 50 is allowed", strict, "prod-1", []change{first(adding("NET_ADMIN"))}, "allow", ""},
		{"score 30 is allowed", strict, "prod-1", []change{first(root)}, "allow", ""},
		{"score 80 warns", strict, "prod-1", []change{writable}, "warn", ""},
		{"root with NET_ADMIN warns", strict, "prod-1", []change{first(func(s *securityContext) { root(s); adding("NET_ADMIN")(s) })}, "warn", ""},
		{"score 100 denies with the reason", strict, "prod-1", []change{hostNetwork}, "deny", "Exec to high-risk pod blocked. Risk score: 100, factors: "},
		{"score 200 is above all", strict, "prod-1", []change{hostNetwork, hostPID}, "deny", "200"},
		{"what has no weight does not count", strict, "prod-1", []change{hostIPC, readOnly}, "allow", ""},

		{"everything warns", dev, "dev-1", []change{hostNetwork, first(func(s *securityContext) { privileged(s); root(s) })}, "warn", ""},
		{"a safe pod warns too", dev, "staging-2", nil, "warn", ""},
		{"production is not concerned", dev, "prod-1", []change{hostNetwork}, "allow", ""},
	}
	for _, apiVersion := range apiVersions {
		for _, tt := range tests {
			t.Run(tt.example+"/"+tt.name+"/"+apiVersion, func(t *testing.T) {
				t.Parallel()
				j := judgePod(t, examplePolicy(t, tt.example, apiVersion), newPod("shop", "web", tt.pod...), "shop/web", "--cluster", tt.cluster)
				j.expect(t, tt.decision)
				wantContains(t, j.messages(), tt.message)
			})
		}
	}
}

// TestAccessMissingPod says what a fail mode does to a pod that cannot be read.
func TestAccessMissingPod(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, failMode, decision string }{
		{"closed", "failMode: closed, ", "deny"},
		{"closed by default", "", "deny"},
		{"open", "failMode: open, ", "allow"},
	}
	for _, tt := range tests {
		for _, door := range doors {
			t.Run(tt.name+"/"+door, func(t *testing.T) {
				t.Parallel()
				policy := denyPolicy("guard", "{"+tt.failMode+"blockFactors: [hostNetwork]}")
				j := judgePod(t, policy, newPod("other", "web"), "shop/web", "--door", door)
				j.expect(t, tt.decision)
				if tt.decision == "deny" && j.only(t, "guard").Status != "error" {
					t.Errorf("status %q of a result that could not be judged, want error", j.only(t, "guard").Status)
				}
			})
		}
	}
}
