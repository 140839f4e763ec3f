package webhooks

import (
	"maps"
	"reflect"
	"slices"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
)

// glance is what the last look has seen, and what came of it. Of thousands of policies
// nothing is worked out again where the next look sees the same.
type glance struct {
	set  *policy.Set
	here []bool
	has  *catalogue
	// needs are what came of these, and said came of them with the rest.
	needs   *needs
	left    *leftOut
	hooks   []hook
	follows bool
}

// needs is what a set has to be asked about, of what the API server has, and the latter
// as it was seen first: those of the last look, where nothing of it has changed.
func (c *Controller) needs(set *policy.Set, has *catalogue) (*catalogue, *needs) {
	var here []bool
	for _, p := range set.ModulePolicies() {
		here = append(here, c.Here(p))
	}
	if l := &c.last; l.needs == nil || l.set != set || !slices.Equal(l.here, here) || !reflect.DeepEqual(l.has, has) {
		c.last = glance{set: set, here: here, has: has, needs: needed(set, c.Here, has)}
	}
	return c.last.has, c.last.needs
}

// knownFrom has what the last look found out of policies, where this one would come to
// the same. What is known of the authorizer changes by itself.
func (c *Controller) knownFrom(n *needs, hooks []hook, follows bool) map[policy.PolicyRef]saying {
	if c.last.left == nil || c.last.needs != n || c.last.follows != follows || !reflect.DeepEqual(c.last.left, n.left) || !reflect.DeepEqual(c.last.hooks, hooks) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := maps.Clone(c.said)
	for ref := range n.access {
		delete(known, ref)
	}
	return known
}
