package pod

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// defaultContainer fills in what every container gets, whichever list it stands
// in and whether in a Pod or in a template.
func defaultContainer(c *corev1.Container) {
	fill(&c.ImagePullPolicy, pullPolicy(c.Image))
	fill(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	fill(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		fill(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			defaultFieldRef(from.FieldRef)
		}
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe == nil {
			continue
		}
		fill(&probe.TimeoutSeconds, 1)
		fill(&probe.PeriodSeconds, 10)
		fill(&probe.SuccessThreshold, 1)
		fill(&probe.FailureThreshold, 3)
		defaultHTTPGet(probe.HTTPGet)
		if probe.GRPC != nil {
			fillPointer(&probe.GRPC.Service, "")
		}
	}
	if c.Lifecycle == nil {
		return
	}
	for _, handler := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
		if handler != nil {
			defaultHTTPGet(handler.HTTPGet)
		}
	}
}

func defaultHTTPGet(get *corev1.HTTPGetAction) {
	if get == nil {
		return
	}
	fill(&get.Path, "/")
	fill(&get.Scheme, corev1.URISchemeHTTP)
}

func defaultFieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		fill(&ref.APIVersion, "v1")
	}
}

// pullPolicy is Always for an image with the tag latest, whether it is written or
// meant, and IfNotPresent for every other one.
func pullPolicy(image string) corev1.PullPolicy {
	name, _, pinned := strings.Cut(image, "@")
	// A colon before the last slash belongs to a port.
	_, tag, tagged := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	if image != "" && (tagged && tag == "latest" || !tagged && !pinned) {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}
