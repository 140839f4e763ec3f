package standard

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Volumes must not be directories or files of the node.
//
// Fields:
//
//	spec.volumes[*].hostPath
//
// Allowed: not set. The finding is at the path within it, which says what is
// mounted.
var hostPathVolumes = []control{{
	id:   "hostPathVolumes",
	name: "HostPath Volumes",
	pod: func(s *scan) {
		for i := range s.spec.Volumes {
			if source := s.spec.Volumes[i].HostPath; source != nil {
				s.hostPath(i, source)
			}
		}
	},
}}

// hostPath reports a hostPath volume.
func (s *scan) hostPath(index int, source *corev1.HostPathVolumeSource) {
	s.field("spec.volumes["+strconv.Itoa(index)+"].hostPath.path", source.Path, "hostPath volumes are not allowed")
}
