package webhooks

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
)

// glance is all that a look comes of except for what is known of the authorizer: where the
// next sees the same, nothing of thousands of policies is worked out again.
type glance struct {
	set *policy.Set
	// here says of each module whether it runs here.
	here []bool
	has  *catalogue
	// complete is set of each door where what is shipped is what it is to be.
	complete [2]bool
	// live are the configurations of the door that judges, and of the one that changes.
	live [2]configurations
}

// configurations are the webhooks that are shipped and those that follow policies; nil
// for a configuration that is not there.
type configurations struct{ shipped, follow []hook }

// reconciled is what the last look saw and came to.
type reconciled struct {
	seen  glance
	hooks []hook
	// own is the namespace of Sallyport, and soon set where the next look is to be soon.
	own  string
	soon bool
}

// glance reads what a look comes of, of what the API server has.
func (c *Controller) glance(ctx context.Context, has *catalogue) (*glance, error) {
	g := &glance{set: c.Set(), has: has}
	for _, p := range g.set.ModulePolicies() {
		g.here = append(g.here, c.Here(p))
	}
	for i, d := range []*door{{c, false}, {c, true}} {
		var err error
		if g.live[i].shipped, _, err = d.read(ctx, d.Name); err != nil {
			return nil, err
		}
		if g.live[i].follow, _, err = d.read(ctx, d.Name+RulesSuffix); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *glance) same(last *glance) bool {
	return g.set == last.set && g.complete == last.complete && slices.Equal(g.here, last.here) && reflect.DeepEqual(g.live, last.live) && reflect.DeepEqual(g.has, last.has)
}

// sayOfAccess notes of policies that hold at either door whether all that they are about
// is asked about, where only what is known of the authorizer can have changed.
func (c *Controller) sayOfAccess(set *policy.Set) {
	c.mu.Lock()
	said := maps.Clone(c.said)
	c.mu.Unlock()
	for _, a := range set.AskedAccess() {
		delete(said, a.Policy)
		if condition, known := c.accessEnforced(&a, c.last.seen.has, c.last.hooks, c.last.own); known {
			said[a.Policy] = saying{set.VersionOf(a.Policy), condition}
		}
	}
	c.put(said)
}
