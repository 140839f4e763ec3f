package load

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/files/convert"
	"github.com/sallyport-io/sallyport/internal/identity"
)

// isPolicyKind reports whether we have a kind of that name. One of another group
// is most likely ours with a mistake in its apiVersion.
func isPolicyKind(kind string) bool {
	for _, ours := range [...]string{
		stored.KindDenyPolicy, stored.KindClusterPolicy, stored.KindPolicy, identity.KindSource,
		stored.KindClusterAdmissionPolicy, stored.KindAdmissionPolicy, stored.KindPolicyServer, breakglass.KindEscalation, breakglass.KindSession,
	} {
		if strings.EqualFold(kind, ours) {
			return true
		}
	}
	return false
}

// foreignPolicyGroups are groups whose objects are policies of other systems. To
// pass one over would let in what it refuses.
var foreignPolicyGroups = []string{"kyverno.io", "kubewarden.io", "gatekeeper.sh", convert.BreakglassGroup, "telekom.breakglass.de"}

// isForeignPolicyGroup reports whether the group is one of these or a subdomain
// of one.
func isForeignPolicyGroup(group string) bool {
	group = strings.ToLower(group)
	for _, foreign := range foreignPolicyGroups {
		if group == foreign || strings.HasSuffix(group, "."+foreign) {
			return true
		}
	}
	return false
}

// clusterKind is a kind that policies are judged against.
type clusterKind struct {
	version    string
	make       func() runtime.Object
	namespaced bool
}

func clusterObject[T any, P interface {
	*T
	runtime.Object
}](version string, namespaced bool) clusterKind {
	return clusterKind{version, func() runtime.Object { return P(new(T)) }, namespaced}
}

// clusterKinds are all of them; whatever else a cluster holds is not kept, and
// so no Secret is.
var clusterKinds = map[schema.GroupKind]clusterKind{
	{Kind: "Pod"}:            clusterObject[corev1.Pod]("v1", true),
	{Kind: "Namespace"}:      clusterObject[corev1.Namespace]("v1", false),
	{Kind: "Node"}:           clusterObject[corev1.Node]("v1", false),
	{Kind: "ServiceAccount"}: clusterObject[corev1.ServiceAccount]("v1", true),

	{Group: rbacv1.GroupName, Kind: "Role"}:               clusterObject[rbacv1.Role]("v1", true),
	{Group: rbacv1.GroupName, Kind: "RoleBinding"}:        clusterObject[rbacv1.RoleBinding]("v1", true),
	{Group: rbacv1.GroupName, Kind: "ClusterRole"}:        clusterObject[rbacv1.ClusterRole]("v1", false),
	{Group: rbacv1.GroupName, Kind: "ClusterRoleBinding"}: clusterObject[rbacv1.ClusterRoleBinding]("v1", false),
}
