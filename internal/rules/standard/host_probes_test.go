package standard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// hostFields are the fields of a container that KEP-4940 lists.
var hostFields = []string{
	"livenessProbe.httpGet", "readinessProbe.httpGet", "startupProbe.httpGet",
	"livenessProbe.tcpSocket", "readinessProbe.tcpSocket", "startupProbe.tcpSocket",
	"lifecycle.postStart.tcpSocket", "lifecycle.preStop.tcpSocket",
	"lifecycle.postStart.httpGet", "lifecycle.preStop.httpGet",
}

// manifestWithHost is a pod with one host at one field of one container.
func manifestWithHost(kind, field, host string) string {
	open, end := "", ""
	for _, name := range strings.Split(field, ".") {
		open += "{" + name + ": "
		end += "}"
	}
	handler := fmt.Sprintf("{port: 80, host: %q}", host)
	if host == "" {
		handler = "{port: 80}"
	}
	container := "{name: liveness, " + open[1:] + handler + end
	return "{spec: {" + kind + ": [{name: other}, " + container + "]}}"
}

// TestProbeHostPositions goes through each field that KEP-4940 lists, in init,
// main and ephemeral containers, each value, both readings and the versions
// around the one that the check came with.
func TestProbeHostPositions(t *testing.T) {
	t.Parallel()
	// denied says, for a value, whether KEP-4940 and Kubernetes as shipped
	// refuse it.
	denied := map[string]map[v1alpha1.ProbeHosts]bool{
		"135.45.63.4":     {v1alpha1.ProbeHostsKEP4940: true, v1alpha1.ProbeHostsKubernetes: true},
		"127.0.0.1":       {v1alpha1.ProbeHostsKubernetes: true},
		"::1":             {v1alpha1.ProbeHostsKubernetes: true},
		"":                {},
		"localhost":       {v1alpha1.ProbeHostsKEP4940: true, v1alpha1.ProbeHostsKubernetes: true},
		"127.0.0.2":       {v1alpha1.ProbeHostsKEP4940: true, v1alpha1.ProbeHostsKubernetes: true},
		"127.1":           {v1alpha1.ProbeHostsKEP4940: true, v1alpha1.ProbeHostsKubernetes: true},
		" 127.0.0.1":      {v1alpha1.ProbeHostsKEP4940: true, v1alpha1.ProbeHostsKubernetes: true},
		"127.0.0.1:80":    {v1alpha1.ProbeHostsKEP4940: true, v1alpha1.ProbeHostsKubernetes: true},
		"[::1]":           {v1alpha1.ProbeHostsKEP4940: true, v1alpha1.ProbeHostsKubernetes: true},
		"0:0:0:0:0:0:0:1": {v1alpha1.ProbeHostsKEP4940: true, v1alpha1.ProbeHostsKubernetes: true},
	}
	for _, kind := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, field := range hostFields {
			t.Run(kind+" "+field, func(t *testing.T) {
				t.Parallel()
				for host, verdicts := range denied {
					p := parse(t, manifestWithHost(kind, field, host))
					for _, hosts := range bothHosts {
						for _, version := range []string{"v1.33", "v1.34", "latest"} {
							for _, level := range []v1alpha1.StandardLevel{v1alpha1.LevelBaseline, v1alpha1.LevelRestricted} {
								want := ""
								if verdicts[hosts] && version != "v1.33" {
									want = fmt.Sprintf("spec.%s[1].%s.host=%s", kind, field, host)
								}
								got := ""
								for _, v := range mustNew(t, level, version, hosts).Check(p) {
									if v.ID == string(hostProbesID) && len(v.Findings) == 1 {
										got = v.Findings[0].Path + "=" + v.Findings[0].Value
									}
								}
								if got != want {
									t.Errorf("%q, %s, %s:%s: got %q, want %q", host, hosts, level, version, got, want)
								}
							}
						}
					}
				}
			})
		}
	}
}

func TestProbeHostWords(t *testing.T) {
	t.Parallel()
	const many = `
spec:
  initContainers: [{name: a, startupProbe: {tcpSocket: {port: 1, host: 10.0.0.2}}}]
  containers:
  - {name: b, livenessProbe: {httpGet: {port: 1, host: 127.0.0.1}}}
  - {name: c, livenessProbe: {httpGet: {port: 1, host: 10.0.0.1}}, lifecycle: {preStop: {httpGet: {port: 1, host: 10.0.0.2}}}}
`
	tests := []struct {
		name  string
		pod   string
		hosts v1alpha1.ProbeHosts
		want  string
	}{
		{
			name: "as in KEP-4940",
			pod:  `{spec: {containers: [{name: liveness, livenessProbe: {httpGet: {port: 80, host: 135.45.63.4}}}]}}`,
			want: `probeHost (container "liveness" uses probeHost 135.45.63.4)`,
		},
		{
			name:  "as shipped",
			hosts: v1alpha1.ProbeHostsKubernetes,
			pod:   `{spec: {containers: [{name: liveness, livenessProbe: {httpGet: {port: 80, host: 135.45.63.4}}}]}}`,
			want:  `probe or lifecycle host (container "liveness" uses probe or lifecycle host "135.45.63.4")`,
		},
		{name: "several", pod: many, want: `probeHost (containers "a", "c" use probeHosts 10.0.0.1, 10.0.0.2)`},
		{
			name: "one host in two containers",
			pod:  `{spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 1, host: fe80::1%eth0}}}, {name: b, livenessProbe: {tcpSocket: {port: 1, host: fe80::1%eth0}}}]}}`,
			want: `probeHost (containers "a", "b" use probeHost fe80::1%eth0)`,
		},
		{
			name: "a host that reads as more than one",
			pod:  `{spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 1, host: "x, y\n"}}}]}}`,
			want: `probeHost (container "a" uses probeHost "x, y\n")`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := Message(mustNew(t, "baseline", "latest", test.hosts).Check(parse(t, test.pod)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProbesWithoutHosts(t *testing.T) {
	t.Parallel()
	testControl(t, "baseline", string(hostProbesID), hostProbesName, []controlTest{
		{name: "other handlers", pod: `{spec: {containers: [{name: a, livenessProbe: {exec: {command: [x]}}, readinessProbe: {grpc: {port: 1}}, lifecycle: {preStop: {sleep: {seconds: 1}}, postStart: {}}}]}}`},
		{name: "both handlers of a probe", pod: `{spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 1, host: h}, tcpSocket: {port: 1, host: t}}}]}}`, want: []decision.Finding{
			{Path: "spec.containers[0].livenessProbe.httpGet.host", Value: "h", Detail: "must not be set"},
			{Path: "spec.containers[0].livenessProbe.tcpSocket.host", Value: "t", Detail: "must not be set"},
		}},
	})
}
