package standard

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/policy"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Probes and lifecycle handlers must not make the kubelet call another host.
//
// Fields, of each container, since v1.34:
//
//	livenessProbe.httpGet.host         livenessProbe.tcpSocket.host
//	readinessProbe.httpGet.host        readinessProbe.tcpSocket.host
//	startupProbe.httpGet.host          startupProbe.tcpSocket.host
//	lifecycle.postStart.httpGet.host   lifecycle.postStart.tcpSocket.host
//	lifecycle.preStop.httpGet.host     lifecycle.preStop.tcpSocket.host
//
// Allowed by KEP-4940: not set, 127.0.0.1, ::1, in just these spellings.
// Allowed by Kubernetes as shipped: not set.
var (
	hostProbesKEP = []control{{
		id:    hostProbesID,
		since: 34,
		name:  hostProbesName,
		container: func(s *scan, c pod.Container) {
			eachHost(c, func(field, host string) {
				if !isLoopback(host) {
					s.inContainer(c, field, host, "must be 127.0.0.1, ::1 or not set")
				}
			})
		},
		says: sayProbeHosts,
	}}

	hostProbesKubernetes = []control{{
		id:    hostProbesID,
		since: 34,
		name:  hostProbesName,
		container: func(s *scan, c pod.Container) {
			eachHost(c, func(field, host string) {
				s.inContainer(c, field, host, "must not be set")
			})
		},
	}}
)

const (
	hostProbesID   policy.CheckID = "hostProbesAndHostLifecycle"
	hostProbesName string         = "Host Probes / Lifecycle Hooks"
)

// isLoopback knows the two addresses of KEP-4940 and no other spelling: what a
// name or a short form leads to is for the node's resolver to say.
func isLoopback(host string) bool {
	return host == "127.0.0.1" || host == "::1"
}

// eachHost visits every host that a container sets, with its field relative to
// the container.
func eachHost(c pod.Container, visit func(field, host string)) {
	action := func(field string, get *corev1.HTTPGetAction, socket *corev1.TCPSocketAction) {
		if get != nil && get.Host != "" {
			visit(field+".httpGet.host", get.Host)
		}
		if socket != nil && socket.Host != "" {
			visit(field+".tcpSocket.host", socket.Host)
		}
	}
	if p := c.LivenessProbe; p != nil {
		action("livenessProbe", p.HTTPGet, p.TCPSocket)
	}
	if p := c.ReadinessProbe; p != nil {
		action("readinessProbe", p.HTTPGet, p.TCPSocket)
	}
	if p := c.StartupProbe; p != nil {
		action("startupProbe", p.HTTPGet, p.TCPSocket)
	}
	if c.Lifecycle == nil {
		return
	}
	if h := c.Lifecycle.PostStart; h != nil {
		action("lifecycle.postStart", h.HTTPGet, h.TCPSocket)
	}
	if h := c.Lifecycle.PreStop; h != nil {
		action("lifecycle.preStop", h.HTTPGet, h.TCPSocket)
	}
}

// sayProbeHosts words the violation as KEP-4940 does.
func sayProbeHosts(p *pod.Pod) (reason, detail string) {
	var containers, hosts []string
	for c := range p.Containers() {
		bad := false
		eachHost(c, func(_, host string) {
			if !isLoopback(host) {
				bad = true
				hosts = append(hosts, plainHost(host))
			}
		})
		if bad {
			containers = append(containers, strconv.Quote(c.Name))
		}
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	setters, use, noun := "container ", " uses ", "probeHost "
	if len(containers) > 1 {
		setters, use = "containers ", " use "
	}
	if len(hosts) > 1 {
		noun = "probeHosts "
	}
	return "probeHost", setters + strings.Join(containers, ", ") + use + noun + strings.Join(hosts, ", ")
}

// plainHost leaves addresses and names as they are, and quotes what could be
// read as more than one of them.
func plainHost(host string) string {
	odd := func(r rune) bool {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return false
		}
		return !strings.ContainsRune(".:-_%[]", r)
	}
	if strings.ContainsFunc(host, odd) {
		return strconv.Quote(host)
	}
	return host
}
