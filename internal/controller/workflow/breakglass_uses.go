package workflow

import (
	"context"
	"errors"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
)

// mostEntered bounds the pods that the status of a session holds, as its schema does.
const mostEntered = 256

// flushSessions writes, from time to time, how this replica saw sessions used.
func (c *Controller) flushSessions(ctx context.Context) {
	if c.Breakglass.Uses == nil {
		return
	}
	c.keepFlushing(ctx, usesEvery, c.FlushSessions)
}

// FlushSessions writes the uses of sessions that were counted since the last time.
// What cannot be written is kept for the next.
func (c *Controller) FlushSessions(ctx context.Context) {
	taken := c.Breakglass.Uses.Take()
	if len(taken) == 0 {
		return
	}
	list, err := c.sessionsOfUses(ctx, taken)
	if err != nil {
		for session, uses := range taken {
			c.Breakglass.Uses.Restore(session, uses)
		}
		c.Log.Error(err, "the uses of sessions could not be written; they are kept")
		return
	}
	open := map[string]bool{}
	for i := range list {
		s := &list[i]
		open[string(s.UID)] = !breakglass.Final(s.Status.State)
		uses, used := taken[string(s.UID)]
		if !used {
			continue
		}
		if err := c.addSessionUses(ctx, s, uses); err != nil {
			c.Breakglass.Uses.Restore(string(s.UID), uses)
			if ctx.Err() == nil {
				c.Log.Error(err, "the uses of a session could not be written; they are kept", "session", s.Name)
			}
		}
	}
	maps.DeleteFunc(open, func(_ string, is bool) bool { return !is })
	c.Breakglass.Uses.Forget(open)
}

// sessionsOfUses lists the sessions, among them those that were used, if they are
// still there: what is watched here may be behind what decides.
func (c *Controller) sessionsOfUses(ctx context.Context, taken map[string]breakglass.Uses) ([]v1alpha1.BreakglassSession, error) {
	var list v1alpha1.BreakglassSessionList
	if err := c.client.List(ctx, &list); err != nil {
		return nil, err
	}
	found := 0
	for i := range list.Items {
		if _, used := taken[string(list.Items[i].UID)]; used {
			found++
		}
	}
	if found == len(taken) {
		return list.Items, nil
	}
	list = v1alpha1.BreakglassSessionList{}
	if err := c.direct.List(ctx, &list); err != nil {
		return nil, err
	}
	return list.Items, nil
}

// addSessionUses adds to what the status of a session says of its uses. Others
// write that at the same time, so the write is bound to what was read.
func (c *Controller) addSessionUses(ctx context.Context, s *v1alpha1.BreakglassSession, uses breakglass.Uses) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		read := &v1alpha1.BreakglassSession{}
		if err := c.direct.Get(ctx, client.ObjectKeyFromObject(s), read); err != nil {
			return client.IgnoreNotFound(err)
		}
		if read.UID != s.UID {
			return nil
		}
		changed := read.DeepCopy()
		if mergeUses(&changed.Status, uses) > 0 {
			c.Log.Error(errTooMany, "a pod that was entered is not in the status of its session", "session", s.Name)
		}
		if sameSessionStatus(read, changed) {
			return nil
		}
		return client.IgnoreNotFound(c.counts.Status().Patch(ctx, changed, client.MergeFromWithOptions(read, client.MergeFromWithOptimisticLock{})))
	})
}

var errTooMany = errors.New("more pods were entered than a status can hold; the audit log has them all")

// mergeUses adds uses to a status, and returns how many pods there was no room for.
func mergeUses(status *v1alpha1.BreakglassSessionStatus, uses breakglass.Uses) (left int) {
	second := func(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }
	if at := second(uses.Last); !uses.Last.IsZero() && (status.LastUsedAt == nil || status.LastUsedAt.Before(&at)) {
		status.LastUsedAt = &at
	}
	for _, p := range uses.Pods {
		first, last := second(p.First), second(p.Last)
		known := false
		for i := range status.Entered {
			e := &status.Entered[i]
			// What was seen to already stands for itself: the pod was entered once more.
			if e.Namespace != p.Namespace || e.Name != p.Name || e.UID != p.UID || e.AfterUseAt != nil {
				continue
			}
			known = true
			if first.Before(&e.First) {
				e.First = first
			}
			if e.Last.Before(&last) {
				e.Last = last
			}
			break
		}
		switch {
		case known:
		case len(status.Entered) >= mostEntered:
			left++
		default:
			status.Entered = append(status.Entered, v1alpha1.EnteredPod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, First: first, Last: last})
		}
	}
	return left
}
