package call

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Settled is the request with what its objects hold, once it is known who owns
// them. A revision that says it is of a kind whose pods stand elsewhere, or that
// makes none, is taken at its word only while that owner is there, with that kind
// and UID: no controller of pods goes by its UID then. Otherwise it is read as the
// revision of a workload, and doubt says why.
//
// The object before an update holds the least that it may have been taken for:
// nobody was judged for more.
func (s *Base) Settled(ctx context.Context, r *request.Request) (settled *request.Request, doubt string) {
	if !unsettled(r.Object) && !unsettled(r.OldObject) {
		return r, ""
	}
	changed := *r
	if unsettled(r.OldObject) {
		changed.OldObject = r.OldObject.Settled(true)
	}
	if unsettled(r.Object) {
		why := s.Absent(ctx, r, r.Object.Unless)
		changed.Object = r.Object.Settled(why == "")
		if why != "" {
			doubt = fmt.Sprintf("the %s is read as that of a StatefulSet, as %s", r.Object.GVK.Kind, why)
		}
	}
	return &changed, doubt
}

func unsettled(o *pod.Object) bool { return o != nil && o.Unless != nil }

// Absent says why an owner cannot be taken for what a reference says; empty if it
// is there as it says.
func (s *Base) Absent(ctx context.Context, r *request.Request, ref *metav1.OwnerReference) string {
	_, why := s.ownerOf(ctx, r, ref)
	return why
}

// ownerOf reads the owner that a reference names, live from the namespace of the
// request, and with the UID that it names. why is empty if that one is there.
func (s *Base) ownerOf(ctx context.Context, r *request.Request, ref *metav1.OwnerReference) (owner *pod.Object, why string) {
	name := fmt.Sprintf("%s %s/%s", ref.Kind, r.Namespace, ref.Name)
	kind, ok := KindOf(ref)
	if !ok || r.Namespace == "" || r.Cluster == nil {
		return nil, "its owner " + name + " cannot be read"
	}
	raw, err := r.Cluster.Object(ctx, kind, r.Namespace, ref.Name)
	if err != nil {
		return nil, fmt.Sprintf("its owner %s cannot be read: %s", name, Unread(Reading(name, err)))
	}
	object, err := s.Registry.Decode(kind, raw)
	switch {
	case err != nil:
		return nil, fmt.Sprintf("its owner %s cannot be read: %v", name, err)
	case object.Meta.Name != ref.Name || object.Meta.Namespace != r.Namespace:
		return nil, "what was read for its owner is not " + name
	case object.Meta.UID == "" || object.Meta.UID != ref.UID:
		return nil, fmt.Sprintf("its owner %s has the UID %q, and the owner reference names %q", name, object.Meta.UID, ref.UID)
	}
	return object, ""
}
