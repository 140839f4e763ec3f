package expression

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Input is what expressions are evaluated about. Nothing of it is changed, and
// several evaluations may use one at once.
type Input struct {
	// Object and OldObject are JSON trees, as apijson.Tree and unstructured objects
	// have them; nil: null in expressions.
	Object, OldObject map[string]any
	// NotCarried is set where the review that is judged carries no objects, so that
	// nothing is known of them: to use object or oldObject is then an error, has() and
	// optional fields included. Null would count as an empty object to these.
	NotCarried bool
	// Request is nil where nobody asked, as in a scan of what is there already;
	// then request is null, and to use a field of it is an error.
	Request *Request
	// Namespace of the object, nil: null. It need be read only for what
	// NeedsNamespace.
	Namespace *corev1.Namespace
	// Cluster answers what is read by cluster.get and cluster.list; it is needed only
	// for what ReadsCluster.
	Cluster Cluster
}

// Request has the fields of an AdmissionRequest that expressions see. As there,
// an empty subresource, name or namespace and an empty field of the user are not
// set: has(request.name) is false.
type Request struct {
	Kind        schema.GroupVersionKind
	Resource    schema.GroupVersionResource
	SubResource string
	// RequestKind, RequestResource and RequestSubResource are what was asked for
	// before an equivalent version of the API was matched. Kind and resource, if
	// nil, are the same as above, and the subresource with them.
	RequestKind        *schema.GroupVersionKind
	RequestResource    *schema.GroupVersionResource
	RequestSubResource string

	Name, Namespace string
	Operation       request.Operation
	UserInfo        request.User
	DryRun          bool
	// Options are a JSON tree such as that of CreateOptions; nil: null.
	Options map[string]any
}

// tree returns the request as expressions see it.
func (r *Request) tree() map[string]any {
	requestKind, requestResource, requestSubResource := r.RequestKind, r.RequestResource, r.RequestSubResource
	if requestKind == nil && requestResource == nil && requestSubResource == "" {
		requestSubResource = r.SubResource
	}
	if requestKind == nil {
		requestKind = &r.Kind
	}
	if requestResource == nil {
		requestResource = &r.Resource
	}
	t := map[string]any{
		"kind":            kindTree(r.Kind),
		"resource":        resourceTree(r.Resource),
		"requestKind":     kindTree(*requestKind),
		"requestResource": resourceTree(*requestResource),
		"operation":       string(r.Operation),
		"userInfo":        userTree(&r.UserInfo),
		"dryRun":          r.DryRun,
		"options":         nil,
	}
	if r.Options != nil {
		t["options"] = r.Options
	}
	setText(t, "subResource", r.SubResource)
	setText(t, "requestSubResource", requestSubResource)
	setText(t, "name", r.Name)
	setText(t, "namespace", r.Namespace)
	return t
}

func kindTree(k schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}
}

func resourceTree(r schema.GroupVersionResource) map[string]any {
	return map[string]any{"group": r.Group, "version": r.Version, "resource": r.Resource}
}

func userTree(u *request.User) map[string]any {
	t := map[string]any{}
	setText(t, "username", u.Name)
	setText(t, "uid", u.UID)
	if len(u.Groups) > 0 {
		t["groups"] = u.Groups
	}
	if len(u.Extra) > 0 {
		t["extra"] = u.Extra
	}
	return t
}

func setText(t map[string]any, key, value string) {
	if value != "" {
		t[key] = value
	}
}
