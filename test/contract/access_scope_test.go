package contract

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestAccessSubresources says which subresources are judged: exec, attach and
// portforward by default, others when they are named.
func TestAccessSubresources(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		scope       string
		subresource string
		decision    string
		doors       []string
	}{
		{"default", "", "exec", "deny", doors},
		{"default", "", "attach", "deny", doors},
		{"default", "", "portforward", "deny", doors},
		{"default", "", "ephemeralcontainers", "allow", doors},
		{"default", "", "proxy", "allow", doors},
		{"default", "", "log", "allow", doors[:1]},
		{"named", "appliesTo: {subresources: [ephemeralcontainers]}, ", "ephemeralcontainers", "deny", doors},
		{"named", "appliesTo: {subresources: [proxy]}, ", "proxy", "deny", doors},
		{"named", "appliesTo: {subresources: [log]}, ", "log", "deny", doors[:1]},
		{"proxy named", "appliesTo: {subresources: [proxy]}, ", "exec", "allow", doors},
		{"nodes/proxy named", "appliesTo: {subresources: [nodes/proxy]}, ", "proxy", "allow", doors},
	}
	for _, tt := range tests {
		for _, door := range tt.doors {
			t.Run(tt.name+"/"+tt.subresource+"/"+door, func(t *testing.T) {
				t.Parallel()
				dir := files(t, map[string]string{
					"policy.yaml": denyPolicy("scoped", "{"+tt.scope+"blockFactors: [privilegedContainer]}"),
					"pods.yaml":   documents(t, newPod("shop", "web", first(privileged))),
				})
				access(t, dir, tt.subresource, "shop/web", "--door", door).expect(t, tt.decision)
			})
		}
	}
}

// TestAccessVerbs says that an exec by WebSocket is an exec.
func TestAccessVerbs(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"create", "get"} {
		for _, subresource := range []string{"exec", "attach", "portforward"} {
			t.Run(verb+"/"+subresource, func(t *testing.T) {
				t.Parallel()
				dir := files(t, map[string]string{
					"policy.yaml": denyPolicy("both", "{blockFactors: [privilegedContainer]}"),
					"pods.yaml":   documents(t, newPod("shop", "web", first(privileged))),
				})
				access(t, dir, subresource, "shop/web", "--verb", verb).expect(t, "deny")
			})
		}
	}
}

// TestAccessContainerScope scores the container that is entered and what it
// shares with its pod. Only the admission door knows the container.
func TestAccessContainerScope(t *testing.T) {
	t.Parallel()
	neighbour := sidecar(privileged)
	tests := []struct {
		name      string
		pod       []change
		container string
		door      string
		decision  string
	}{
		{"a clean container beside a privileged one", []change{neighbour}, "app", "admission", "allow"},
		{"the privileged one", []change{neighbour}, "sidecar", "admission", "deny"},
		{"none named: the first is entered", []change{neighbour}, "", "admission", "allow"},
		{"none named: the annotated default is entered", []change{neighbour, defaultContainer("sidecar")}, "", "admission", "deny"},
		{"a named one takes precedence over the annotated default", []change{neighbour, defaultContainer("sidecar")}, "app", "admission", "allow"},
		{"what the pod shares counts", []change{neighbour, hostNetwork}, "app", "admission", "deny"},
		{"a host path of the container counts", []change{neighbour, hostPath("v", "/srv/v", false)}, "app", "admission", "deny"},
		{"an ephemeral container is one that can be entered", []change{ephemeral(privileged)}, "debugger", "admission", "deny"},
		{"an ephemeral neighbour", []change{ephemeral(privileged)}, "app", "admission", "allow"},
		{"an init container is one that can be entered", []change{initial(privileged)}, "setup", "admission", "deny"},
		{"the access door scores the pod", []change{neighbour}, "app", "access", "deny"},
	}
	policy := denyPolicy("entered", `{scope: container, riskFactors: {privilegedContainer: 90, hostNetwork: 90, hostPathWritable: 90},
  thresholds: [{maxScore: 50, action: allow}, {maxScore: 100, action: deny}]}`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			flags := []string{"--door", tt.door}
			if tt.container != "" {
				flags = append(flags, "-c", tt.container)
			}
			judgePod(t, policy, newPod("shop", "web", tt.pod...), "shop/web", flags...).expect(t, tt.decision)
		})
	}
}

// TestAccessPodScope says that the whole pod counts unless a policy says else.
func TestAccessPodScope(t *testing.T) {
	t.Parallel()
	policy := denyPolicy("whole", `{blockFactors: [privilegedContainer]}`)
	for _, door := range doors {
		judgePod(t, policy, newPod("shop", "web", sidecar(privileged)), "shop/web", "--door", door, "-c", "app").expect(t, "deny")
	}
}

// TestAccessClusters says which clusters a policy is about.
func TestAccessClusters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		globs    string
		cluster  string
		decision string
	}{
		{`["prod-*"]`, "prod-eu", "deny"},
		{`["prod-*"]`, "prod-", "deny"},
		{`["prod-*"]`, "prod", "allow"},
		{`["prod-*"]`, "my-prod-eu", "allow"},
		{`["prod-?"]`, "prod-1", "deny"},
		{`["prod-?"]`, "prod-12", "allow"},
		{`["*-eu"]`, "prod-eu", "deny"},
		{`["*"]`, "anything", "deny"},
		{`["dev-*", "prod-*"]`, "prod-eu", "deny"},
		{`["prod-eu"]`, "prod-eu", "deny"},
		{`["prod-eu"]`, "prod-eu2", "allow"},
		{`["prod.eu"]`, "prodxeu", "allow"},
	}
	for _, tt := range tests {
		t.Run(tt.globs+" "+tt.cluster, func(t *testing.T) {
			t.Parallel()
			policy := denyPolicySpec("clustered", "appliesTo: {clusters: "+tt.globs+"}\npodSecurityRules: {blockFactors: [hostNetwork]}")
			j := judgePod(t, policy, newPod("shop", "web", hostNetwork), "shop/web", "--cluster", tt.cluster)
			j.expect(t, tt.decision)
			if tt.decision == "allow" && len(j.of("clustered")) != 0 {
				t.Errorf("%d results of a policy that is not about this cluster, want none", len(j.of("clustered")))
			}
		})
	}
}

// TestAccessUnknownScopes says that a scope which cannot be known does not
// narrow the policy.
func TestAccessUnknownScopes(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"escalationRefs: [emergency]", "sessions: [night-shift]", "tenants: [team-a]"} {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			policy := denyPolicySpec("scoped", "appliesTo: {"+scope+"}\npodSecurityRules: {blockFactors: [hostNetwork]}")
			judgePod(t, policy, newPod("shop", "web", hostNetwork), "shop/web").expect(t, "deny")
		})
	}
}

func defaultContainer(name string) change {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": name}
	}
}
