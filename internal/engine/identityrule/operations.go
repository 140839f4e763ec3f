package identityrule

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// entering judges a way into pods that run: whoever takes it needs every identity
// that they carry. With no source, there is nothing to read a pod for.
func (b *judgement) entering() error {
	sources := b.set.Identity
	if b.Access == nil || b.Access.Resource != "pods" || sources.Len() == 0 || !sources.Guards(b.Access.Subresource) {
		return nil
	}
	pods, err := b.EnteredPods()
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", b.Access.What(), err)
	}
	for i := range pods {
		p := &pods[i]
		claims, err := sources.OfPod(b.Ctx, &p.Pod, p.Namespace, b.accounts)
		if err != nil {
			return err
		}
		b.review(sources.Guarding(b.Access.Subresource, claims), "")
	}
	return nil
}

// writing judges what is created or changed, by what it is.
func (b *judgement) writing() error {
	o, r := b.Request.Object, b.Request
	switch {
	case call.IsPod(o.GVK.GroupKind()):
		if r.Operation == request.Create {
			return b.podCreated()
		}
		return b.podUpdated()
	case o.GVK.Group == "" && o.GVK.Kind == "Binding":
		return b.podBound()
	case o.GVK.Group == "" && o.GVK.Kind == "ServiceAccount":
		return b.accountWritten()
	case o.GVK.Group == "" && o.GVK.Kind == "Secret":
		return b.secretWritten()
	case o.GVK.Group == "certificates.k8s.io" && o.GVK.Kind == "PodCertificateRequest":
		if r.Operation != request.Create {
			return nil
		}
		return b.certificateRequested()
	case r.Resource.Group == "" && r.Resource.Resource == "serviceaccounts" && r.Subresource == "token":
		return b.tokenRequested()
	default:
		return b.makerWritten()
	}
}

// podCreated judges a new pod: every claim, unless its controller made it from a
// template that was judged.
func (b *judgement) podCreated() error {
	r := b.Request
	claims, err := b.set.Identity.OfObject(b.Ctx, r.Object, r.Namespace, b.accounts)
	if err != nil || len(claims) == 0 {
		return err
	}
	if _, mirror := r.Object.Meta.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		b.refuse(RuleUse, claims, "a mirror pod stands for what a node runs by itself, and carries no identity")
		return nil
	}
	b.made(claims)
	return nil
}

// made judges an object that somebody makes, possibly from the template of its
// owner.
func (b *judgement) made(claims []identity.Claim) {
	if b.broken != nil {
		b.cannotTell()
		return
	}
	owner, why := b.coveredByOwner(claims)
	if owner != "" {
		b.allow(claims, fmt.Sprintf("%.100q makes it from the template of %s, which was judged", b.Request.User.Name, owner))
		return
	}
	b.review(claims, why)
}

// podUpdated judges a pod that is there. Its claims stay as they are. Another
// image, and whatever else lets somebody run something in it, needs every claim.
func (b *judgement) podUpdated() error {
	r := b.Request
	if r.OldObject == nil {
		return call.ErrNoOldObject
	}
	// What an annotation of the account says is the same before and after, so that
	// it need not be read.
	left := false
	accounts := identity.Accounts(func(context.Context, string, string) (*corev1.ServiceAccount, error) {
		left = true
		return &corev1.ServiceAccount{}, nil
	})
	if !sameAccounts(r.OldObject, r.Object) {
		accounts = b.accounts
	}
	before, err := b.set.Identity.OfObject(b.Ctx, r.OldObject, r.Namespace, accounts)
	if err != nil {
		return fmt.Errorf("before the update, %w", err)
	}
	after, err := b.set.Identity.OfObject(b.Ctx, r.Object, r.Namespace, accounts)
	if err != nil {
		return err
	}
	if d := identity.Compare(before, after); d.Changed() {
		if len(d.Added) > 0 {
			b.refuse(RuleImmutable, d.Added, "the identities of a pod cannot be changed, make a new pod; added")
		}
		if len(d.Removed) > 0 {
			b.refuse(RuleImmutable, d.Removed, "the identities of a pod cannot be changed, make a new pod; removed")
		}
	}
	switch r.Subresource {
	case "status", "resize":
		return nil
	}
	if len(after) == 0 && !left {
		return nil
	}
	switch r.Subresource {
	case "ephemeralcontainers":
	default:
		if !pod.SignificantUpdate(r.OldObject, r.Object) {
			return nil
		}
	}
	claims, err := b.set.Identity.OfObject(b.Ctx, r.Object, r.Namespace, b.accounts)
	if err != nil {
		return err
	}
	b.review(claims, "")
	return nil
}

