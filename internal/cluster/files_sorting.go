package cluster

import (
	"fmt"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// objectKey names an object of the files.
type objectKey struct{ kind, namespace, name string }

func (k objectKey) String() string {
	if k.namespace == "" {
		return k.kind + " " + k.name
	}
	return k.kind + " " + k.namespace + "/" + k.name
}

// From says where an object was read, such as "cluster/pods.yaml, document 2",
// so that NewFiles can name it.
func From(origin string, object runtime.Object) runtime.Object {
	return sourced{object, origin}
}

type sourced struct {
	runtime.Object
	origin string
}

// Holds reports whether NewFiles takes objects of this one's kind.
func Holds(object runtime.Object) bool {
	kind, _ := kindOf(object)
	return kind != ""
}

// kindOf gives the kind of an object that Files can hold, and whether it has a
// namespace.
func kindOf(object runtime.Object) (kind string, namespaced bool) {
	switch object := object.(type) {
	case sourced:
		return kindOf(object.Object)
	case *corev1.Pod:
		return "Pod", true
	case *corev1.ServiceAccount:
		return "ServiceAccount", true
	case *rbacv1.Role:
		return "Role", true
	case *rbacv1.RoleBinding:
		return "RoleBinding", true
	case *corev1.Namespace:
		return "Namespace", false
	case *corev1.Node:
		return "Node", false
	case *rbacv1.ClusterRole:
		return "ClusterRole", false
	case *rbacv1.ClusterRoleBinding:
		return "ClusterRoleBinding", false
	}
	return "", false
}

// sorting is the objects of the files, by kind, with what is wrong with them.
type sorting struct {
	origins    map[objectKey]string
	pods       map[objectKey]*corev1.Pod
	namespaces map[string]*corev1.Namespace
	accounts   map[objectKey]*corev1.ServiceAccount
	nodes      map[string]bool
	rbac       rbacObjects
	errs       []error
}

func (s *sorting) take(object runtime.Object, origin string) {
	for {
		from, ok := object.(sourced)
		if !ok {
			break
		}
		object, origin = from.Object, from.origin
	}
	if s.origins == nil {
		s.origins = map[objectKey]string{}
		s.pods = map[objectKey]*corev1.Pod{}
		s.namespaces = map[string]*corev1.Namespace{}
		s.accounts = map[objectKey]*corev1.ServiceAccount{}
		s.nodes = map[string]bool{}
	}
	kind, namespaced := kindOf(object)
	if kind == "" {
		s.fail("%s: a cluster in files is made of Pods, Namespaces, Nodes, ServiceAccounts, Roles, ClusterRoles, RoleBindings and ClusterRoleBindings; this is a %T", origin, object)
		return
	}
	object, key, err := identify(object, kind, namespaced)
	if err != nil {
		s.fail("%s: %w", origin, err)
		return
	}
	if first, ok := s.origins[key]; ok {
		s.fail("%s stands twice: in %s and in %s; leave one of them", key, first, origin)
		return
	}
	s.origins[key] = origin
	switch object := object.(type) {
	case *corev1.Pod:
		s.pods[key] = object
	case *corev1.Namespace:
		s.namespaces[key.name] = object
	case *corev1.ServiceAccount:
		s.accounts[key] = object
	case *corev1.Node:
		s.nodes[key.name] = true
	case *rbacv1.Role:
		s.rbac.roles = append(s.rbac.roles, object)
	case *rbacv1.ClusterRole:
		s.rbac.clusterRoles = append(s.rbac.clusterRoles, object)
	case *rbacv1.RoleBinding:
		s.rbac.roleBindings = append(s.rbac.roleBindings, object)
	case *rbacv1.ClusterRoleBinding:
		s.rbac.clusterRoleBindings = append(s.rbac.clusterRoleBindings, object)
	}
}

func (s *sorting) fail(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, args...))
}

// identify gives the key of an object, and the object with what the API server
// would add to its identity: a namespace, and the label that names a Namespace.
// The object that came is not changed.
func identify(object runtime.Object, kind string, namespaced bool) (runtime.Object, objectKey, error) {
	// Every kind that Files holds is a pointer.
	if reflect.ValueOf(object).IsNil() {
		return nil, objectKey{}, fmt.Errorf("a %s that holds nothing", kind)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, objectKey{}, fmt.Errorf("a %s without metadata: %w", kind, err)
	}
	key := objectKey{kind, accessor.GetNamespace(), accessor.GetName()}
	switch {
	case key.name == "" && accessor.GetGenerateName() != "":
		return nil, key, fmt.Errorf("%s: metadata.name: missing; generateName %q does not say what the object is called in the cluster", kind, accessor.GetGenerateName())
	case key.name == "":
		return nil, key, fmt.Errorf("%s: metadata.name: missing", kind)
	case !namespaced && key.namespace != "":
		return nil, key, fmt.Errorf("%s %s: metadata.namespace: %q, but a %s has no namespace; leave it out", kind, key.name, key.namespace, kind)
	case namespaced && key.namespace == "":
		key.namespace = metav1.NamespaceDefault
		object = object.DeepCopyObject()
		if accessor, err = meta.Accessor(object); err != nil {
			return nil, key, fmt.Errorf("%s: %w", key, err)
		}
		accessor.SetNamespace(key.namespace)
	}
	if namespace, ok := object.(*corev1.Namespace); ok {
		named := *namespace
		named.Labels = maps.Clone(namespace.Labels)
		if named.Labels == nil {
			named.Labels = map[string]string{}
		}
		named.Labels[corev1.LabelMetadataName] = key.name
		object = &named
	}
	return object, key, nil
}
