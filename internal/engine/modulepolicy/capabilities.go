package modulepolicy

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// capabilities are the host calls that each capability stands for.
var capabilities = map[v1alpha1.HostCapability]string{
	v1alpha1.CapabilityCanI:   "kubernetes/can_i",
	v1alpha1.CapabilityOCI:    "oci/*",
	v1alpha1.CapabilityNet:    "net/*",
	v1alpha1.CapabilityCrypto: "crypto/*",
}

// compileCapabilities reads which calls a policy was granted beside reads.
func compileCapabilities(calls []v1alpha1.HostCapability, at *field.Path) ([]string, field.ErrorList) {
	var errs field.ErrorList
	var may []string
	for i, c := range calls {
		operations, ok := capabilities[c]
		if !ok {
			errs = append(errs, field.NotSupported(at.Index(i), c, []v1alpha1.HostCapability{
				v1alpha1.CapabilityCanI, v1alpha1.CapabilityOCI, v1alpha1.CapabilityNet, v1alpha1.CapabilityCrypto,
			}))
			continue
		}
		if slices.Contains(may, operations) {
			errs = append(errs, field.Duplicate(at.Index(i), c))
			continue
		}
		may = append(may, operations)
	}
	return may, errs
}
