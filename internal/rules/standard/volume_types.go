package standard

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Volumes must be of a type that is not a piece of the node and not a storage
// system named in the pod itself.
//
// Fields:
//
//	spec.volumes[*].TYPE
//
// Allowed: configMap, csi, downwardAPI, emptyDir, ephemeral, image,
// persistentVolumeClaim, projected, secret. A volume of no type at all is not
// allowed. The finding for a hostPath is at the path within it.
var volumeTypes = []control{{
	id:   "restrictedVolumes",
	name: "Volume Types",
	pod: func(s *scan) {
		for i := range s.spec.Volumes {
			if v := &s.spec.Volumes[i]; !hasAllowedSource(v) {
				reportSources(s, i, v)
			}
		}
	},
}}

func hasAllowedSource(v *corev1.Volume) bool {
	return v.ConfigMap != nil ||
		v.CSI != nil ||
		v.DownwardAPI != nil ||
		v.EmptyDir != nil ||
		v.Ephemeral != nil ||
		v.Image != nil ||
		v.PersistentVolumeClaim != nil ||
		v.Projected != nil ||
		v.Secret != nil
}

// reportSources reports every source that a volume has, other than a hostPath by
// the names of their JSON form, so that a type that is yet to come is found as
// well.
func reportSources(s *scan, index int, v *corev1.Volume) {
	others := v.VolumeSource
	if v.HostPath != nil {
		s.hostPath(index, v.HostPath)
		others.HostPath = nil
		if others == (corev1.VolumeSource{}) {
			return
		}
	}
	path := "spec.volumes[" + strconv.Itoa(index) + "]"
	var sources map[string]json.RawMessage
	if err := json.Unmarshal([]byte(jsonOf(withoutSecrets(others))), &sources); err != nil || len(sources) == 0 {
		s.field(path, "", "has no type of volume that is allowed")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		s.field(path+"."+name, string(sources[name]), name+" volumes are not allowed")
	}
}

// withoutSecrets leaves out what may hold a password: the options of a
// flexVolume, and the user part of a repository's URL.
func withoutSecrets(source corev1.VolumeSource) corev1.VolumeSource {
	if source.FlexVolume != nil {
		flex := *source.FlexVolume
		flex.Options = nil
		source.FlexVolume = &flex
	}
	if source.GitRepo != nil {
		repo := *source.GitRepo
		if user, host, ok := cutLast(repo.Repository, "@"); ok {
			scheme, _, hasScheme := strings.Cut(user, "://")
			if hasScheme {
				host = scheme + "://" + host
			}
			repo.Repository = host
		}
		source.GitRepo = &repo
	}
	return source
}

// cutLast cuts around the last separator: a password may hold one as well.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return s, "", false
}

// jsonOf is the JSON form of a piece of a pod, which has one by its type.
func jsonOf(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b.Bytes()))
}
