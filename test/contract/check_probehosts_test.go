package contract

import (
	"fmt"
	"strings"
	"testing"
)

// probePositions are the ten places of a container in which a host can stand:
// with main and init containers the twenty of KEP-4940.
var probePositions = []string{
	"livenessProbe.httpGet", "readinessProbe.httpGet", "startupProbe.httpGet",
	"livenessProbe.tcpSocket", "readinessProbe.tcpSocket", "startupProbe.tcpSocket",
	"lifecycle.postStart.tcpSocket", "lifecycle.preStop.tcpSocket",
	"lifecycle.postStart.httpGet", "lifecycle.preStop.httpGet",
}

var containerLists = []string{"containers", "initContainers", "ephemeralContainers"}

// probeHosts are hosts by the name that their pods carry. KEP-4940 allows the
// first three, Kubernetes as shipped only the first.
var probeHosts = []struct {
	name, host      string
	kep, kubernetes bool
}{
	{"none", "", true, true},
	{"loopback4", "127.0.0.1", true, false},
	{"loopback6", "::1", true, false},
	{"external", "135.45.63.4", false, false},
	{"metadata", "169.254.169.254", false, false},
	{"localhost", "localhost", false, false},
	{"unspecified", "0.0.0.0", false, false},
	{"other-loopback", "127.0.0.2", false, false},
	{"long-loopback6", "0:0:0:0:0:0:0:1", false, false},
	{"mapped-loopback", "::ffff:127.0.0.1", false, false},
}

// probeRules are the rules that each pod is judged by.
var probeRules = []struct {
	name, podSecurity string
	judged, shipped   bool
}{
	{"kep-baseline-v1-34", "{level: baseline, version: v1.34}", true, false},
	{"kep-baseline-latest", "{level: baseline, version: latest}", true, false},
	{"kep-baseline-v1-33", "{level: baseline, version: v1.33}", false, false},
	{"kep-restricted-v1-34", "{level: restricted, version: v1.34, probeHosts: kep-4940}", true, false},
	{"kep-restricted-v1-33", "{level: restricted, version: v1.33, probeHosts: kep-4940}", false, false},
	{"kep-privileged-v1-34", "{level: privileged, version: v1.34}", false, false},
	{"shipped-baseline-v1-34", "{level: baseline, version: v1.34, probeHosts: kubernetes}", true, true},
	{"shipped-restricted-latest", "{level: restricted, version: latest, probeHosts: kubernetes}", true, true},
	{"shipped-baseline-v1-33", "{level: baseline, version: v1.33, probeHosts: kubernetes}", false, true},
}

// TestCheckProbeHosts judges every position with every host in every reading
// and version, in one command.
func TestCheckProbeHosts(t *testing.T) {
	t.Parallel()
	var rules []string
	for _, r := range probeRules {
		rules = append(rules, fmt.Sprintf("- name: %s\n  match: {any: [{resources: {kinds: [Pod]}}]}\n  validate: {podSecurity: %s}", r.name, r.podSecurity))
	}
	var pods []any
	for _, list := range containerLists {
		for _, position := range probePositions {
			for _, h := range probeHosts {
				pods = append(pods, probePod(list, position, h.name, h.host))
			}
		}
	}
	dir := files(t, map[string]string{
		"policy.yaml": clusterPolicy("probes", "Enforce", strings.Join(rules, "\n")),
		"pods.yaml":   documents(t, pods...),
	})
	j := judge(t, "check", "-p", dir+"/policy.yaml", dir+"/pods.yaml")
	j.expect(t, "deny")
	found := map[string]result{}
	for _, r := range j.Results {
		found[r.Rule+"/"+r.Resource.Name] = r
	}
	for _, rule := range probeRules {
		t.Run(rule.name, func(t *testing.T) {
			for _, list := range containerLists {
				for _, position := range probePositions {
					for _, h := range probeHosts {
						allowed := !rule.judged || (rule.shipped && h.kubernetes) || (!rule.shipped && h.kep)
						r, exists := found[rule.name+"/"+probePodName(list, position, h.name)]
						if !exists {
							t.Fatalf("no result for %s in %s of %s", h.host, position, list)
						}
						wantProbe(t, r, list, position, h.host, allowed)
					}
				}
			}
		})
	}
}

func wantProbe(t *testing.T, r result, list, position, host string, allowed bool) {
	t.Helper()
	if allowed {
		if r.Status != "pass" || len(r.Findings) != 0 {
			t.Errorf("host %q in %s of %s: status %q with findings %v, want pass", host, position, list, r.Status, r.Findings)
		}
		return
	}
	path := fmt.Sprintf("spec.%s[0].%s.host", list, position)
	if r.Status != "fail" || len(r.Findings) != 1 || r.Findings[0].Path != path || fmt.Sprint(r.Findings[0].Value) != host {
		t.Errorf("host %q in %s of %s: status %q with findings %v, want fail at %s", host, position, list, r.Status, r.Findings, path)
	}
}

// TestCheckProbeHostMessage words the violation as KEP-4940 does.
func TestCheckProbeHostMessage(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{
		"policy.yaml": podSecurityPolicy("standard", "Enforce", "{level: restricted, version: latest}"),
		"pod.yaml":    documents(t, probePod("containers", "livenessProbe.httpGet", "external", "135.45.63.4")),
	})
	j := judge(t, "check", "-p", dir+"/policy.yaml", dir+"/pod.yaml")
	j.expect(t, "deny")
	wantContains(t, j.messages(), `probeHost (container "liveness" uses probeHost 135.45.63.4)`)
	text := run(t, "check", "-p", dir+"/policy.yaml", dir+"/pod.yaml")
	if text.code != 1 {
		t.Errorf("exit status %d, want 1", text.code)
	}
	wantContains(t, text.stdout, "spec.containers[0].livenessProbe.httpGet.host", "135.45.63.4")
}

func probePodName(list, position, host string) string {
	return strings.ToLower(strings.NewReplacer(".", "-").Replace(list + "-" + position + "-" + host))
}

// probePod returns a restricted pod whose one container of that list has a
// probe or handler with the host.
func probePod(list, position, hostName, host string) map[string]any {
	action := map[string]any{"port": 8080}
	if host != "" {
		action["host"] = host
	}
	suspect := probeContainer("liveness")
	at := suspect
	steps := strings.Split(position, ".")
	for _, step := range steps[:len(steps)-1] {
		next := map[string]any{}
		at[step] = next
		at = next
	}
	at[steps[len(steps)-1]] = action
	spec := map[string]any{
		"securityContext": map[string]any{"runAsNonRoot": true, "seccompProfile": map[string]any{"type": "RuntimeDefault"}},
		"containers":      []any{probeContainer("app")},
	}
	spec[list] = []any{suspect}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": probePodName(list, position, hostName), "namespace": "shop"},
		"spec":     spec,
	}
}

func probeContainer(name string) map[string]any {
	return map[string]any{"name": name, "image": "example.com/app:1", "securityContext": map[string]any{
		"allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}}}}
}
