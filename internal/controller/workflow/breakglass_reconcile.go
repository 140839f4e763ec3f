package workflow

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/observe/notify"
)

// BreakglassOptions are what the Controller does about breakglass sessions.
type BreakglassOptions struct {
	// Uses has the uses that this replica counted; nil where it counts none.
	Uses *breakglass.Ledger
	// Notify tells others what happened to a session; nil where nobody is told.
	Notify func(notify.Event)
	// ExpiryNotice is how long before its end a session is told to end soon.
	ExpiryNotice time.Duration
	// Record keeps a transition; nil where nobody does. It is called for each once.
	Record func(s *v1alpha1.BreakglassSession, t v1alpha1.SessionTransition)
	// Cluster is the name of the cluster whose pods this server can evict and mark.
	Cluster string
	// Doors says which doors a cluster is known to be wired to; nil: that is not said of
	// sessions.
	Doors func(cluster string) breakglass.Doors
}

// Times of sessions.
const (
	// usesEvery is how often uses of sessions are written, so that replicas learn
	// from one another that a session is not idle.
	usesEvery = 10 * time.Second
	// idleMargin is how much later than due a session is written down as idle: what
	// another replica saw last may still be on its way. Access ends when it is due.
	idleMargin = 2 * usesEvery
)

// reconcileSessions looks at each session once: writes what time has brought, tells
// others, sees to the pods that were entered, and removes what was kept long enough.
func (c *Controller) reconcileSessions(ctx context.Context) error {
	var sessions v1alpha1.BreakglassSessionList
	var escalations v1alpha1.BreakglassEscalationList
	for _, list := range []client.ObjectList{&sessions, &escalations} {
		if err := c.client.List(ctx, list); err != nil {
			return fmt.Errorf("breakglass sessions cannot be listed: %w", err)
		}
	}
	known := map[string]*breakglass.Escalation{}
	var errs []error
	for i := range escalations.Items {
		e := &escalations.Items[i]
		compiled, wrong := breakglass.CompileEscalation(e)
		if len(wrong) > 0 {
			// What it allows is not known, so its sessions stay as they are; they
			// give nothing meanwhile.
			errs = append(errs, fmt.Errorf("BreakglassEscalation %s cannot work: %w", e.Name, wrong.ToAggregate()))
			known[e.Name] = nil
			continue
		}
		known[e.Name] = compiled
	}
	there := map[types.UID]bool{}
	for i := range sessions.Items {
		s := &sessions.Items[i]
		there[s.UID] = true
		e, is := known[s.Spec.EscalationRef]
		if is && e == nil && !breakglass.Final(s.Status.State) {
			continue
		}
		if approvedState(s.Status.State) && (!is || !approvedUnder(s, e.UID)) {
			// What is watched may be behind, and a session that is ended stays so.
			stored := &v1alpha1.BreakglassEscalation{}
			err := c.direct.Get(ctx, client.ObjectKey{Name: s.Spec.EscalationRef}, stored)
			if !apierrors.IsNotFound(err) && (err != nil || approvedUnder(s, string(stored.UID))) {
				continue
			}
			// One that was made again is another one.
			e = nil
		}
		errs = append(errs, c.reconcileSession(ctx, s, e))
	}
	c.afterUse.forget(there)
	return errors.Join(errs...)
}

func approvedState(s v1alpha1.SessionState) bool {
	return s == v1alpha1.SessionApproved || s == v1alpha1.SessionWaiting
}

// approvedUnder reports whether a session was approved under the escalation of a UID.
func approvedUnder(s *v1alpha1.BreakglassSession, uid string) bool {
	compiled, errs := breakglass.CompileSession(s)
	return len(errs) > 0 || compiled.Under(uid)
}

func (c *Controller) reconcileSession(ctx context.Context, s *v1alpha1.BreakglassSession, e *breakglass.Escalation) error {
	now := c.Clock.Now()
	changed, err := ticked(s, e, now)
	if err != nil {
		return err
	}
	if compiled, errs := breakglass.CompileSession(changed); len(errs) == 0 && c.Breakglass.Doors != nil {
		breakglass.SetConditions(&changed.Status, compiled, e, c.Breakglass.Doors(compiled.Cluster), now)
	}
	events := c.dueEvents(changed, e, now)
	transitions := c.dueRecords(changed)
	written, err := c.writeSession(ctx, s, changed)
	if !written {
		return err
	}
	// What is told is noted down first, so that no other replica tells it again. One
	// that ends in this very moment tells it never; the history still holds it.
	for _, t := range transitions {
		c.Breakglass.Record(changed, t)
	}
	for _, event := range events {
		c.Breakglass.Notify(event)
	}
	if err := c.reconcilePods(ctx, changed, now); err != nil {
		return err
	}
	if until := changed.Status.RetainedUntil; breakglass.Final(changed.Status.State) && until != nil && !now.Before(until.Time) {
		return c.remove(ctx, changed)
	}
	return nil
}

// ticked is a session with what time has brought. The session itself stays as it is.
func ticked(s *v1alpha1.BreakglassSession, e *breakglass.Escalation, now time.Time) (*v1alpha1.BreakglassSession, error) {
	changed := s.DeepCopy()
	// From nothing to asked for, waiting, approved and over are fewer steps.
	for range 4 {
		compiled, errs := breakglass.CompileSession(changed)
		if len(errs) > 0 {
			return nil, fmt.Errorf("BreakglassSession %s cannot be read: %w", s.Name, errs.ToAggregate())
		}
		status, moved := breakglass.Tick(compiled, e, time.Time{}, now)
		if !moved {
			return changed, nil
		}
		if status.State == v1alpha1.SessionIdleExpired {
			if late, _ := breakglass.Tick(compiled, e, time.Time{}, now.Add(-idleMargin)); late.State != v1alpha1.SessionIdleExpired {
				return changed, nil
			}
		}
		changed = changed.DeepCopy()
		changed.Status = *status
	}
	return changed, nil
}

// writeSession writes the status of a session, if it changed, and reports whether
// what stands there is what was meant. If somebody else has written meanwhile, the
// next sweep looks at that.
func (c *Controller) writeSession(ctx context.Context, old, changed *v1alpha1.BreakglassSession) (bool, error) {
	if sameSessionStatus(old, changed) {
		return true, nil
	}
	err := c.client.Status().Patch(ctx, changed, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("the status of BreakglassSession %s cannot be written: %w", old.Name, err)
	}
	return true, nil
}
