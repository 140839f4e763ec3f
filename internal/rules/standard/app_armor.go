package standard

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// AppArmor profiles must not be turned off or replaced by unknown ones.
//
// Fields, of the pod and of each container:
//
//	securityContext.appArmorProfile.type
//
// Allowed: no profile, RuntimeDefault, Localhost.
//
//	metadata.annotations[container.apparmor.security.beta.kubernetes.io/*]
//
// Allowed: not set, empty, runtime/default, localhost/*.
var appArmor = []control{{
	id:   "appArmorProfile",
	name: "AppArmor",
	pod: func(s *scan) {
		if sc := s.spec.SecurityContext; sc != nil && badAppArmor(sc.AppArmorProfile) {
			s.field("spec."+appArmorField, string(sc.AppArmorProfile.Type), appArmorDetail)
		}
		for _, key := range s.annotations(badAppArmorAnnotation) {
			s.annotation(key, "must be runtime/default, localhost/* or not set")
		}
	},
	container: func(s *scan, c pod.Container) {
		if sc := c.SecurityContext; sc != nil && badAppArmor(sc.AppArmorProfile) {
			s.inContainer(c, appArmorField, string(sc.AppArmorProfile.Type), appArmorDetail)
		}
	},
}}

const (
	appArmorField  = "securityContext.appArmorProfile.type"
	appArmorDetail = "must be RuntimeDefault, Localhost or not set"
)

func badAppArmor(profile *corev1.AppArmorProfile) bool {
	return profile != nil &&
		profile.Type != corev1.AppArmorProfileTypeRuntimeDefault &&
		profile.Type != corev1.AppArmorProfileTypeLocalhost
}

func badAppArmorAnnotation(key, value string) bool {
	return strings.HasPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) &&
		value != "" &&
		value != corev1.DeprecatedAppArmorBetaProfileRuntimeDefault &&
		!strings.HasPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
}
