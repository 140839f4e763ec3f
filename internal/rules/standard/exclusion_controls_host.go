package standard

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// excusableOfHosts are the controls that keep a pod from its node and from other
// hosts.
func excusableOfHosts() []excusable {
	return []excusable{
		{
			name: "HostProcess",
			pod: []restrictedField{{
				name: "spec." + hostProcessField, faults: isSet,
				inPod: ofPod(func(sc *corev1.PodSecurityContext) { sc.WindowsOptions = nil }),
			}},
			container: []restrictedField{{
				name: hostProcessField, faults: isSet,
				inContainer: ofContainer(func(sc *corev1.SecurityContext) { sc.WindowsOptions = nil }),
			}},
		},
		{
			name: "Host Namespaces",
			pod: []restrictedField{
				{name: "spec.hostNetwork", faults: isSet, inPod: func(s *corev1.PodSpec, _ int) { s.HostNetwork = false }},
				{name: "spec.hostPID", faults: isSet, inPod: func(s *corev1.PodSpec, _ int) { s.HostPID = false }},
				{name: "spec.hostIPC", faults: isSet, inPod: func(s *corev1.PodSpec, _ int) { s.HostIPC = false }},
			},
		},
		{name: "HostPath Volumes", pod: hostPathFields()},
		{name: "Volume Types", pod: volumeTypeFields()},
		{
			name: "Host Ports",
			container: []restrictedField{{
				name: "ports[*].hostPort",
				inContainer: func(c *corev1.Container, index int) {
					if index < len(c.Ports) {
						c.Ports = slices.Clone(c.Ports)
						c.Ports[index].HostPort = 0
					}
				},
			}},
		},
		{
			name: hostProbesName,
			aliases: []string{
				hostProbesName + " (v1.34+)",
				"Host Probes/Lifecycle Hooks", "Host Probes and Lifecycle Hooks", "Host Probes",
			},
			container: hostProbeFields(),
		},
	}
}

// isSet is the one fault of a flag that must not be set.
var isSet = []string{"true"}

// ofPod mends a security context of the pod, in a copy of it.
func ofPod(mend func(*corev1.PodSecurityContext)) func(*corev1.PodSpec, int) {
	return func(s *corev1.PodSpec, _ int) {
		if s.SecurityContext == nil {
			return
		}
		s.SecurityContext = s.SecurityContext.DeepCopy()
		mend(s.SecurityContext)
	}
}

// ofContainer mends the security context of a container, in a copy of it or in a
// new one.
func ofContainer(mend func(*corev1.SecurityContext)) func(*corev1.Container, int) {
	return func(c *corev1.Container, _ int) {
		sc := c.SecurityContext.DeepCopy()
		if sc == nil {
			sc = &corev1.SecurityContext{}
		}
		c.SecurityContext = sc
		mend(sc)
	}
}

// hostProbeFields are the hosts of each probe and lifecycle handler.
func hostProbeFields() []restrictedField {
	probe := func(p *corev1.Probe) *corev1.ProbeHandler {
		if p == nil {
			return &corev1.ProbeHandler{}
		}
		return &p.ProbeHandler
	}
	hook := func(c *corev1.Container, of func(*corev1.Lifecycle) *corev1.LifecycleHandler) *corev1.ProbeHandler {
		if c.Lifecycle == nil || of(c.Lifecycle) == nil {
			return &corev1.ProbeHandler{}
		}
		h := of(c.Lifecycle)
		return &corev1.ProbeHandler{HTTPGet: h.HTTPGet, TCPSocket: h.TCPSocket}
	}
	handlers := []struct {
		name string
		of   func(*corev1.Container) *corev1.ProbeHandler
	}{
		{"livenessProbe", func(c *corev1.Container) *corev1.ProbeHandler { return probe(c.LivenessProbe) }},
		{"readinessProbe", func(c *corev1.Container) *corev1.ProbeHandler { return probe(c.ReadinessProbe) }},
		{"startupProbe", func(c *corev1.Container) *corev1.ProbeHandler { return probe(c.StartupProbe) }},
		{"lifecycle.postStart", func(c *corev1.Container) *corev1.ProbeHandler {
			return hook(c, func(l *corev1.Lifecycle) *corev1.LifecycleHandler { return l.PostStart })
		}},
		{"lifecycle.preStop", func(c *corev1.Container) *corev1.ProbeHandler {
			return hook(c, func(l *corev1.Lifecycle) *corev1.LifecycleHandler { return l.PreStop })
		}},
	}
	var fields []restrictedField
	for _, h := range handlers {
		fields = append(fields,
			restrictedField{name: h.name + ".httpGet.host", inContainer: func(c *corev1.Container, _ int) {
				*c = *c.DeepCopy()
				if get := h.of(c).HTTPGet; get != nil {
					get.Host = ""
				}
			}},
			restrictedField{name: h.name + ".tcpSocket.host", inContainer: func(c *corev1.Container, _ int) {
				*c = *c.DeepCopy()
				if socket := h.of(c).TCPSocket; socket != nil {
					socket.Host = ""
				}
			}},
		)
	}
	return fields
}
