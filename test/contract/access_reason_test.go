package contract

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAccessReason renders every value that a reason may name.
func TestAccessReason(t *testing.T) {
	t.Parallel()
	policy := denyPolicy("told", `{riskFactors: {hostNetwork: 60, hostPID: 20}, thresholds: [{maxScore: 50, action: allow}, {maxScore: 100, action: deny, reason: "score={{.score}} factors={{.factors}} pod={{.pod}} namespace={{.namespace}} container={{.container}} user={{.user}} subresource={{.subresource}} cluster={{.cluster}}."}]}`)
	pod := newPod("shop", "web", hostNetwork, hostPID, sidecar(func(*securityContext) {}))
	for _, door := range doors {
		t.Run(door, func(t *testing.T) {
			t.Parallel()
			j := judgePod(t, policy, pod, "shop/web", "--door", door, "--as", "alice@example.com", "--cluster", "prod-eu", "-c", "sidecar")
			j.expect(t, "deny")
			message := j.only(t, "told").Message
			wantContains(t, message, "score=80 ", "hostNetwork", "hostPID", "pod=web ", "namespace=shop ", "user=alice@example.com ", "subresource=exec ", "cluster=prod-eu.")
			if door == "admission" {
				wantContains(t, message, "container=sidecar ")
			}
		})
	}
}

// TestAccessReasonIsShown says that people read the reason as well as scripts.
func TestAccessReasonIsShown(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{
		"policy.yaml": denyPolicy("told", `{riskFactors: {hostPID: 80}, thresholds: [{maxScore: 50, action: allow}, {maxScore: 100, action: deny, reason: "Ask in #platform, score {{.score}}."}]}`),
		"pods.yaml":   documents(t, newPod("shop", "web", hostPID)),
	})
	out := run(t, "access", "exec", "shop/web", "-p", dir)
	if out.code != 1 {
		t.Errorf("exit status %d, want 1\n%s", out.code, out.all())
	}
	wantContains(t, out.stdout, "Ask in #platform, score 80.", "told", "spec.hostPID")
	if strings.Contains(out.stdout, "\x1b[") {
		t.Error("colours where there is no terminal")
	}
}

// TestAccessFindings says that a factor points at the field it was found in.
func TestAccessFindings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		factor string
		pod    []change
		paths  []string
	}{
		{"host network", "hostNetwork", []change{hostNetwork}, []string{"spec.hostNetwork"}},
		{"main container", "privilegedContainer", []change{first(privileged)}, []string{"spec.containers[0].securityContext.privileged"}},
		{"second container", "privilegedContainer", []change{sidecar(privileged)}, []string{"spec.containers[1].securityContext.privileged"}},
		{"init container", "privilegedContainer", []change{initial(privileged)}, []string{"spec.initContainers[0].securityContext.privileged"}},
		{"ephemeral container", "privilegedContainer", []change{ephemeral(privileged)}, []string{"spec.ephemeralContainers[0].securityContext.privileged"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := judgePod(t, denyPolicy("found", "{blockFactors: ["+tt.factor+"]}"), newPod("shop", "web", tt.pod...), "shop/web")
			j.expect(t, "deny")
			r := j.only(t, "found")
			if diff := cmp.Diff(tt.paths, r.paths()); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			if !slices.Contains(r.Factors, tt.factor) {
				t.Errorf("factors %v do not name %s", r.Factors, tt.factor)
			}
			if r.Resource.Kind != "Pod" || r.Resource.Namespace != "shop" || r.Resource.Name != "web" || r.Kind != "DenyPolicy" {
				t.Errorf("the result is about %+v by a %s", r.Resource, r.Kind)
			}
		})
	}
}

// TestAccessPrecedence says that the lower precedence is judged and named
// first, and that an allow wins over nothing.
func TestAccessPrecedence(t *testing.T) {
	t.Parallel()
	policy := func(name, precedence, factor string) string {
		return denyPolicySpec(name, precedence+"podSecurityRules: {blockFactors: ["+factor+"]}")
	}
	dir := files(t, map[string]string{
		"a.yaml": policy("a-late", "precedence: 200\n", "hostNetwork"),
		"b.yaml": policy("b-first", "precedence: 10\n", "hostPID"),
		"c.yaml": policy("c-default", "", "hostNetwork"),
		"d.yaml": policy("d-early", "precedence: 50\n", "hostNetwork"),
		"p.yaml": documents(t, newPod("shop", "web", hostNetwork)),
	})
	j := access(t, dir, "exec", "shop/web")
	j.expect(t, "deny")
	var order []string
	for _, r := range j.Results {
		order = append(order, r.Policy)
	}
	if diff := cmp.Diff([]string{"b-first", "d-early", "c-default", "a-late"}, order); diff != "" {
		t.Errorf("order of the results (-want +got):\n%s", diff)
	}
}
