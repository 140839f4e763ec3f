package policyserver

import (
	"context"
	"errors"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// moving lists the policies that a server has webhooks for and that name another
// server now, where no webhook asks for them yet. Until one does, they are judged by
// here as they were: a policy that moves, or names a server that is not there, is
// not to be open meanwhile. soon is set where one is on its way.
func (c *Controller) moving(ctx context.Context, w *world, l *look) (moving map[string]bool, soon bool, err error) {
	asked := l.live.ids()
	for _, p := range l.policies {
		delete(asked, p.id)
	}
	moving = map[string]bool{}
	for _, p := range w.policies {
		if !asked[p.id] || p.object.GetDeletionTimestamp() != nil {
			continue
		}
		there, err := c.askedAt(ctx, w, p)
		if err != nil {
			return nil, false, err
		}
		moving[p.id] = !there
		soon = soon || !there && p.problem == ""
	}
	for _, p := range w.own {
		if !asked[p.id] || p.object.GetDeletionTimestamp() != nil || c.Own == nil {
			// Without webhooks of its own, what this Sallyport runs is asked about by those
			// that follow policies, and counts from when the policy was read.
			continue
		}
		hooks, err := c.hooks(ctx, itself)
		if err != nil {
			return nil, false, err
		}
		moving[p.id] = !hooks.ids()[p.id]
		soon = soon || moving[p.id]
	}
	return moving, soon, nil
}

// askedAt reports whether some webhook of the server that a policy names asks for it.
func (c *Controller) askedAt(ctx context.Context, w *world, p *hosted) (bool, error) {
	var server *v1alpha1.PolicyServer
	for _, s := range w.servers {
		if s.Name == p.spec.PolicyServer && s.DeletionTimestamp == nil {
			server = s
		}
	}
	if server == nil {
		return false, nil
	}
	hooks, err := c.hooks(ctx, server)
	var theirs *inTheWay
	if errors.As(err, &theirs) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return hooks.ids()[p.id], nil
}
