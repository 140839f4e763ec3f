package pod

import (
	corev1 "k8s.io/api/core/v1"
)

// defaultVolume makes a volume with no source an emptyDir, and fills in the
// sources. A source that the API does not have counts as none, as it does to an
// API server that drops fields which it does not know.
func defaultVolume(v *corev1.Volume) {
	const (
		readable = 0o644
		hour     = 3600
	)
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if v.HostPath != nil {
		fillPointer(&v.HostPath.Type, corev1.HostPathUnset)
	}
	if v.Secret != nil {
		fillPointer(&v.Secret.DefaultMode, readable)
	}
	if v.ConfigMap != nil {
		fillPointer(&v.ConfigMap.DefaultMode, readable)
	}
	if v.Image != nil {
		fill(&v.Image.PullPolicy, pullPolicy(v.Image.Reference))
	}
	if v.DownwardAPI != nil {
		fillPointer(&v.DownwardAPI.DefaultMode, readable)
		defaultFieldRefs(v.DownwardAPI.Items)
	}
	if v.Projected == nil {
		return
	}
	fillPointer(&v.Projected.DefaultMode, readable)
	for i := range v.Projected.Sources {
		source := &v.Projected.Sources[i]
		if source.DownwardAPI != nil {
			defaultFieldRefs(source.DownwardAPI.Items)
		}
		if source.ServiceAccountToken != nil {
			fillPointer(&source.ServiceAccountToken.ExpirationSeconds, hour)
		}
	}
}

func defaultFieldRefs(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		defaultFieldRef(files[i].FieldRef)
	}
}