func sameAccounts(old, updated *pod.Object) bool {
	if len(old.Pods) != len(updated.Pods) {
		return false
	}
	for i := range updated.Pods {
		if old.Pods[i].ServiceAccountName() != updated.Pods[i].ServiceAccountName() {
			return false
		}
	}
	return true
}

// podBound judges a Binding, whose annotations the API server puts onto the pod:
// they can neither add, change nor hide what the pod carries.
func (b *judgement) podBound() error {
	r, sources := b.Request, b.set.Identity
	given := r.Object.Meta.Annotations
	claims, err := sources.OfAnnotations(given)
	if err != nil {
		return err
	}
	if _, field := given[v1alpha1.AnnotationValidatedAnnotations]; len(claims) == 0 && !field {
		return nil
	}
	if r.Cluster == nil {
		return call.ErrNoCluster
	}
	live, err := r.Cluster.Pod(b.Ctx, r.Namespace, r.Name)
	if err != nil {
		return fmt.Errorf("the pod that is bound cannot be read: %w", call.Reading("pod "+r.Namespace+"/"+r.Name, err))
	}
	before, err := sources.OfAnnotations(live.Annotations)
	if err != nil {
		return fmt.Errorf("of the pod that is bound, %w", err)
	}
	merged := maps.Clone(live.Annotations)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, given)
	after, err := sources.OfAnnotations(merged)
	if err != nil {
		return err
	}
	d := identity.Compare(before, after)
	if len(d.Added) > 0 {
		b.refuse(RuleImmutable, d.Added, "a Binding cannot give identities to the pod that it binds")
	}
	if len(d.Removed) > 0 {
		b.refuse(RuleImmutable, d.Removed, "a Binding cannot take identities from the pod that it binds")
	}
	return nil
}

// change says what an update does to the templates of an object.
type change uint8

const (
	// unchanged: nothing that its pods have; removed: they lose identities and
	// nothing else changes; changed: anything else.
	unchanged change = iota
	removed
	changed
)

// templateChange compares the templates before an update with those after it, and
// all but metadata and status of a kind that carries identities elsewhere.
func (b *judgement) templateChange() (change, error) {
	r := b.Request
	if r.Operation == request.Create || r.OldObject == nil {
		return changed, nil
	}
	if !b.carriesOnlyInPods(r.Object) {
		same, err := call.SameBody(r.OldObject, r.Object)
		if err != nil {
			return changed, err
		}
		if !same {
			return changed, nil
		}
		return unchanged, nil
	}
	if !pod.SignificantUpdate(r.OldObject, r.Object) {
		return unchanged, nil
	}
	without, some := b.withoutRemoved(r.OldObject, r.Object)
	if some && !pod.SignificantUpdate(without, r.Object) {
		return removed, nil
	}
	return changed, nil
}

// carriesOnlyInPods is false for the kinds whose fields some source reads.
func (b *judgement) carriesOnlyInPods(o *pod.Object) bool {
	for _, kind := range b.set.Identity.Kinds() {
		if kind == o.GVK.GroupKind() {
			return false
		}
	}
	return true
}

// withoutRemoved is the old object without the annotations of its templates that
// carry identities and that the new one has no more; some says whether there are
// such.
func (b *judgement) withoutRemoved(old, updated *pod.Object) (without *pod.Object, some bool) {
	without = &pod.Object{GVK: old.GVK, Meta: old.Meta}
	for i := range old.Pods {
		p := old.Pods[i]
		if i >= len(updated.Pods) {
			return old, false
		}
		kept := metav1.ObjectMeta{}
		p.Meta.DeepCopyInto(&kept)
		for key, value := range p.Meta.Annotations {
			if _, still := updated.Pods[i].Meta.Annotations[key]; still {
				continue
			}
			if claims, err := b.set.Identity.OfAnnotations(map[string]string{key: value}); err == nil && len(claims) > 0 {
				delete(kept.Annotations, key)
				some = true
			}
		}
		p.Meta = &kept
		without.Pods = append(without.Pods, p)
	}
	return without, some
}
