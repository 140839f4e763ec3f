package call

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// maker is what a controller makes the object of a request from.
type maker struct {
	// Name of the owner, as messages have it.
	Name string
	// owner as it is now.
	owner *pod.Object
	// revision of the owner that a pod says it was made from, where the template in
	// it is another than the owner's; nil otherwise.
	revision *pod.Object
}

// MakerOf says which owner a controller makes the object of the request from. All
// of these hold:
//
//   - the requester is an account of the controllers of the owner's kind;
//   - the owner reference is the one that is the controller;
//   - the owner, read live from the object's own namespace, has its UID;
//   - the revision that a pod of a StatefulSet or DaemonSet names is there, is the
//     owner's, and holds a whole template.
//
// Whether its template was judged is for whoever asks to find out, by what he asks
// for: see templates. Of what is beyond the owner nothing is needed: its mark is
// there because it was judged itself. It is followed all the same, since an owner
// that owns itself was made so by hand.
//
// Where they do not hold, why says what is missing; it is empty where the
// requester is not a controller at all. This is the only place that takes somebody
// for a controller.
func (s *Base) MakerOf(c *Call) (m *maker, why string) {
	if !c.makerRead {
		c.makerRead = true
		c.maker, c.makerWhy = s.readMaker(c.Ctx, c.Request)
	}
	return c.maker, c.makerWhy
}

func (s *Base) readMaker(ctx context.Context, r *request.Request) (m *maker, why string) {
	ref, several := ControllerOf(r.Object.Meta)
	if ref == nil {
		return nil, ""
	}
	kind, ok := KindOf(ref)
	if !ok || !slices.Contains(r.Controllers.Of(kind.GroupKind()), r.User.Name) {
		return nil, unknownController(r, ref)
	}
	if several {
		return nil, "it has more than one owner that is its controller"
	}
	owner, why := s.ownerOf(ctx, r, ref)
	if why != "" {
		return nil, why
	}
	m = &maker{Name: fmt.Sprintf("%s %s/%s", ref.Kind, r.Namespace, ref.Name), owner: owner}
	if s.inCircle(ctx, r, owner.Meta) {
		return nil, fmt.Sprintf("its owner %s is, by its own owners, its own owner", m.Name)
	}
	if m.revision, why = s.RevisionOf(ctx, r, m.Name, owner); why != "" {
		return nil, why
	}
	return m, ""
}

// SharedAccount is the account of a kube-controller-manager whose controllers have
// none of their own.
const SharedAccount = "system:kube-controller-manager"

// unknownController says what to configure where the one account is met that
// cannot be anything but controllers.
func unknownController(r *request.Request, ref *metav1.OwnerReference) string {
	if r.User.Name != SharedAccount {
		return ""
	}
	return fmt.Sprintf("it is not known as the account of the controllers of %s, see --shared-controller-account", ref.Kind)
}

// template is one that the object of a request was made from.
type template struct {
	// Of is whose it is, as messages have it: "its owner ReplicaSet shop/web".
	Of     string
	Object *pod.Object
}

// Templates are those that have to have been judged.
func (m *maker) Templates() []template {
	found := []template{{"its owner " + m.Name, m.owner}}
	if m.revision != nil {
		found = append(found, template{"the revision " + m.revision.Meta.Name + " of its owner " + m.Name, m.revision})
	}
	return found
}

// maxOwners bounds how far owners are followed: no controller of Kubernetes makes
// longer chains, and whoever writes references by hand can.
const maxOwners = 8

// inCircle reports whether an owner is owned by itself, however indirectly. No
// controller does that, so somebody wrote the references by hand. What cannot be
// read ends the chain: the mark is what counts.
func (s *Base) inCircle(ctx context.Context, r *request.Request, meta *metav1.ObjectMeta) bool {
	seen := map[types.UID]bool{meta.UID: true}
	for range maxOwners {
		ref, _ := ControllerOf(meta)
		if ref == nil {
			return false
		}
		if seen[ref.UID] {
			return true
		}
		seen[ref.UID] = true
		owner, why := s.ownerOf(ctx, r, ref)
		if why != "" {
			return false
		}
		meta = owner.Meta
	}
	return true
}

// MarkOf is the mark of an object that makes pods, as it is stored.
func MarkOf(o *pod.Object) string {
	if o == nil {
		return ""
	}
	return o.Meta.Annotations[v1alpha1.AnnotationTemplateJudged]
}

// MarkCounts reports whether a request brings part of a mark into an object that did not
// have it, or another template under the mark that it had: if it is let in, the template
// counts as judged.
func MarkCounts(r *request.Request) bool {
	mark, old := MarkOf(r.Object), MarkOf(r.OldObject)
	appears := slices.ContainsFunc(identity.Signatures(mark), func(s string) bool { return !identity.Marked(old, s) })
	return appears || mark != "" && OtherTemplate(r)
}

// OtherTemplate reports whether the object may make other pods than before the request:
// where that cannot be told from its templates, whether anything but metadata and status
// is another. The policies that are in force do not matter to it.
func OtherTemplate(r *request.Request) bool {
	if r.OldObject == nil || pod.SignificantUpdate(r.OldObject, r.Object) {
		return true
	}
	switch r.Object.GVK.Group {
	case corev1.GroupName, appsv1.GroupName, batchv1.GroupName:
		if len(r.Object.Pods) > 0 {
			return false
		}
	}
	same, err := SameBody(r.OldObject, r.Object)
	return err != nil || !same
}

// NoMarks says why the template that a request was made from may have no mark: for callers
// without credentials none is made. It is empty for others.
func NoMarks(r *request.Request) string {
	if !r.Unauthenticated {
		return ""
	}
	return "; no template is marked where callers show no credentials (serve --callers network)"
}

// KindOf is the kind that an owner reference names; none if its apiVersion is none.
func KindOf(ref *metav1.OwnerReference) (kind schema.GroupVersionKind, ok bool) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return gv.WithKind(ref.Kind), err == nil
}

// ControllerOf gives the owner reference that is the controller; several says
// whether more than one claims to be.
func ControllerOf(meta *metav1.ObjectMeta) (ref *metav1.OwnerReference, several bool) {
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
