package lab

import (
	"strings"

	"github.com/sallyport-io/sallyport/config/rbac"
)

// leasesIn is the namespace of the Leases of a Sallyport that runs outside of a pod and
// was told no other.
const leasesIn = "kube-system"

// SallyportRole is what is shipped, bound to the user that Sallyport is in the lab.
func SallyportRole() string {
	return strings.Join([]string{rbac.ClusterRole, toUser(rbac.ClusterRoleBinding), SallyportLeases(leasesIn)}, "---\n")
}

// SallyportLeases lets Sallyport keep its Leases in another namespace than that of the
// lab's own.
func SallyportLeases(namespace string) string {
	return strings.ReplaceAll(toUser(rbac.Leases), "namespace: sallyport-system\n", "namespace: "+namespace+"\n")
}

// toUser binds to the user of the lab what a manifest binds to the account.
func toUser(manifest string) string {
	before, subject, found := strings.Cut(manifest, "subjects:\n")
	if !found || !strings.Contains(subject, "name: sallyport\n") {
		panic("config/rbac binds to no account that the lab knows") // the files are part of the program
	}
	return before + "subjects:\n- {apiGroup: rbac.authorization.k8s.io, kind: User, name: " + SallyportUser + "}\n"
}
