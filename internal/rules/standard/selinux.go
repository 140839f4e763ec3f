package standard

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// SELinux labels must stay within the types made for containers.
//
// Fields, of the pod and of each container:
//
//	securityContext.seLinuxOptions.type
//
// Allowed: not set, container_t, container_init_t, container_kvm_t, and since
// v1.31 container_engine_t.
//
//	securityContext.seLinuxOptions.user
//	securityContext.seLinuxOptions.role
//
// Allowed: not set.
var seLinux = []control{
	seLinuxControl(0, "container_t", "container_init_t", "container_kvm_t"),
	seLinuxControl(31, "container_t", "container_init_t", "container_kvm_t", "container_engine_t"),
}

// seLinuxControl is the revision of a minor version with its allowed types.
func seLinuxControl(since int, types ...string) control {
	detail := "must be " + strings.Join(types, ", ") + " or not set"
	return control{
		id:    "seLinuxOptions",
		since: since,
		name:  "SELinux",
		pod: func(s *scan) {
			if sc := s.spec.SecurityContext; sc != nil && sc.SELinuxOptions != nil {
				judgeSELinux(sc.SELinuxOptions, types, detail, func(field, value, detail string) {
					s.field("spec."+field, value, detail)
				})
			}
		},
		container: func(s *scan, c pod.Container) {
			if sc := c.SecurityContext; sc != nil && sc.SELinuxOptions != nil {
				judgeSELinux(sc.SELinuxOptions, types, detail, func(field, value, detail string) {
					s.inContainer(c, field, value, detail)
				})
			}
		},
	}
}

// judgeSELinux reports each option that is bad, given relative to the pod spec
// or container that holds the security context.
func judgeSELinux(options *corev1.SELinuxOptions, types []string, detail string, report func(field, value, detail string)) {
	if options.Type != "" && !slices.Contains(types, options.Type) {
		report("securityContext.seLinuxOptions.type", options.Type, detail)
	}
	if options.User != "" {
		report("securityContext.seLinuxOptions.user", options.User, "must not be set")
	}
	if options.Role != "" {
		report("securityContext.seLinuxOptions.role", options.Role, "must not be set")
	}
}
