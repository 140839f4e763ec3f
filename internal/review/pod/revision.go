package pod

import (
	"errors"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

var (
	revisionKind    = schema.GroupKind{Group: "apps", Kind: "ControllerRevision"}
	statefulSetKind = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	daemonSetKind   = schema.GroupKind{Group: "apps", Kind: "DaemonSet"}
)

// revision is a ControllerRevision as far as it is read.
type revision struct {
	header
	Data apijson.Raw `json:"data"`
}

func readRevision(gvk schema.GroupVersionKind, raw []byte) (*revision, error) {
	body := &revision{}
	if err := apijson.Unmarshal(raw, body); err != nil {
		return nil, err
	}
	if startsWithN(raw) {
		return nil, errNull
	}
	return body, body.check(gvk)
}

// reading is what was found in the data of a revision.
type reading struct {
	pods  []Pod
	fault error
}

// decodeRevision reads a ControllerRevision, whose data is a part of the object
// that it is a revision of.
//
// What kind that is, the revision only says. A StatefulSet finds its revisions by
// the UID of the owner, and takes over those that nobody owns and that carry its
// labels; a name and a kind beside the UID are whatever somebody wrote. So every
// revision is read as one of theirs. If it says that its owner is of another kind,
// what that one would make of it stands in Settled.
func (r *Registry) decodeRevision(gvk schema.GroupVersionKind, raw []byte) (*Object, error) {
	body, err := readRevision(gvk, raw)
	if err != nil {
		return nil, err
	}
	o := &Object{GVK: gvk, Raw: raw, Meta: &body.Meta.ObjectMeta}
	if body.Data.IsNull() {
		return o, nil
	}
	read, err := r.readData(body.Data, statefulSetKind)
	owner := metav1.GetControllerOfNoCopy(o.Meta)
	kind, ok := ownerKind(owner)
	if !ok || r.inSpecTemplate(kind) {
		if err != nil {
			return nil, err
		}
		o.Pods, o.Fault = read.pods, read.fault
		return o, nil
	}
	if err != nil {
		read.fault = err
	}
	o.Unless = owner
	if root := r.kinds[kind]; root != nil && root.leaf.form == noForm && kind != revisionKind {
		if o.owners, err = r.readData(body.Data, kind); err != nil {
			return nil, err
		}
	}
	o.Fault = errors.Join(read.fault, o.owners.fault)
	o.Pods = append(read.pods, o.owners.pods...)
	return o, nil
}

// DecodeRevision reads a ControllerRevision as an owner of that kind does, whatever
// the revision says of its owner.
func (r *Registry) DecodeRevision(raw []byte, owner schema.GroupKind) (*Object, error) {
	gvk := appsv1.SchemeGroupVersion.WithKind(revisionKind.Kind)
	body, err := readRevision(gvk, raw)
	if err != nil {
		return nil, readError(gvk, err)
	}
	o := &Object{GVK: gvk, Raw: raw, Meta: &body.Meta.ObjectMeta}
	if body.Data.IsNull() {
		return o, nil
	}
	root := r.kinds[owner]
	if root == nil || root.leaf.form != noForm || owner == revisionKind {
		return o, nil
	}
	read, err := r.readData(body.Data, owner)
	if err != nil {
		return nil, readError(gvk, err)
	}
	o.Pods, o.Fault = read.pods, read.fault
	return o, nil
}

// Settled is what an object with Unless comes to, once it is known whether the
// owner that it names is there and of that kind.
func (o *Object) Settled(there bool) *Object {
	settled := &Object{GVK: o.GVK, Raw: o.Raw, Meta: o.Meta, Pods: o.Pods, Items: o.Items, Fault: o.Fault}
	if there {
		settled.Pods, settled.Fault = o.owners.pods, o.owners.fault
	}
	return settled
}

// WithMeta is the object as it would be with other metadata. Its JSON and its pods stay.
func (o *Object) WithMeta(meta *metav1.ObjectMeta) *Object {
	return &Object{GVK: o.GVK, Raw: o.Raw, Meta: meta, Pods: o.Pods, Items: o.Items, Fault: o.Fault, Unless: o.Unless, owners: o.owners}
}

// ownerKind is the kind that a revision says its owner to be of; none if nobody is
// said to own it, or nothing can be read as what it says.
func ownerKind(owner *metav1.OwnerReference) (kind schema.GroupKind, ok bool) {
	if owner == nil {
		return kind, false
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return schema.GroupKind{Group: gv.Group, Kind: owner.Kind}, err == nil
}

// inSpecTemplate reports whether the pods of a kind stand where those of a
// StatefulSet do, and nowhere else.
func (r *Registry) inSpecTemplate(kind schema.GroupKind) bool {
	root := r.kinds[kind]
	if root == nil || len(root.fields) != 1 || root.fields["spec"] == nil {
		return false
	}
	spec := root.fields["spec"]
	return len(spec.fields) == 1 && spec.fields["template"] != nil && spec.fields["template"].leaf.form == template && !spec.takesLists() && spec.everyField == nil
}

// readData reads the data of a revision of an object of the kind.
func (r *Registry) readData(data apijson.Raw, kind schema.GroupKind) (reading, error) {
	w := walker{exact: true}
	if kind == statefulSetKind || kind == daemonSetKind {
		// All fields of both that are merged are those of a StatefulSet.
		w.wrong("", apijson.Folded(data, reflect.TypeFor[appsv1.StatefulSet]()))
	}
	err := apijson.Read(data, func(d *apijson.Decoder) error {
		w.dec = d
		return w.dec.Object(func(name string) error { return w.enter(r.kinds[kind], "", name) })
	})
	if err == nil {
		err = w.assemble(data)
	}
	if err != nil {
		return reading{}, below("data", err)
	}
	read := reading{pods: w.sorted()}
	for i := range read.pods {
		read.pods[i].moveBelow("data")
	}
	if w.fault != nil {
		read.fault = below("data", w.fault)
	}
	return read, nil
}
