package policyserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// moving lists the policies that a server has webhooks for and that name another
// server now, or none, where nobody judges by them yet. Until somebody does, they are
// judged by here as they were: a policy that moves, or names a server that is not
// there, is not to be open meanwhile. soon is set where one is on its way.
func (c *Controller) moving(ctx context.Context, w *snapshot, l *reconciliation) (moving map[string]bool, soon bool, err error) {
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
		if !asked[p.id] || p.object.GetDeletionTimestamp() != nil {
			continue
		}
		here, coming, err := c.tookOver(ctx, p)
		if err != nil {
			return nil, false, err
		}
		moving[p.id] = moving[p.id] || !here
		soon = soon || coming
	}
	return moving, soon, nil
}

// staying lists the policies that a server which is to go has webhooks for, where
// nobody else judges by them yet.
func (c *Controller) staying(ctx context.Context, w *snapshot, s *v1alpha1.PolicyServer) (staying []*hosted, soon bool, err error) {
	live, err := c.hooks(ctx, s)
	var theirs *inTheWay
	if errors.As(err, &theirs) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	asked := live.ids()
	for _, policies := range [][]*hosted{w.policies, w.own} {
		for _, p := range policies {
			if !asked[p.id] || p.object.GetDeletionTimestamp() != nil {
				continue
			}
			there, err := c.askedAt(ctx, w, p)
			if err != nil {
				return nil, false, err
			}
			if there {
				continue
			}
			here, coming, err := c.tookOver(ctx, p)
			if err != nil {
				return nil, false, err
			}
			if !here {
				staying = append(staying, p)
			}
			soon = soon || coming
		}
	}
	return staying, soon, nil
}

// mostNamed is how many policies a condition names.
const mostNamed = 5

// stillAsked says for which policies a server stays.
func stillAsked(policies []*hosted) string {
	var names []string
	for i, p := range policies {
		if i == mostNamed {
			names = append(names, fmt.Sprintf("and %d more", len(policies)-mostNamed))
			break
		}
		names = append(names, p.ref.String())
	}
	return "it stays until somebody else judges by what it is asked for: " + strings.Join(names, ", ") +
		". That is another PolicyServer, or Sallyport itself, once API servers ask it about all that these policies are about (see their condition Enforced); or delete them"
}

// tookOver reports whether this Sallyport itself judges by a policy, and has for as
// long as other replicas and API servers can need to do as this one does. coming is
// set where it judges by it and only that time is left.
func (c *Controller) tookOver(ctx context.Context, p *hosted) (here, coming bool, err error) {
	took := c.Took == nil || c.Took(p.ref, p.spec.PolicyServer)
	if took && c.Own != nil {
		hooks, err := c.hooks(ctx, itself)
		if err != nil {
			return false, false, err
		}
		took = hooks.ids()[p.id]
	}
	if !took {
		delete(c.took, p.ref)
		return false, false, nil
	}
	since, counted := c.took[p.ref]
	if !counted {
		since = c.Clock.Now()
		c.took[p.ref] = since
	}
	if c.Took == nil {
		return true, false, nil
	}
	here = c.Clock.Since(since) >= drain
	return here, !here, nil
}

// askedAt reports whether some webhook of the server that a policy names asks for it.
func (c *Controller) askedAt(ctx context.Context, w *snapshot, p *hosted) (bool, error) {
	var server *v1alpha1.PolicyServer
	for _, s := range w.servers {
		if s.Name == p.spec.PolicyServer && s.DeletionTimestamp == nil {
			server = s
		}
	}
	if server == nil {
		return false, nil
	}
	return c.asks(ctx, server, p)
}

// asks reports whether some webhook of a server asks for a policy.
func (c *Controller) asks(ctx context.Context, server *v1alpha1.PolicyServer, p *hosted) (bool, error) {
	hooks, err := c.hooks(ctx, server)
	var theirs *inTheWay
	if errors.As(err, &theirs) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return hooks.ask(p), nil
}
