package match

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// clusterScoped are the kinds of Kubernetes that have no namespace, by group. Those
// of Sallyport stand with the kinds themselves.
var clusterScoped = map[string][]string{
	"":                             {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
	"admissionregistration.k8s.io": {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"authentication.k8s.io":        {"SelfSubjectReview", "TokenReview"},
	"authorization.k8s.io":         {"SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"},
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"internal.apiserver.k8s.io":    {"StorageVersion"},
	"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"policy":                       {"PodSecurityPolicy"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
	"storagemigration.k8s.io":      {"StorageVersionMigration"},
}

// ClusterScoped reports whether a kind is known to have no namespace. Custom
// kinds are taken to have one.
func ClusterScoped(kind schema.GroupKind) bool {
	if kind.Group == v1alpha1.GroupVersion.Group {
		return slices.Contains(v1alpha1.Kinds(), kind.Kind) && !v1alpha1.Namespaced(kind.Kind)
	}
	return slices.Contains(clusterScoped[kind.Group], kind.Kind)
}

// NamespacedResource reports whether a resource, by the name in a URL, is one of
// Kubernetes that is in namespaces.
func NamespacedResource(group, resource string) bool {
	kind, known := builtinResources[schema.GroupResource{Group: group, Resource: resource}]
	return known && !ClusterScoped(schema.GroupKind{Group: group, Kind: kind})
}

// ClusterResource reports whether a resource, by the name in a URL, is one of Kubernetes
// that is in no namespace.
func ClusterResource(group, resource string) bool {
	kind, known := builtinResources[schema.GroupResource{Group: group, Resource: resource}]
	return known && ClusterScoped(schema.GroupKind{Group: group, Kind: kind})
}

// ClusterScoped reports whether the entry names, without wildcards, a kind that
// is called as one that is known to have no namespace, in whichever group.
func (k *Kind) ClusterScoped() bool {
	name, exact := k.Exact()
	if !exact {
		return false
	}
	for _, kinds := range clusterScoped {
		if slices.Contains(kinds, name) {
			return true
		}
	}
	return slices.Contains(v1alpha1.Kinds(), name) && !v1alpha1.Namespaced(name)
}
