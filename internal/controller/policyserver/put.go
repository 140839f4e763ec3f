package policyserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// inTheWay is the error for an object that is there and belongs to somebody else.
type inTheWay struct{ what string }

// Error says what is to be done.
func (e *inTheWay) Error() string {
	return e.what + " is there already and does not belong to this PolicyServer; remove it, or give the PolicyServer another name"
}

// get reads an object as it is; false where there is none.
func (c *Controller) get(ctx context.Context, o client.Object, namespace, name string) (bool, error) {
	err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s cannot be read: %w", c.what(o, namespace, name), err)
	}
	return true, nil
}

func (c *Controller) what(o client.Object, namespace, name string) string {
	kind := fmt.Sprintf("%T", o)
	if gvk, err := apiutil.GVKForObject(o, c.Scheme); err == nil {
		kind = gvk.Kind
	}
	if namespace != "" {
		name = namespace + "/" + name
	}
	return kind + " " + name
}

func owned(o client.Object, s *v1alpha1.PolicyServer) bool {
	if s == itself {
		return o.GetLabels()[labelManagedBy] == manager && metav1.GetControllerOf(o) == nil
	}
	return metav1.IsControlledBy(o, s)
}

// put makes an object be as it is wanted, whole: what somebody else added to it
// goes, except for labels and annotations of their own. Where it is so already, nothing
// is written. wanted is then what the API server has.
func (c *Controller) put(ctx context.Context, s *v1alpha1.PolicyServer, wanted client.Object) error {
	live := wanted.DeepCopyObject().(client.Object)
	what := c.what(wanted, wanted.GetNamespace(), wanted.GetName())
	there, err := c.get(ctx, live, wanted.GetNamespace(), wanted.GetName())
	if err != nil {
		return err
	}
	text, err := json.Marshal(wanted)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", what, err)
	}
	m, now := c.remember(s), written{wanted: digest(text)}
	switch {
	case !there:
		c.Log.Info("something of a PolicyServer is made", "policyServer", s.Name, "object", what)
		err = c.client.Create(ctx, wanted)
	case !owned(live, s):
		return &inTheWay{what}
	case live.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s is being removed; it is made again when it is gone", what)
	default:
		now.version = live.GetResourceVersion()
		known := m.put[what]
		if known == now && tagged(live, wanted) {
			reflect.ValueOf(wanted).Elem().Set(reflect.ValueOf(live).Elem())
			return nil
		}
		carry(live, wanted)
		err = c.client.Update(ctx, wanted)
		if err == nil && known.wanted == now.wanted && wanted.GetResourceVersion() != now.version {
			c.Log.Info("something of a PolicyServer was changed by somebody else, and was put right", "policyServer", s.Name, "object", what)
		}
	}
	if err != nil {
		delete(m.put, what)
		return fmt.Errorf("%s cannot be written: %w", what, err)
	}
	now.version = wanted.GetResourceVersion()
	m.put[what] = now
	return nil
}

// tagged reports whether an object has the labels and the owner that are wanted.
func tagged(live, wanted client.Object) bool {
	for key, value := range wanted.GetLabels() {
		if live.GetLabels()[key] != value {
			return false
		}
	}
	return len(live.GetOwnerReferences()) == len(wanted.GetOwnerReferences())
}

// wrote remembers that an object was changed beside put.
func (c *Controller) wrote(s *v1alpha1.PolicyServer, o client.Object) {
	m, what := c.remember(s), c.what(o, o.GetNamespace(), o.GetName())
	m.put[what] = written{m.put[what].wanted, o.GetResourceVersion()}
}

// annotationRestarted is what kubectl rollout restart writes.
const annotationRestarted = "kubectl.kubernetes.io/restartedAt"

// carry takes over from an object what an update has to leave as it is.
func carry(live, wanted client.Object) {
	wanted.SetResourceVersion(live.GetResourceVersion())
	wanted.SetUID(live.GetUID())
	wanted.SetFinalizers(live.GetFinalizers())
	merge := func(old, ours map[string]string) map[string]string {
		all := maps.Clone(old)
		if all == nil {
			return ours
		}
		maps.Copy(all, ours)
		return all
	}
	wanted.SetLabels(merge(live.GetLabels(), wanted.GetLabels()))
	wanted.SetAnnotations(merge(live.GetAnnotations(), wanted.GetAnnotations()))
	if was, ok := live.(*appsv1.Deployment); ok {
		if at, restarted := was.Spec.Template.Annotations[annotationRestarted]; restarted {
			wanted.(*appsv1.Deployment).Spec.Template.Annotations[annotationRestarted] = at
		}
	}
	if was, ok := live.(*corev1.Service); ok {
		spec := &wanted.(*corev1.Service).Spec
		spec.ClusterIP, spec.ClusterIPs = was.Spec.ClusterIP, slices.Clone(was.Spec.ClusterIPs)
		spec.IPFamilies, spec.IPFamilyPolicy = slices.Clone(was.Spec.IPFamilies), was.Spec.IPFamilyPolicy
	}
}

// remove deletes an object of a server, if it is there; one of somebody else stays.
// It reports whether it was there.
func (c *Controller) remove(ctx context.Context, s *v1alpha1.PolicyServer, o client.Object, namespace, name string) (bool, error) {
	there, err := c.get(ctx, o, namespace, name)
	if err != nil || !there || !owned(o, s) {
		return false, err
	}
	what := c.what(o, namespace, name)
	delete(c.remember(s).put, what)
	if o.GetDeletionTimestamp() != nil {
		return true, nil
	}
	c.Log.Info("something of a PolicyServer is removed", "policyServer", s.Name, "object", what)
	uid := o.GetUID()
	err = c.client.Delete(ctx, o, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) {
		return true, fmt.Errorf("%s cannot be removed: %w", what, err)
	}
	return true, nil
}
