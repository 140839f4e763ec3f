package webhooks

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
)

// foreseeTimeout bounds what is read while somebody who writes a policy waits.
const foreseeTimeout = 2 * time.Second

// Foresee says of the policies of a set that somebody writes what the condition Enforced
// would say of them that keeps them from being enforced, a sentence each. Nothing is
// written. What cannot be found out in time is not said.
func (c *Controller) Foresee(ctx context.Context, set *policy.Set) []string {
	ctx, cancel := context.WithTimeout(ctx, foreseeTimeout)
	defer cancel()
	if len(c.needed(set, &catalogue{}).of) == 0 {
		return nil
	}
	has, err := c.catalogue(ctx)
	if err != nil {
		return nil
	}
	n := c.needed(set, has)
	var hooks []hook
	follows := false
	doors, shipped := [...]*door{{c, false}, {c, true}}, [2][]hook{}
	for i, d := range doors {
		if shipped[i], err = d.shipped(ctx); err != nil {
			return nil
		}
		stray(shipped[i], canaryLead(shipped[i], d.mutates))
	}
	if n.left, err = leavesOut(shipped[0], shipped[1], c.Namespace); err != nil {
		return nil
	}
	for i, d := range doors {
		live, found, err := d.read(ctx, c.Name+RulesSuffix)
		if err != nil {
			return nil
		}
		if found && !c.Static && len(shipped[i]) > 0 {
			live = d.wanted(n, has, shipped[i], live)
		} else {
			n.left.knows(live)
		}
		follows = follows || found && !d.mutates
		hooks = slices.Concat(hooks, shipped[i], live)
	}
	for _, a := range n.access {
		for _, d := range a.Doors {
			if c.Authorizer != nil {
				c.Authorizer.Find(ctx, d)
			}
		}
	}
	var said []string
	for ref := range n.of {
		if condition, known := c.enforced(n, ref, has, hooks, follows); known && condition.Status != metav1.ConditionTrue {
			said = append(said, "it will not be enforced ("+condition.Reason+"): "+condition.Message)
		}
	}
	slices.Sort(said)
	return said
}
