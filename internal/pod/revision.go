package pod

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/wire"
)

var revisionKind = schema.GroupKind{Group: "apps", Kind: "ControllerRevision"}

// decodeRevision reads a ControllerRevision, whose data is a part of the object
// that it is a revision of. A StatefulSet or DaemonSet that is rolled back makes
// pods from it, and takes over one that nobody owns; so such a one is read as
// theirs. The revisions of kinds that make no pods hold no pods, whatever their
// data looks like (a virtual machine has a spec.template as well).
func (r *Registry) decodeRevision(gvk schema.GroupVersionKind, raw []byte) (*Object, error) {
	body := &struct {
		header
		Data wire.Raw `json:"data"`
	}{}
	if err := wire.Unmarshal(raw, body); err != nil {
		return nil, err
	}
	if startsWithN(raw) {
		return nil, errNull
	}
	if err := body.check(gvk); err != nil {
		return nil, err
	}
	o := &Object{GVK: gvk, Raw: raw, Meta: &body.Meta.ObjectMeta}
	root := r.revisedKind(o.Meta)
	if root == nil || body.Data.IsNull() {
		return o, nil
	}
	w := walker{}
	err := wire.Read(body.Data, func(d *wire.Decoder) error {
		w.dec = d
		return w.dec.Object(func(name string) error { return w.enter(root.fields[name], "", name) })
	})
	if err != nil {
		return nil, below("data", err)
	}
	o.Pods = w.sorted()
	for i := range o.Pods {
		o.Pods[i].Path = joinPaths("data", o.Pods[i].Path)
	}
	return o, nil
}

// revisedKind gives the places of pods in the kind that owns a revision, or nil
// for one that makes none.
func (r *Registry) revisedKind(meta *metav1.ObjectMeta) *node {
	owner := metav1.GetControllerOfNoCopy(meta)
	if owner == nil {
		return r.kinds[schema.GroupKind{Group: "apps", Kind: "StatefulSet"}]
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return r.kinds[schema.GroupKind{Group: "apps", Kind: "StatefulSet"}]
	}
	gk := schema.GroupKind{Group: gv.Group, Kind: owner.Kind}
	root := r.kinds[gk]
	if root == nil || root.leaf != noLeaf || gk == revisionKind {
		return nil
	}
	return root
}
