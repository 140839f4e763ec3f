package policy

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/identity"
)

var errNoOldObject = errors.New("the request does not carry the object as it was before")

// coveredByOwner reports whether a controller made the object from a template
// that was judged, and names the owner whose template that is. All of these hold:
//
//   - the requester is an account of the controllers of the owner's kind;
//   - the owner reference is the one that is the controller;
//   - the owner, read live from the object's own namespace, has its UID;
//   - every claim is among those of the owner's template as they are now;
//   - the owner carries the mark of a template that was judged for these.
//
// Of what is beyond the owner nothing is needed: its mark is there because it was
// judged itself. It is followed all the same, since an owner that owns itself was
// made so by hand.
//
// Where they do not hold, why says what is missing; it is empty where the
// requester is no controller at all.
func (b *bearer) coveredByOwner(claims []identity.Claim) (owner, why string) {
	r := b.request
	ref, several := controllerOf(r.Object.Meta)
	if ref == nil {
		return "", ""
	}
	kind, ok := kindOf(ref)
	if !ok || !slices.Contains(r.Controllers.Of(kind.GroupKind()), r.User.Name) {
		return "", ""
	}
	name := fmt.Sprintf("%s %s/%s", ref.Kind, r.Namespace, ref.Name)
	switch {
	case several:
		return "", "it has more than one owner that is its controller"
	case r.Namespace == "" || r.Cluster == nil:
		return "", "its owner " + name + " cannot be read"
	}
	raw, err := r.Cluster.Object(b.ctx, kind, r.Namespace, ref.Name)
	if err != nil {
		return "", fmt.Sprintf("its owner %s cannot be read: %s", name, unread(reading(name, err)))
	}
	object, err := b.set.pods.Decode(kind, raw)
	switch {
	case err != nil:
		return "", fmt.Sprintf("its owner %s cannot be read: %v", name, err)
	case object.Meta.Name != ref.Name || object.Meta.Namespace != r.Namespace:
		return "", "what was read for its owner is not " + name
	case object.Meta.UID == "" || object.Meta.UID != ref.UID:
		return "", fmt.Sprintf("its owner %s has the UID %q, and the owner reference names %q", name, object.Meta.UID, ref.UID)
	}
	own, err := b.set.identities.OfObject(b.ctx, object, r.Namespace, b.futureAccounts)
	if err != nil {
		return "", fmt.Sprintf("of its owner %s, %v", name, err)
	}
	for i := range claims {
		if !identity.Among(claims[i:i+1], own) {
			return "", fmt.Sprintf("the template of its owner %s does not carry %s", name, claims[i])
		}
	}
	if why := b.unmarked(name, object.Meta, own); why != "" {
		return "", why
	}
	if b.inCircle(object.Meta) {
		return "", fmt.Sprintf("its owner %s is, by its own owners, its own owner", name)
	}
	return name, ""
}

// maxOwners bounds how far owners are followed: no controller of Kubernetes makes
// longer chains, and whoever writes references by hand can.
const maxOwners = 8

// inCircle reports whether an owner is owned by itself, however indirectly. No
// controller does that, so somebody wrote the references by hand. What cannot be
// read ends the chain: the mark is what counts.
func (b *bearer) inCircle(meta *metav1.ObjectMeta) bool {
	seen := map[types.UID]bool{meta.UID: true}
	for range maxOwners {
		ref, _ := controllerOf(meta)
		if ref == nil {
			return false
		}
		if seen[ref.UID] {
			return true
		}
		seen[ref.UID] = true
		kind, ok := kindOf(ref)
		if !ok {
			return false
		}
		raw, err := b.request.Cluster.Object(b.ctx, kind, b.request.Namespace, ref.Name)
		if err != nil {
			return false
		}
		object, err := b.set.pods.Decode(kind, raw)
		if err != nil || object.Meta.UID != ref.UID {
			return false
		}
		meta = object.Meta
	}
	return true
}

// unmarked says why the mark of an owner does not show that its template was
// judged for the claims.
func (b *bearer) unmarked(name string, meta *metav1.ObjectMeta, claims []identity.Claim) string {
	want := identity.Stamp(b.request.Controllers.Secret(), b.request.Namespace, claims)
	got := meta.Annotations[v1alpha1.AnnotationTemplateJudged]
	switch {
	case want != "" && got == want:
		return ""
	case got == "":
		return fmt.Sprintf("the template of its owner %s is not marked as judged, in the annotation %s: either the mutating webhook is not installed, or the object is older than that, see 'sallyport identities bootstrap'",
			name, v1alpha1.AnnotationTemplateJudged)
	default:
		return fmt.Sprintf("the template of its owner %s was judged for other identities than it has now, see 'sallyport identities bootstrap'", name)
	}
}

// kindOf is the kind that an owner reference names; none if its apiVersion is none.
func kindOf(ref *metav1.OwnerReference) (kind schema.GroupVersionKind, ok bool) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return gv.WithKind(ref.Kind), err == nil
}

// controllerOf gives the owner reference that is the controller; several says
// whether more than one claims to be.
func controllerOf(meta *metav1.ObjectMeta) (ref *metav1.OwnerReference, several bool) {
	for i := range meta.OwnerReferences {
		if o := &meta.OwnerReferences[i]; o.Controller != nil && *o.Controller {
			if ref != nil {
				return ref, true
			}
			ref = o
		}
	}
	return ref, false
}
