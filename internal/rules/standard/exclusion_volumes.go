package standard

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// volumesField is how the page names what the control Volume Types restricts.
const volumesField = "spec.volumes[*]"

// volumeSource is a source that a volume can have. The zero volumeSource stands
// for having none.
type volumeSource struct {
	// name in JSON.
	name string
	// index of the field in VolumeSource.
	index int
}

// clear takes the source from a volume.
func (s *volumeSource) clear(from *corev1.VolumeSource) {
	if s.name != "" {
		reflect.ValueOf(from).Elem().Field(s.index).SetZero()
	}
}

// volumeTypeFields are the fields that the control Volume Types restricts: the
// volume itself and each source that is not allowed. They are read off the type,
// so that a source that is yet to come is among them.
func volumeTypeFields() []restrictedField {
	fields := []restrictedField{{name: volumesField, volume: &volumeSource{}}}
	sources := reflect.TypeFor[corev1.VolumeSource]()
	for i := range sources.NumField() {
		var volume corev1.Volume
		field := reflect.ValueOf(&volume.VolumeSource).Elem().Field(i)
		field.Set(reflect.New(field.Type().Elem()))
		if hasAllowedSource(&volume) {
			continue
		}
		name, _, _ := strings.Cut(sources.Field(i).Tag.Get("json"), ",")
		if name == hostPathSource {
			fields = append(fields, hostPathField(i))
			continue
		}
		fields = append(fields, restrictedField{name: volumesField + "." + name, volume: &volumeSource{name, i}})
	}
	return fields
}

// hostPathSource is the source that findings go into, to say what is mounted.
const hostPathSource = "hostPath"

func hostPathField(index int) restrictedField {
	return restrictedField{
		name:   volumesField + "." + hostPathSource,
		at:     volumesField + "." + hostPathSource + ".path",
		isPath: true,
		volume: &volumeSource{hostPathSource, index},
	}
}

// hostPathFields are the fields that the control HostPath Volumes restricts.
func hostPathFields() []restrictedField {
	field, _ := reflect.TypeFor[corev1.VolumeSource]().FieldByName("HostPath")
	return []restrictedField{hostPathField(field.Index[0])}
}
