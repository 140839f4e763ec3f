package match

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// group is one of the API groups of Kubernetes itself, with every version that it
// has ever had, so that a policy for an old cluster is not refused.
type group struct{ name, versions, kinds string }

var builtinGroups = []group{
	{"", "v1", "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount"},
	{"admissionregistration.k8s.io", "v1 v1beta1 v1alpha1", "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration"},
	{"apps", "v1 v1beta2 v1beta1", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"},
	{"authentication.k8s.io", "v1 v1beta1 v1alpha1", "SelfSubjectReview TokenReview"},
	{"authorization.k8s.io", "v1 v1beta1", "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"},
	{"autoscaling", "v2 v1 v2beta2 v2beta1", "HorizontalPodAutoscaler"},
	{"batch", "v1 v1beta1 v2alpha1", "CronJob Job"},
	{"certificates.k8s.io", "v1 v1beta1 v1alpha1", "CertificateSigningRequest ClusterTrustBundle PodCertificateRequest"},
	{"coordination.k8s.io", "v1 v1beta1 v1alpha2 v1alpha1", "Lease LeaseCandidate"},
	{"discovery.k8s.io", "v1 v1beta1 v1alpha1", "EndpointSlice"},
	{"events.k8s.io", "v1 v1beta1", "Event"},
	{"extensions", "v1beta1", "DaemonSet Deployment Ingress NetworkPolicy PodSecurityPolicy ReplicaSet"},
	{"flowcontrol.apiserver.k8s.io", "v1 v1beta3 v1beta2 v1beta1 v1alpha1", "FlowSchema PriorityLevelConfiguration"},
	{"internal.apiserver.k8s.io", "v1alpha1", "StorageVersion"},
	{"lifecycle.k8s.io", "v1alpha1", "Eviction EvictionRequest"},
	{"networking.k8s.io", "v1 v1beta1 v1alpha1", "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR"},
	{"node.k8s.io", "v1 v1beta1 v1alpha1", "RuntimeClass"},
	{"policy", "v1 v1beta1", "PodDisruptionBudget PodSecurityPolicy"},
	{"rbac.authorization.k8s.io", "v1 v1beta1 v1alpha1", "ClusterRole ClusterRoleBinding Role RoleBinding"},
	{"resource.k8s.io", "v1 v1beta2 v1beta1 v1alpha3 v1alpha2 v1alpha1", "DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate ResourcePoolStatusRequest ResourceSlice"},
	{"scheduling.k8s.io", "v1 v1beta1 v1alpha3 v1alpha2 v1alpha1", "CompositePodGroup PodGroup PriorityClass Workload"},
	{"storage.k8s.io", "v1 v1beta1 v1alpha1", "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass"},
	{"storagemigration.k8s.io", "v1 v1beta1 v1alpha1", "StorageVersionMigration"},
}

// BuiltInGroup reports whether a group is one of Kubernetes itself.
func BuiltInGroup(name string) bool {
	return slices.ContainsFunc(builtinGroups, func(g group) bool { return g.name == name })
}

// BuiltInKind reports whether some kind of Kubernetes itself has a name.
func BuiltInKind(name string) bool { return len(builtin[name]) > 0 }

// builtin finds the groups that have a kind, foreign the kinds of which other
// projects have one of the same name.
var builtin, foreign = func() (map[string][]*group, map[string]bool) {
	kinds, others := map[string][]*group{}, map[string]bool{}
	for i := range builtinGroups {
		for _, kind := range strings.Fields(builtinGroups[i].kinds) {
			kinds[kind] = append(kinds[kind], &builtinGroups[i])
		}
	}
	for _, registration := range pod.Shipped() {
		others[registration.Kind] = true
	}
	return kinds, others
}()

// podSubresources are those of the core kind Pod.
var podSubresources = []string{"attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "proxy", "resize", "status"}

// checkExists refuses an entry that names a kind of Kubernetes in a group or a
// version that it never had, a subresource that a pod does not have, and what is
// the body of a request and no resource.
func (k *Kind) checkExists() error {
	if k.kind.pattern {
		return nil
	}
	if err := k.checkIsResource(); err != nil {
		return err
	}
	homes := builtin[k.kind.text]
	if len(homes) == 0 {
		return nil
	}
	switch {
	case k.group.any:
		if foreign[k.kind.text] {
			return nil
		}
	case k.group.pattern:
		// It can stand for the group of another project.
		return nil
	default:
		isGroup := func(g *group) bool { return g.name == k.group.text }
		home := slices.IndexFunc(homes, isGroup)
		if home < 0 {
			if strings.Contains(k.group.text, ".") && !slices.ContainsFunc(builtinGroups, func(g group) bool { return isGroup(&g) }) {
				return nil
			}
			return fmt.Errorf("matches nothing: the group %q has no %s; write %s", k.groupAsWritten(), k.kind.text, k.rightly(homes))
		}
		homes = homes[home : home+1]
	}
	for _, home := range homes {
		if slices.ContainsFunc(strings.Fields(home.versions), k.version.match) {
			return k.checkPodSubresource()
		}
	}
	return fmt.Errorf("matches nothing: there is no version %q of %s; write %s, or, if a kind of another project is meant, its group too", k.version.text, k.kind.text, k.rightly(homes))
}

// rightly writes the entry as it would be right.
func (k *Kind) rightly(homes []*group) string {
	tail := k.kind.text
	if k.subresource.text != "" {
		tail += "/" + k.subresource.text
	}
	version, _, _ := strings.Cut(homes[0].versions, " ")
	name := homes[0].name
	if name == "" {
		return fmt.Sprintf("%s or core/%s/%s", tail, version, tail)
	}
	return fmt.Sprintf("%s or %s/%s/%s", tail, name, version, tail)
}

func (k *Kind) groupAsWritten() string {
	if k.group.text == "" {
		return "core"
	}
	return k.group.text
}

// checkPodSubresource refuses a subresource that pods do not have: a rule about
// Pod/exce would let every exec in.
func (k *Kind) checkPodSubresource() error {
	if !k.namesPods() || k.subresource.text == "" || k.subresource.match("") || slices.ContainsFunc(podSubresources, k.subresource.match) {
		return nil
	}
	return fmt.Errorf("matches nothing: pods have no subresource %q; they have %s", k.subresource.text, strings.Join(podSubresources, ", "))
}
