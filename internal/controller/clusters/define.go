package clusters

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cluster/clusterconfig"
)

// The reasons why a ClusterConfig defines no cluster.
const (
	ReasonCannotWork     = "CannotWork"
	ReasonClusterIDTaken = "ClusterIDTaken"
)

// definitionOf is the cluster that a ClusterConfig defines, without its
// kubeconfig.
func definitionOf(c *v1alpha1.ClusterConfig) Definition {
	d := Definition{ID: clusterconfig.ID(c), Tenant: c.Spec.Tenant, Environment: c.Spec.Environment}
	d.Doors.Admission = slices.Contains(c.Spec.Doors, v1alpha1.DoorAdmission)
	d.Doors.Access = slices.Contains(c.Spec.Doors, v1alpha1.DoorAccess)
	if c.Spec.Callers != nil {
		names := append([]string{}, c.Spec.Callers.CommonNames...)
		d.Callers = &names
	}
	return d
}

// fromSecret puts the kubeconfig of a Secret into a definition.
func fromSecret(d *Definition, ref *v1alpha1.KubeconfigSecretRef, from *secrets) {
	if why := wrongNamespace(ref, from.namespace); why != "" {
		d.Problem = Problem{ReasonSecretUnreadable, why}
		return
	}
	d.Kubeconfig, d.Problem = from.value(ref.Name, cmp.Or(ref.Key, clusterconfig.DefaultKey))
}

// wrongNamespace says why a Secret is not read; empty where it is.
func wrongNamespace(ref *v1alpha1.KubeconfigSecretRef, read string) string {
	if ref.Namespace == "" || ref.Namespace == read {
		return ""
	}
	return fmt.Sprintf("spec.kubeconfigSecretRef.namespace is %q, and kubeconfigs are read only from Secrets of namespace %q (--cluster-secret-namespace)", ref.Namespace, read)
}
