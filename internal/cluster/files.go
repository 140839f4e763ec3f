package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

var _ request.Cluster = (*Files)(nil)

// Files is the state of a cluster as it stands in files. It is not changed once
// it is made; when files change, another is made.
//
// What stands in no file is not there: a pod or a namespace is not found, and an
// account that nothing binds has no powers. Of a namespace that is not found
// only the name is known; a policy that needs its labels cannot judge, and one
// that goes by names can. The roles that every cluster has, such as
// cluster-admin and edit, need not be repeated in files.
type Files struct {
	pods       map[objectKey]*corev1.Pod
	byNode     map[string][]*corev1.Pod
	namespaces map[string]*corev1.Namespace
	accounts   map[objectKey]*corev1.ServiceAccount
	nodes      map[string]bool
	rbac       *rbacIndex
	authorizer *authorizer
	bindings   func() *RBAC
}

// NewFiles makes a Files of decoded objects: Pods, Namespaces, Nodes,
// ServiceAccounts, Roles, ClusterRoles, RoleBindings and ClusterRoleBindings.
// Pods are used as they are and must have been given the defaults of the API
// server. An object without a namespace that has to have one is in namespace
// "default", as with kubectl. Objects are kept and must not be changed
// afterwards. See From for naming where they were read.
//
// An object of another kind or without a name, and two objects of the same kind,
// namespace and name are errors; all of them are reported together.
func NewFiles(objects []runtime.Object) (*Files, error) {
	var s sorting
	for i, object := range objects {
		s.take(object, fmt.Sprintf("object %d", i+1))
	}
	if len(s.errs) > 0 {
		return nil, errors.Join(s.errs...)
	}
	roles := newRoleBook(s.rbac, true)
	f := &Files{
		pods:       s.pods,
		byNode:     map[string][]*corev1.Pod{},
		namespaces: s.namespaces,
		accounts:   s.accounts,
		nodes:      s.nodes,
		rbac:       newRBACIndex(s.rbac, roles),
		authorizer: newAuthorizer(s.rbac, roles),
		bindings:   sync.OnceValue(func() *RBAC { return newRBAC(s.rbac, roles) }),
	}
	for _, pod := range s.pods {
		if node := pod.Spec.NodeName; node != "" {
			f.byNode[node] = append(f.byNode[node], pod)
		}
	}
	for _, pods := range f.byNode {
		slices.SortFunc(pods, comparePods)
	}
	return f, nil
}

// Pod finds one pod.
func (f *Files) Pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	if pod := f.pods[objectKey{"Pod", namespace, name}]; pod != nil {
		return pod, nil
	}
	return nil, inNoFile("pod "+namespace+"/"+name, "pods", name)
}

// PodsOnNode finds the pods that are bound to a node, in the order of their
// namespaces and names. A node that neither stands in a file nor is named by a
// pod is not found.
func (f *Files) PodsOnNode(_ context.Context, node string) ([]*corev1.Pod, error) {
	pods := f.byNode[node]
	if len(pods) == 0 && !f.nodes[node] {
		return nil, inNoFile("node "+node, "nodes", node)
	}
	return slices.Clone(pods), nil
}

// Namespace finds one namespace.
func (f *Files) Namespace(_ context.Context, name string) (*corev1.Namespace, error) {
	if namespace := f.namespaces[name]; namespace != nil {
		return namespace, nil
	}
	return nil, inNoFile("namespace "+name, "namespaces", name)
}

// ServiceAccount finds one service account. Every namespace has one that is
// called default, whether or not it stands in a file.
func (f *Files) ServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	if account := f.accounts[objectKey{"ServiceAccount", namespace, name}]; account != nil {
		return account, nil
	}
	if name == "default" && namespace != "" {
		account := &corev1.ServiceAccount{}
		account.Namespace, account.Name = namespace, name
		return account, nil
	}
	return nil, inNoFile("service account "+namespace+"/"+name, "serviceaccounts", name)
}

// Object finds a Pod or a ServiceAccount. What owns pods is not kept from files,
// and so is not there.
func (f *Files) Object(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) ([]byte, error) {
	var object any
	var err error
	switch kind.GroupKind() {
	case schema.GroupKind{Kind: "Pod"}:
		object, err = f.Pod(ctx, namespace, name)
	case schema.GroupKind{Kind: "ServiceAccount"}:
		object, err = f.ServiceAccount(ctx, namespace, name)
	default:
		err = inNoFile(kind.Kind+" "+namespace+"/"+name, strings.ToLower(kind.Kind), name)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// ServiceAccountPowers lists what makes a service account powerful. A binding
// to a role that stands in no file is an error, unless some other binding makes
// the account powerful anyway. An empty name is the account "default".
func (f *Files) ServiceAccountPowers(_ context.Context, namespace, name string) ([]string, error) {
	found := f.rbac.powers(namespace, name)
	if len(found.powers) == 0 && len(found.unknown) > 0 {
		return nil, fmt.Errorf("the powers of service account %s/%s are not known: %s; add a file that holds what is missing",
			namespace, name, strings.Join(found.unknown, "; "))
	}
	return found.powers, nil
}

func inNoFile(what, resource, name string) error {
	return fmt.Errorf("%s stands in no file: %w", what, apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name))
}
