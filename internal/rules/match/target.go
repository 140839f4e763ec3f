package match

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Target is what a request is about, as far as matching needs it.
type Target struct {
	// Kind of the resource that the request is about, also where it is about a
	// subresource of it: Pod for pods/exec. See KindOf. What is sent to a
	// subresource of a pod, a node, a service or a service account, such as
	// PodExecOptions, stands for the resource.
	Kind        schema.GroupVersionKind
	Subresource string
	// KindUnread is why it could not be found out which kind the request is about; nil
	// where it was. Kind then has the group and the version, and no name.
	KindUnread error
	// Relabels is set for an update of a subresource that is written as the whole object
	// and changes labels or annotations as well, which the API server lets the status
	// and others: what is said of the kind is said of it.
	Relabels bool
	// Namespace is empty for what has none.
	Namespace string
	// GenerateName counts where there is no Name yet.
	Name, GenerateName  string
	Labels, Annotations map[string]string
	// Unshown is why Labels and Annotations are not known; nil where they are.
	Unshown error
	// Operation is empty where it is not known; a list of operations never matches
	// that.
	Operation request.Operation
	// User is nil where nobody is known, as in a background scan.
	User *request.User
	// NamespaceLabels reads the labels of Namespace. It is called only when they
	// are needed, and once a Match. Nil: they cannot be read.
	NamespaceLabels func() (map[string]string, error)
	// Roles reads what is bound to User: Roles as "namespace:name" and ClusterRoles
	// by name. It is called only when they are needed, and once a Match. Nil: they
	// cannot be read.
	Roles func() (roles, clusterRoles []string, err error)
}

// ErrNoUser says that a match block has conditions on the user, and that no user
// is known.
var ErrNoUser = errors.New("no user is known, and the match block has conditions on the user")

// errUnread is the reason where a Target has no way to read something.
var errUnread = errors.New("nothing is here to read them from")

// Key returns the key that the target is found by in an index of the Keys of
// blocks: a block can be about the target only if one of its keys has, in each
// field, the same or nothing.
func (t *Target) Key() Key {
	return Key{Kind: t.kind().Kind, Namespace: t.namespace(), Name: t.name()}
}

func (t *Target) kind() schema.GroupVersionKind {
	if t.Subresource == "" {
		return t.Kind
	}
	return ownerOf(t.Kind, t.Subresource)
}

func (t *Target) name() string {
	if t.Name != "" {
		return t.Name
	}
	return t.GenerateName
}

// isNamespace reports whether the target is a Namespace, which is matched by its
// own name and labels where a namespace is asked for.
func (t *Target) isNamespace() bool { return t.Kind.Kind == "Namespace" && t.Kind.Group == "" }

func (t *Target) namespace() string {
	if t.isNamespace() {
		return t.name()
	}
	return t.Namespace
}

// reading is a target with what has been read for it.
type reading struct {
	*Target
	gvk                 schema.GroupVersionKind
	labels              map[string]string
	labelsErr           error
	labelsRead          bool
	roles, clusterRoles []string
	rolesErr            error
	rolesRead           bool
}

func (r *reading) namespaceLabels() (map[string]string, error) {
	if r.isNamespace() {
		return r.Labels, r.unshown()
	}
	if !r.labelsRead {
		r.labelsRead = true
		err := errUnread
		if r.NamespaceLabels != nil {
			r.labels, err = r.NamespaceLabels()
		}
		if err != nil {
			r.labelsErr = fmt.Errorf("the labels of namespace %q cannot be read: %w", r.Namespace, err)
		}
	}
	return r.labels, r.labelsErr
}

// unshown is why the labels and annotations of the target are not known.
func (r *reading) unshown() error {
	if r.Unshown == nil {
		return nil
	}
	return fmt.Errorf("its labels and annotations are not known: %w", r.Unshown)
}

// bound returns the Roles and the ClusterRoles of the user, who is known.
func (r *reading) bound() (roles, clusterRoles []string, err error) {
	if !r.rolesRead {
		r.rolesRead = true
		err := errUnread
		if r.Roles != nil {
			r.roles, r.clusterRoles, err = r.Roles()
		}
		if err != nil {
			r.rolesErr = fmt.Errorf("the roles of user %q cannot be read: %w", r.User.Name, err)
		}
	}
	return r.roles, r.clusterRoles, r.rolesErr
}
