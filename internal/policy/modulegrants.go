package policy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/contextgate"
)

// capabilities are the host calls that each capability stands for.
var capabilities = map[v1alpha1.HostCapability]string{
	v1alpha1.CapabilityCanI:   "kubernetes/can_i",
	v1alpha1.CapabilityOCI:    "oci/*",
	v1alpha1.CapabilityNet:    "net/*",
	v1alpha1.CapabilityCrypto: "crypto/*",
}

// notInNamespaces says why a field of a ClusterAdmissionPolicy has no place in an
// AdmissionPolicy, and what to do.
var notInNamespaces = map[string]string{
	"spec.contextAware":      "an AdmissionPolicy reads nothing of the cluster: whoever may write one could otherwise read what the server may; use a ClusterAdmissionPolicy, which whoever administers the cluster writes",
	"spec.capabilities":      "an AdmissionPolicy asks nothing beyond its request: whoever may write one could otherwise use what the server may; use a ClusterAdmissionPolicy, which whoever administers the cluster writes",
	"spec.namespaceSelector": "an AdmissionPolicy is about its own namespace alone; leave it out, or use a ClusterAdmissionPolicy",
}

// compileGrants reads what a policy was granted.
func compileGrants(grants []v1alpha1.ContextGrant, calls []v1alpha1.HostCapability, at *field.Path) ([]contextgate.Grant, []string, field.ErrorList) {
	var errs field.ErrorList
	var granted []contextgate.Grant
	for i := range grants {
		g, err := compileGrant(&grants[i], at.Child("contextAware").Index(i))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		granted = append(granted, g)
	}
	var may []string
	for i, c := range calls {
		operations, ok := capabilities[c]
		if !ok {
			errs = append(errs, field.NotSupported(at.Child("capabilities").Index(i), c, []v1alpha1.HostCapability{
				v1alpha1.CapabilityCanI, v1alpha1.CapabilityOCI, v1alpha1.CapabilityNet, v1alpha1.CapabilityCrypto,
			}))
		} else if !slices.Contains(may, operations) {
			may = append(may, operations)
		}
	}
	return granted, may, errs
}

func compileGrant(from *v1alpha1.ContextGrant, path *field.Path) (contextgate.Grant, *field.Error) {
	g := contextgate.Grant{
		Group: from.Group, Version: from.Version, Resource: from.Resource, Kind: from.Kind,
		Namespaces: from.Namespaces, Names: from.Names, LabelSelector: from.LabelSelector, Fields: from.Fields,
	}
	if from.APIVersion != "" {
		if from.Group != "" || from.Version != "" {
			return g, field.Invalid(path.Child("apiVersion"), from.APIVersion, "stands beside group or version; give one of both")
		}
		parsed, err := schema.ParseGroupVersion(from.APIVersion)
		if err != nil {
			return g, field.Invalid(path.Child("apiVersion"), from.APIVersion, err.Error())
		}
		g.Group, g.Version = parsed.Group, parsed.Version
	}
	for _, narrowed := range []struct {
		name string
		list []string
	}{{"namespaces", from.Namespaces}, {"names", from.Names}, {"fields", from.Fields}} {
		if narrowed.list != nil && len(narrowed.list) == 0 {
			return g, field.Required(path.Child(narrowed.name), "an empty list grants nothing; name one or more, or leave the field out to grant all")
		}
		for i, entry := range narrowed.list {
			if narrowed.name != "fields" && strings.ContainsAny(entry, "*?") {
				return g, field.Invalid(path.Child(narrowed.name).Index(i), entry, "is no pattern; write whole names")
			}
		}
	}
	// One policy with one grant finds out whether that can be understood.
	if _, err := contextgate.NewPolicy(contextgate.ClusterAdmissionPolicy, "", "policy", []contextgate.Grant{g}, nil); err != nil {
		detail := err.Error()
		if _, after, ok := strings.Cut(detail, "contextAware[0]"); ok {
			detail = strings.TrimPrefix(after, ".")
		}
		name, detail, _ := strings.Cut(detail, ": ")
		return g, field.Invalid(path.Child(name), fmt.Sprintf("%s/%s/%s%s", g.Group, g.Version, g.Resource, g.Kind), detail)
	}
	return g, nil
}
