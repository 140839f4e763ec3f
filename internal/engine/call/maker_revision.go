package call

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// fromRevisions are the kinds of Kubernetes whose controllers name, in a label of
// each pod, the revision that they made it from: by its name for a StatefulSet, and
// by the end of it for a DaemonSet. Controllers of other projects do so as well;
// where no revision has that name, theirs made the pod from something else.
var fromRevisions = map[schema.GroupKind]bool{
	{Group: "apps", Kind: "StatefulSet"}: true,
	{Group: "apps", Kind: "DaemonSet"}:   true,
}

// RevisionOf reads the revision that a pod was made from. It is nil where the pod
// was made from what stands in the owner, or where the revision holds the same.
func (s *Base) RevisionOf(ctx context.Context, r *request.Request, name string, owner *pod.Object) (revision *pod.Object, why string) {
	if !IsPod(r.Object.GVK.GroupKind()) {
		return nil, ""
	}
	kind := owner.GVK.GroupKind()
	label := r.Object.Meta.Labels[appsv1.ControllerRevisionHashLabelKey]
	if label == "" {
		if fromRevisions[kind] {
			return nil, fmt.Sprintf("it does not say, in the label %s, which revision of its owner %s it is made from", appsv1.ControllerRevisionHashLabelKey, name)
		}
		return nil, ""
	}
	revision, why = s.readRevision(ctx, r, name, owner, label)
	switch {
	case revision == nil:
		return nil, why
	case revision.Fault != nil:
		return nil, fmt.Sprintf("what the revision %s of its owner %s makes is not known: %v", revision.Meta.Name, name, revision.Fault)
	}
	if tree, err := revision.Tree(); fromRevisions[kind] && (err != nil || !WholeTemplate(tree["data"])) {
		return nil, fmt.Sprintf("the revision %s of its owner %s holds no whole template, and what it is merged with does not show", revision.Meta.Name, name)
	}
	if pod.SameTemplates(owner, revision) {
		return nil, ""
	}
	return revision, ""
}

// readRevision finds the revision by what the label of a pod says. It is nil where
// there is none that can be read; why is empty if the owner's kind need not have one.
func (s *Base) readRevision(ctx context.Context, r *request.Request, name string, owner *pod.Object, label string) (revision *pod.Object, why string) {
	kind := owner.GVK.GroupKind()
	names := []string{label, owner.Meta.Name + "-" + label}
	if kind == (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) {
		names = names[:1]
	}
	gvk := appsv1.SchemeGroupVersion.WithKind("ControllerRevision")
	for _, at := range names {
		raw, err := r.Cluster.Object(ctx, gvk, r.Namespace, at)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Sprintf("the revision %s of its owner %s cannot be read: %v", at, name, err)
		}
		revision, err := s.Registry.DecodeRevision(raw, kind)
		switch {
		case err != nil:
			return nil, fmt.Sprintf("the revision %s of its owner %s cannot be read: %v", at, name, err)
		case revision.Meta.Name != at || revision.Meta.Namespace != r.Namespace:
			return nil, fmt.Sprintf("what was read for the revision %s of its owner %s is something else", at, name)
		}
		// A StatefulSet takes over what nobody owns.
		if ref := metav1.GetControllerOfNoCopy(revision.Meta); ref == nil || ref.UID == owner.Meta.UID {
			return revision, ""
		}
	}
	if fromRevisions[kind] {
		return nil, fmt.Sprintf("its owner %s has no revision %s, which it says it is made from", name, label)
	}
	return nil, ""
}
