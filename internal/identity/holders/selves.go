package holders

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sallyport-io/sallyport/internal/cluster"
)

// The groups that users are in without anybody putting them there.
const (
	authenticated   = "system:authenticated"
	unauthenticated = "system:unauthenticated"
	serviceAccounts = "system:serviceaccounts"
	anonymous       = "system:anonymous"
	accountPrefix   = "system:serviceaccount:"
)

// selves gives the subjects that whoever is s surely is: s, the groups that
// every s is in, and the other name of a service account.
func selves(s cluster.Subject) []cluster.Subject {
	are := []cluster.Subject{s}
	group := func(names ...string) {
		for _, name := range names {
			are = append(are, cluster.Subject{Kind: rbacv1.GroupKind, Name: name})
		}
	}
	account := func(namespace, name string) {
		are = append(are,
			cluster.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name},
			cluster.Subject{Kind: rbacv1.UserKind, Name: accountPrefix + namespace + ":" + name})
		group(serviceAccounts, serviceAccounts+":"+namespace, authenticated)
	}
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		account(s.Namespace, s.Name)
	case rbacv1.UserKind:
		rest, isAccount := strings.CutPrefix(s.Name, accountPrefix)
		namespace, name, whole := strings.Cut(rest, ":")
		switch {
		case s.Name == anonymous:
			group(unauthenticated)
		case isAccount && whole:
			account(namespace, name)
		default:
			group(authenticated)
		}
	case rbacv1.GroupKind:
		if s.Name != unauthenticated {
			group(authenticated)
		}
		if strings.HasPrefix(s.Name, serviceAccounts+":") {
			group(serviceAccounts)
		}
	}
	return are
}
