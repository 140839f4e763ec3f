package risk

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// manyVolumes is the number of volumes from which on a map finds one faster than
// a look at each.
const manyVolumes = 16

// volumeNames finds the first volume of an Assessment that has a name.
type volumeNames struct {
	spec    *corev1.PodSpec
	volumes []volume
	byName  map[string]int32
}

func (v *volumeNames) first(name string) (int32, bool) {
	if v.byName != nil {
		i, ok := v.byName[name]
		return i, ok
	}
	for i := range v.volumes {
		if v.spec.Volumes[v.volumes[i].index].Name == name {
			return int32(i), true
		}
	}
	return 0, false
}

// assessVolumes lists the volumes that can give a factor to whoever mounts them.
func (a *Assessment) assessVolumes() volumeNames {
	spec := a.pod.Spec
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		switch {
		case v.HostPath != nil:
			a.volumes = append(a.volumes, volume{index: int32(i), source: hostPathSource, traits: traitsOf(v.HostPath.Path)})
		case holdsToken(v.Projected):
			a.volumes = append(a.volumes, volume{index: int32(i), source: tokenSource})
		case v.Secret != nil:
			a.volumes = append(a.volumes, volume{index: int32(i), source: secretSource})
		}
	}
	names := volumeNames{spec: spec, volumes: a.volumes}
	if len(a.volumes) > manyVolumes {
		names.byName = make(map[string]int32, len(a.volumes))
		for i := range a.volumes {
			name := spec.Volumes[a.volumes[i].index].Name
			if _, taken := names.byName[name]; !taken {
				names.byName[name] = int32(i)
			}
		}
	}
	for i := range a.volumes {
		a.volumes[i].namesake, _ = names.first(spec.Volumes[a.volumes[i].index].Name)
	}
	return names
}

func holdsToken(p *corev1.ProjectedVolumeSource) bool {
	if p == nil {
		return false
	}
	for i := range p.Sources {
		if p.Sources[i].ServiceAccountToken != nil {
			return true
		}
	}
	return false
}

// assessMounts records the container's mounts of the volumes of the list.
func (a *Assessment) assessMounts(c pod.Container, n int32, names *volumeNames) {
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		v, found := names.first(m.Name)
		if !found {
			continue
		}
		propagates := m.MountPropagation != nil && *m.MountPropagation == corev1.MountPropagationBidirectional
		a.mounts = append(a.mounts, mount{
			container: n,
			item:      int32(i),
			volume:    v,
			writable:  !m.ReadOnly || propagates,
			tokenPath: isTokenPath(m.MountPath),
		})
	}
}

// isTokenPath reports whether a mount stands where a service account's token has
// always been looked for.
func isTokenPath(mountPath string) bool {
	return strings.Contains(mountPath, "serviceaccount") &&
		cleanHostPath(mountPath) == "/run/secrets/kubernetes.io/serviceaccount"
}
