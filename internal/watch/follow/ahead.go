package follow

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// ahead is an error where the API server has not come as far as what was heard of it, as
// after its storage was put back from a copy. It takes a watch from a version that is
// still to come, and says nothing before that: what is written meanwhile would never be
// heard of.
func (w *stream) ahead() error {
	list, err := w.source.within(w.ctx, w.source.answerIn(), metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	now, err := metaOf(list)
	if err != nil {
		return err
	}
	// Versions that cannot be compared say nothing.
	if order, err := resourceversion.CompareResourceVersion(now.GetResourceVersion(), w.options.ResourceVersion); err == nil && order < 0 {
		return apierrors.NewResourceExpired("the API server has not come as far as what was heard of it; its storage was put back")
	}
	return nil
}
