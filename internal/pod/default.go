package pod

import (
	corev1 "k8s.io/api/core/v1"
)

// Default fills into the pods of the object what the API server would have filled
// in, so that an object from a file is judged as it would be in a cluster. Paths
// stay what they were: nothing is moved, no list grows. It changes the pods in
// place and must run before the object is shared. What was filled in does not
// stand in Raw, nor in Tree.
//
// It does what the API server's own defaulting does, but for the parameters of
// storage drivers, by which nothing is judged; and nothing of what its admission
// plugins do: no namespace, no service account token, no tolerations.
func (o *Object) Default() {
	for i := range o.Pods {
		o.Pods[i].Default()
	}
}

// Default fills in the defaults of one pod, see Object.Default. For a template it
// does less than for a Pod, as the API server does.
func (p *Pod) Default() {
	spec := p.Spec
	if p.whole {
		// Before the defaults of the spec, which leave these alone.
		defaultPod(p)
	}
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	fill(&spec.DNSPolicy, corev1.DNSClusterFirst)
	fill(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	fill(&spec.SchedulerName, corev1.DefaultSchedulerName)
	fillPointer(&spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i])
	}
	for c := range p.Containers() {
		defaultContainer(c.Container)
	}
}

// defaultPod fills in what a Pod gets and a template does not.
func defaultPod(p *Pod) {
	if grace := p.Spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		p.Spec.TerminationGracePeriodSeconds = pointer(int64(1))
	}
	fillPointer(&p.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	for c := range p.Containers() {
		if c.Kind != Ephemeral {
			limitsAreRequests(&c.Resources)
		}
		// A pod in the host's network listens on the host's ports. (Templates had
		// this default too, until Kubernetes 1.28.)
		for j := range c.Ports {
			if p.Spec.HostNetwork && c.Ports[j].HostPort == 0 {
				c.Ports[j].HostPort = c.Ports[j].ContainerPort
			}
		}
	}
}

func limitsAreRequests(r *corev1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if _, ok := r.Requests[name]; ok {
			continue
		}
		if r.Requests == nil {
			r.Requests = corev1.ResourceList{}
		}
		r.Requests[name] = limit.DeepCopy()
	}
}

// fill sets a field that is empty.
func fill[T comparable](at *T, value T) {
	var empty T
	if *at == empty {
		*at = value
	}
}

// fillPointer sets a field that is nil.
func fillPointer[T any](at **T, value T) {
	if *at == nil {
		*at = &value
	}
}

func pointer[T any](value T) *T { return &value }
