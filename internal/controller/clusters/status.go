package clusters

import (
	"context"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// contactStep is how exact the time of the last contact is told: each change of it
// is a write.
const contactStep = time.Minute

// report writes the status of each ClusterConfig that has another than it had, if
// this replica is the one that writes.
func (i *Informer) report(ctx context.Context) {
	if !i.leads() {
		return
	}
	for k := range i.status {
		one := &i.status[k]
		health := Health{Reason: one.problem.Reason, Message: one.problem.Message}
		if one.problem == (Problem{}) {
			c := i.hub.Find(one.id)
			if c == nil {
				continue
			}
			health = c.Health()
		}
		if err := i.write(ctx, one, &health); err != nil && ctx.Err() == nil {
			i.log.Error(err, "the status of a ClusterConfig could not be written; it is tried again", "name", one.object.GetName())
		}
	}
}

// write writes one status, if it differs.
func (i *Informer) write(ctx context.Context, one *told, health *Health) error {
	before, err := statusOf(one.object)
	if err != nil {
		return err
	}
	after := before.DeepCopy()
	setStatus(after, one.object.GetGeneration(), health)
	if apiequality.Semantic.DeepEqual(before, after) {
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err != nil {
		return err
	}
	changed := one.object.DeepCopy()
	changed.Object["status"] = content
	switch err := i.client.Status().Patch(ctx, changed, client.MergeFrom(one.object)); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	one.object = changed
	return nil
}

func statusOf(object *unstructured.Unstructured) (*v1alpha1.ClusterConfigStatus, error) {
	status := &v1alpha1.ClusterConfigStatus{}
	content, found, err := unstructured.NestedMap(object.Object, "status")
	if err != nil || !found {
		return status, err
	}
	return status, runtime.DefaultUnstructuredConverter.FromUnstructured(content, status)
}

// setStatus puts the health of a cluster into a status.
func setStatus(s *v1alpha1.ClusterConfigStatus, generation int64, health *Health) {
	s.ObservedGeneration = generation
	if at := health.LastContact.Truncate(contactStep); !health.LastContact.IsZero() && (s.LastContact == nil || at.After(s.LastContact.Time)) {
		s.LastContact = &metav1.Time{Time: at}
	}
	condition := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: health.Reason, Message: health.Message, ObservedGeneration: generation,
	}
	if health.Ready() {
		condition.Status = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&s.Conditions, condition)
}
