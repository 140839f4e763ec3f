// Package convert reads policies and exceptions of kyverno.io, and the kinds of
// breakglass.t-caas.telekom.com, as ours. What we
// lack of them is an error that names the field and says what can be done; what
// has no effect on judging is left out, for a reason that stands in a table.
//
// Sources: document "Policy Exceptions", and what its system came to ship.
package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Group is the API group whose objects are read.
const Group = "kyverno.io"

// Object is an object as ours.
type Object struct {
	GVK schema.GroupVersionKind
	// Raw is its JSON, which still has to be decoded strictly.
	Raw []byte
	// Dropped are the fields that were left out.
	Dropped []Dropped
}

// Dropped is a field that has no effect on judging.
type Dropped struct {
	Path string
	// Why it has none.
	Why string
	// Differs is set for a field that is not left out, but written in another form
	// that refuses more. Why says what.
	Differs bool
}

// kind is a kind that is read.
type kind struct {
	// versions of it, the one that people write most first.
	versions []string
	// as is our kind.
	as string
	// read converts the object; nil where it has our form already.
	read func(c *converter, object map[string]any) map[string]any
}

// kinds that are read. A request and a response are those of document "Policy
// Exceptions", which its system never shipped.
var kinds = map[string]kind{
	"ClusterPolicy":           {[]string{"v1", "v2beta1"}, "ClusterPolicy", (*converter).policy},
	"Policy":                  {[]string{"v1", "v2beta1"}, "Policy", (*converter).policy},
	"PolicyException":         {[]string{"v2", "v2beta1", "v2alpha1", "v1"}, "PolicyException", (*converter).exception},
	"PolicyExceptionRequest":  {[]string{"v1"}, "PolicyExceptionRequest", nil},
	"PolicyExceptionResponse": {[]string{"v1"}, "PolicyExceptionResponse", nil},
}

// lackingKinds are kinds that say something which we cannot do, and what can be
// done.
var lackingKinds = map[string]string{
	"CleanupPolicy":        "deletes objects on a schedule, which Sallyport does not; take it out, and leave it to its own controller",
	"ClusterCleanupPolicy": "deletes objects on a schedule, which Sallyport does not; take it out, and leave it to its own controller",
	"GlobalContextEntry":   "is data for expressions in JMESPath, which are not read; take it out, and write what needs it as validate.cel",
}

// IsKind reports whether Read has something to say about the kind.
func IsKind(gvk schema.GroupVersionKind) bool {
	if gvk.Group != Group {
		return false
	}
	_, read := kinds[gvk.Kind]
	_, lacking := lackingKinds[gvk.Kind]
	return read || lacking
}

// Read reads the JSON of an object of a kind that IsKind knows. The error is a
// wire.Errors with everything in it that cannot be read as ours.
func Read(gvk schema.GroupVersionKind, raw []byte) (*Object, error) {
	if why, ok := lackingKinds[gvk.Kind]; ok {
		return nil, apijson.Errors{{Detail: why}}
	}
	k, ok := kinds[gvk.Kind]
	if !ok || gvk.Group != Group {
		return nil, apijson.Errors{{Detail: fmt.Sprintf("is a %s of %s, which is not read; known are %s", gvk.Kind, gvk.GroupVersion(), strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))}}
	}
	if !slices.Contains(k.versions, gvk.Version) {
		return nil, apijson.Errors{{Path: "apiVersion", Detail: fmt.Sprintf("is %q; a %s is read as %s", gvk.GroupVersion(), gvk.Kind, inGroup(k.versions))}}
	}
	tree, err := apijson.Tree(raw)
	if err != nil {
		return nil, err
	}
	c := &converter{}
	if k.read != nil {
		tree = k.read(c, tree)
	}
	if len(c.errors) > 0 {
		return nil, c.errors
	}
	o := &Object{GVK: v1alpha1.GroupVersion.WithKind(k.as), Dropped: c.dropped}
	tree["apiVersion"], tree["kind"] = o.GVK.GroupVersion().String(), o.GVK.Kind
	if o.Raw, err = apijson.Marshal(tree); err != nil {
		return nil, fmt.Errorf("cannot be written as ours: %w", err)
	}
	return o, nil
}

// inGroup lists versions with their group.
func inGroup(versions []string) string {
	names := make([]string, len(versions))
	for i, version := range versions {
		names[i] = Group + "/" + version
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
