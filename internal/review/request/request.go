// Package request holds the one form that a question to Sallyport takes,
// whichever door it came through: who wants to do what, where.
package request

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Door is where a request came in.
type Door string

// The two doors.
const (
	Admission Door = "admission"
	Access    Door = "access"
)

// User is who asks, as the API server authenticated them.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Operation is what an admission request does.
type Operation string

// The operations of admission.k8s.io/v1.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Request is one question. It is not changed once it is made, apart from what
// Cluster reads, which is kept for the length of the request.
type Request struct {
	Door Door
	// UID of the AdmissionReview; empty at the access door.
	UID types.UID
	// Time at which it is judged. Exceptions are valid or expired by it; where it
	// is not set, none is valid.
	Time time.Time
	// ClusterName is the cluster that the request is for.
	ClusterName string
	// Tenant and Environment of that cluster; empty where they are not known.
	Tenant, Environment string
	// Elsewhere is set where it is another cluster than the one that policies and
	// exceptions are kept in: a namespace there is another one than the namespace
	// of the same name here.
	Elsewhere bool
	User      User

	// Operation is set at the admission door, Verb at the access door.
	Operation Operation
	Verb      string

	// Kind is that of the object at the admission door, PodExecOptions and its
	// like included; empty at the access door.
	Kind schema.GroupVersionKind
	// Resource and Subresource are in the plural and lower case, as in a URL.
	Resource    schema.GroupVersionResource
	Subresource string
	// Asked is what was asked for, where the API server matched an equivalent
	// version of it; nil where that is the same.
	Asked *Asked
	// Converted is set where just those rules are asked which name the version of Kind,
	// and not the one that was asked for: the others were asked by that one.
	Converted bool
	// Unconverted is set where no one converts Object to the version that a rule names,
	// as an API server would.
	Unconverted bool
	Namespace   string
	// Name as it came; for proxy it may carry a scheme and a port. See PodName.
	Name string
	// NonResourcePath is set for a request that is about no resource.
	NonResourcePath string
	DryRun          bool
	// Background is set where nobody asks: what is in the cluster already is judged
	// as if it were created now. No User is known then.
	Background bool

	// Unauthenticated is set where the caller showed nothing by which an API server is told
	// from anybody else, so that all that stands here may be made up. It is answered, and
	// nothing else follows from it: docs/doors.md has the table of what may and what not.
	Unauthenticated bool

	// Observing is set where nothing is refused, and nothing changed, whatever the
	// policies say: what they would refuse is only recorded.
	Observing bool

	// Final is set where nothing will change the object any more: what a policy
	// would still change is missing.
	Final bool

	// Object and OldObject are nil where the request has none. For CONNECT, what
	// came as the object stands in Options.
	Object    *pod.Object
	OldObject *pod.Object
	Options   *ConnectOptions
	// Write are the CreateOptions, UpdateOptions or DeleteOptions, as JSON; nil where
	// they are not known, as in a scan.
	Write []byte

	// Cluster reads the state that the request is judged against.
	Cluster Cluster
	// Authorizer answers what the user may do; nil where nobody can be asked.
	Authorizer Authorizer
	// Controllers are the accounts that make objects from the templates of others;
	// nil: the built-in ones.
	Controllers *Controllers
	// Host answers what policies read beside the request; nil where nothing can be
	// read.
	Host Host
	// Source is the file and document that the object came from, if any.
	Source string
}

// Asked is what a request was about before an equivalent version of the API was
// matched, as an AdmissionReview has it.
type Asked struct {
	Kind        schema.GroupVersionKind
	Resource    schema.GroupVersionResource
	Subresource string
}

// ConnectOptions are the options of a CONNECT: of PodExecOptions,
// PodAttachOptions, PodPortForwardOptions, PodProxyOptions, NodeProxyOptions and
// ServiceProxyOptions, what a decision of ours turns on, and all that came, for
// policies.
type ConnectOptions struct {
	Kind      string
	Container string
	Stdin     bool
	TTY       bool
	Path      string
	Ports     []int32
	// Body is all that came, what an exec runs included.
	Body Hidden
}

// Cluster is the state of the cluster that a request is for, as far as judging
// needs it. Implementations are safe for concurrent use. A thing that is not
// there gives an error for which apierrors.IsNotFound holds; every other error
// means that it could not be read. Results are shared and must not be changed.
type Cluster interface {
	// Pod reads one pod.
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	// PodsOnNode reads the pods that are bound to a node.
	PodsOnNode(ctx context.Context, node string) ([]*corev1.Pod, error)
	// Namespace reads one namespace.
	Namespace(ctx context.Context, name string) (*corev1.Namespace, error)
	// ServiceAccount reads one service account.
	ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)
	// Object reads one object of any kind in a namespace, as JSON, as it is stored
	// now: never from a cache.
	Object(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) ([]byte, error)
	// ServiceAccountPowers lists what makes a service account powerful, one
	// sentence each, such as "may get secrets in every namespace
	// (ClusterRoleBinding admins)". Empty: nothing does.
	ServiceAccountPowers(ctx context.Context, namespace, name string) ([]string, error)
}

// Host answers what a policy asks for beside the request, as far as it was granted
// to it. What is not granted is a *contextgate.Denied.
type Host interface {
	// Call answers a call of a module.
	Call(ctx context.Context, policy *contextgate.Policy, call hostcall.Call) ([]byte, error)
	// Tree answers a read by a JSON tree, as apijson.Tree has them. It is shared, and
	// must not be changed. An object that is not there is an error that is
	// contextgate.ErrNotFound.
	Tree(ctx context.Context, policy *contextgate.Policy, read *hostcall.Read) (map[string]any, error)
}

// Attributes are what a user would do, in the terms of a SubjectAccessReview.
type Attributes struct {
	Verb, Group, Version, Resource, Subresource, Namespace, Name string
}

// Authorizer answers whether a user may do something: in a cluster by a
// SubjectAccessReview, from files by the RBAC objects that stand there. An error
// means that nobody could tell.
type Authorizer interface {
	Allowed(ctx context.Context, user User, attributes Attributes) (bool, error)
}

// RBACReader is a Cluster that knows what roles and bindings allow, without asking
// anybody.
type RBACReader interface {
	// AllowedByRBAC reports whether roles that are bound to the user, or to one of
	// his groups, allow something. An error means that nobody could tell.
	AllowedByRBAC(ctx context.Context, user User, attributes Attributes) (bool, error)
}

// KindNamer is a Cluster that knows which kind a resource is of.
type KindNamer interface {
	// KindOf is the kind of the objects of a resource, such as Widget of widgets.
	KindOf(ctx context.Context, resource schema.GroupVersionResource) (string, error)
}

// RoleReader is a Cluster that knows which roles are bound to a user, by name, by
// group or as a service account.
type RoleReader interface {
	// RolesOf lists Roles as namespace:name, and by name the ClusterRoles that are
	// bound everywhere or in the namespace.
	RolesOf(ctx context.Context, user User, namespace string) (roles, clusterRoles []string, err error)
}
