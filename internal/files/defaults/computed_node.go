package defaults

import corev1 "k8s.io/api/core/v1"

// node keeps the one range of addresses and the list of ranges the same.
func node(n *corev1.NodeSpec) {
	switch {
	case n.PodCIDR != "" && (len(n.PodCIDRs) == 0 || n.PodCIDRs[0] != n.PodCIDR):
		n.PodCIDRs = []string{n.PodCIDR}
	case n.PodCIDR == "" && len(n.PodCIDRs) > 0:
		n.PodCIDR = n.PodCIDRs[0]
	}
}

func nodeStatus(s *corev1.NodeStatus) {
	if s.Allocatable == nil && s.Capacity != nil {
		s.Allocatable = s.Capacity.DeepCopy()
	}
}
