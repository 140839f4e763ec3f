package pod

import (
	"errors"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Object is an object that was decoded once, with the pods that stand in it.
type Object struct {
	// GVK as the object names itself.
	GVK schema.GroupVersionKind
	// Raw is the object's JSON.
	Raw []byte
	// Meta is never nil. Managed fields are left out of it.
	Meta *metav1.ObjectMeta
	// Pods in the order of their paths; empty for an object that makes none. Those
	// of a list are the pods of all its items.
	Pods []Pod
	// Items are the objects of a list, each with the paths of its pods counted
	// from the item. The pods themselves are the same ones that Pods leads to.
	Items []*Object
	// Fault says why others may find other pods in the object than stand here; nil
	// for most. Whoever lets the object in must not go by its pods.
	Fault error
	// Unless is set for a revision that says it is of a kind whose pods stand
	// elsewhere, or that makes none. Pods are what it holds all the same, unless
	// that owner is there. See Settled.
	Unless *metav1.OwnerReference
	// owners is what the revision holds if it is.
	owners reading

	once    sync.Once
	tree    map[string]any
	treeErr error
}

var errNoJSON = errors.New("the object holds no JSON to look into")

// Tree is the object as maps, slices and scalars, as Raw has it. It
// is read from Raw when it is asked
// for first, is shared from then on and must not be changed.
func (o *Object) Tree() (map[string]any, error) {
	o.once.Do(func() {
		if len(o.Raw) == 0 {
			o.treeErr = errNoJSON
			return
		}
		o.tree, o.treeErr = apijson.Tree(o.Raw)
	})
	return o.tree, o.treeErr
}
