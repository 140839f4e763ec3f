package pod

import corev1 "k8s.io/api/core/v1"

// defaultContainerAnnotation names the container that is meant when none is.
const defaultContainerAnnotation = "kubectl.kubernetes.io/default-container"

// ContainerNamed finds a container by its name, in every list. The API server
// allows a name once in a pod; the first one found counts.
func (p *Pod) ContainerNamed(name string) (Container, bool) {
	for c := range p.Containers() {
		if c.Name == name {
			return c, true
		}
	}
	return Container{}, false
}

// DefaultContainer names the container that is entered when an access request
// names none: the one that the pod's annotation
// kubectl.kubernetes.io/default-container names, if there is such a container,
// else the first main container. A pod without containers gives "".
func DefaultContainer(p *corev1.Pod) string {
	live := FromPod(p)
	if name := p.Annotations[defaultContainerAnnotation]; name != "" {
		if _, ok := live.ContainerNamed(name); ok {
			return name
		}
	}
	if len(p.Spec.Containers) == 0 {
		return ""
	}
	return p.Spec.Containers[0].Name
}

// ServiceAccountName is the account that the pod runs as: the one that it names,
// by the current field or by the deprecated one, else "default".
func (p *Pod) ServiceAccountName() string {
	switch {
	case p.Spec.ServiceAccountName != "":
		return p.Spec.ServiceAccountName
	case p.Spec.DeprecatedServiceAccount != "":
		return p.Spec.DeprecatedServiceAccount
	default:
		return "default"
	}
}
