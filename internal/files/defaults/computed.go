package defaults

import (
	"reflect"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// functions compute what follows from other fields, after the rows of the table.
var functions = map[reflect.Type]function{}

type function struct {
	// since is the first minor version that does it; 0 for all.
	since int
	run   func(any)
}

// imageVolumes is the minor version in which images came as volumes by default.
const imageVolumes = 35

func init() {
	compute(func(c *corev1.Container) { fillPull(&c.ImagePullPolicy, c.Image) })
	compute(func(c *corev1.EphemeralContainerCommon) { fillPull(&c.ImagePullPolicy, c.Image) })
	computeSince(imageVolumes, func(v *corev1.ImageVolumeSource) { fillPull(&v.PullPolicy, v.Reference) })
	compute(podSpec)
	compute(wholePod)
	compute(podStatus)
	compute(roundedUp)
	compute(nodeStatus)
	compute(limits)
	compute(service)
	compute(replicationController)
	compute(job)
	compute(namespace)
	compute(secret)
	compute(deployed)
	compute(daemonSet)
	compute(surging)
	compute(ordered)
	compute(claimTemplates)
	compute(autoscaler)
	compute(node)
}

func compute[T any](run func(*T)) { computeSince(0, run) }

func computeSince[T any](minor int, run func(*T)) {
	functions[reflect.TypeFor[T]()] = function{minor, func(v any) { run(v.(*T)) }}
}

// unrounded are structs whose quantities stay as they are written.
var unrounded = map[reflect.Type]bool{reflect.TypeFor[nodev1.Overhead](): true}

// computed is the function for a type; nil for none.
func (t *Table) computed(of reflect.Type) func(any) {
	if f := functions[of]; f.since <= t.minor {
		return f.run
	}
	return nil
}

func fillPull(policy *corev1.PullPolicy, image string) {
	if *policy == "" {
		*policy = pullPolicy(image)
	}
}

// pullPolicy is Always for an image with the tag latest, whether it is written or
// meant, and IfNotPresent for every other one, that which cannot be read among
// them.
func pullPolicy(image string) corev1.PullPolicy {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return corev1.PullIfNotPresent
	}
	tagged, hasTag := named.(reference.Tagged)
	_, hasDigest := named.(reference.Digested)
	if hasTag && tagged.Tag() == "latest" || !hasTag && !hasDigest {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// podSpec keeps the old and the new name of the service account the same.
func podSpec(s *corev1.PodSpec) {
	if s.ServiceAccountName == "" {
		s.ServiceAccountName = s.DeprecatedServiceAccount
	}
	s.DeprecatedServiceAccount = s.ServiceAccountName
}

// wholePod fills in what a Pod gets and a template does not.
func wholePod(p *corev1.Pod) {
	if grace := p.Spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		*grace = 1
	}
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			limitsAreRequests(&list[i].Resources)
			if !p.Spec.HostNetwork {
				continue
			}
			for j := range list[i].Ports {
				if port := &list[i].Ports[j]; port.HostPort == 0 {
					port.HostPort = port.ContainerPort
				}
			}
		}
	}
}

func limitsAreRequests(r *corev1.ResourceRequirements) {
	for name, limit := range r.Limits {
		addTo(&r.Requests, name, limit)
	}
}

func addTo(list *corev1.ResourceList, name corev1.ResourceName, quantity resource.Quantity) {
	if _, ok := (*list)[name]; ok {
		return
	}
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = quantity.DeepCopy()
}

// podStatus keeps the one address and the list of addresses the same.
func podStatus(s *corev1.PodStatus) {
	switch {
	case s.PodIP != "" && (len(s.PodIPs) == 0 || s.PodIPs[0].IP != s.PodIP):
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	case s.PodIP == "" && len(s.PodIPs) > 0:
		s.PodIP = s.PodIPs[0].IP
	}
}

// roundedUp has quantities at most three digits after the point.
func roundedUp(list *corev1.ResourceList) {
	for name, quantity := range *list {
		quantity.RoundUp(resource.Milli)
		(*list)[name] = quantity
	}
}

// limits of containers default each other: the default to the maximum, and what
// is requested to the default, or to the minimum.
func limits(l *corev1.LimitRangeItem) {
	if l.Type != corev1.LimitTypeContainer {
		return
	}
	for name, quantity := range l.Max {
		addTo(&l.Default, name, quantity)
	}
	for name, quantity := range l.Default {
		addTo(&l.DefaultRequest, name, quantity)
	}
	for name, quantity := range l.Min {
		addTo(&l.DefaultRequest, name, quantity)
	}
}

func service(s *corev1.Service) {
	spec := &s.Spec
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		if c := spec.SessionAffinityConfig; c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
			seconds := corev1.DefaultClientIPServiceAffinitySeconds
			spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
		}
	}
	for i := range spec.Ports {
		if port := &spec.Ports[i]; port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	balanced := spec.Type == corev1.ServiceTypeLoadBalancer
	reached := balanced || spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
	if reached && spec.ExternalTrafficPolicy == "" {
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	for i := range s.Status.LoadBalancer.Ingress {
		if in := &s.Status.LoadBalancer.Ingress[i]; balanced && in.IP != "" && in.IPMode == nil {
			mode := corev1.LoadBalancerIPModeVIP
			in.IPMode = &mode
		}
	}
}

func namespace(n *corev1.Namespace) {
	if n.Name == "" {
		return
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelMetadataName] = n.Name
}

// secret has what was written as text among its data.
func secret(s *corev1.Secret) {
	for name, text := range s.StringData {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[name] = []byte(text)
	}
	s.StringData = nil
}
