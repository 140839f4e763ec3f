// Package webhooks has API servers ask about what policies are about. Beside the
// webhooks that are shipped, which never change, it keeps those of a configuration
// that is installed without any: just the resources and operations that some policy
// in force is about. And it finds out of each policy whether API servers ask about
// all that it is about.
package webhooks

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/guest"
	"github.com/sallyport-io/sallyport/internal/notice"
	"github.com/sallyport-io/sallyport/internal/policy"
)

// FieldOwner is in whose name webhooks are applied.
const FieldOwner = "sallyport-webhooks"

// rulesSuffix ends the name of the configurations that follow policies, after that of
// the ones that are shipped.
const rulesSuffix = "-rules"

// Times of the controller. What brings a change is watched; the look without one is
// for what cannot be, such as a group whose own server answers again.
const (
	lookEvery = 30 * time.Second
	lookSoon  = 2 * time.Second
	// together is how long a look waits for further changes.
	together = 50 * time.Millisecond
)

// Options are what a Controller is made of.
type Options struct {
	Client    kubernetes.Interface
	Discovery discovery.ServerResourcesInterfaceWithContext
	// Set is what is in force, and Synced whether that was read once.
	Set    func() *policy.Set
	Synced func() bool
	// Here reports whether a policy that is a module runs here and is not asked for by
	// a webhook of its own.
	Here func(p *guest.Policy) bool
	// Leads reports whether this replica is the one that writes.
	Leads func() bool
	// Name is that of the configurations that are shipped.
	Name string
	// Static has nothing written; what no webhook asks about is said.
	Static bool
	// Watch has its argument called when what the API server has, or webhooks, change;
	// nil for never.
	Watch func(ctx context.Context, notice func())
	// Changed is called where it has changed what is said of policies.
	Changed func()
	Clock   clock.WithTicker
	Log     logr.Logger
}

// Controller keeps webhooks.
type Controller struct {
	Options
	changed notice.Notice

	mu sync.Mutex
	// said is what is known of each policy.
	said map[policy.PolicyRef]metav1.Condition
	told string
}

// New makes a Controller. Nothing is sent before Run.
func New(o Options) *Controller {
	return &Controller{Options: o, changed: notice.New()}
}

// Notice says that policies, what the API server has, or webhooks have changed.
func (c *Controller) Notice() {
	c.changed.Give()
}

// Ready is always nil: no decision waits for a webhook.
func (c *Controller) Ready() error { return nil }

// Run keeps webhooks until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	if c.Watch != nil {
		c.Watch(ctx, c.Notice)
	}
	for {
		next := lookEvery
		if c.Leads() && c.Synced() {
			soon, err := c.look(ctx)
			c.tellError(ctx, err)
			if err != nil && ctx.Err() == nil {
				c.doubt(err)
			}
			if soon || err != nil {
				next = lookSoon
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(next):
			continue
		case <-c.changed:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(together):
		}
	}
}

// tellError logs what keeps webhooks from following, once.
func (c *Controller) tellError(ctx context.Context, err error) {
	why := ""
	if err != nil && ctx.Err() == nil {
		why = err.Error()
		if why != c.told {
			c.Log.Error(err, "webhooks cannot follow policies; it is tried again")
		}
	}
	c.told = why
}

// look makes the webhooks what policies need, and finds out what of each policy is
// asked about. soon is set where something may come that a policy names.
func (c *Controller) look(ctx context.Context) (soon bool, err error) {
	has, err := read(ctx, c.Discovery)
	if err != nil {
		return true, err
	}
	n := needed(c.Set(), c.Here, has)
	var hooks []hook
	follows := false
	for _, mutates := range []bool{false, true} {
		door := &door{c, mutates}
		shipped, _, err := door.read(ctx, c.Name)
		if err != nil {
			return true, err
		}
		followed, found, err := door.follow(ctx, n, has, shipped)
		if err != nil {
			return true, err
		}
		follows = follows || found && !mutates
		hooks = slices.Concat(hooks, shipped, followed)
	}
	c.say(n, has, hooks, follows)
	return len(n.nothing) > 0 || len(has.unread) > 0, nil
}

// say notes of each policy whether all that it is about is asked about.
func (c *Controller) say(n *needs, has *catalogue, hooks []hook, follows bool) {
	said := make(map[policy.PolicyRef]metav1.Condition, len(n.of))
	for ref := range n.of {
		said[ref] = n.enforced(ref, has, hooks, follows)
	}
	c.put(said)
}

// put puts what is said in the place of what was said before.
func (c *Controller) put(said map[policy.PolicyRef]metav1.Condition) {
	c.mu.Lock()
	changed := len(said) != len(c.said)
	for ref, condition := range said {
		changed = changed || c.said[ref] != condition
	}
	c.said = said
	c.mu.Unlock()
	if changed && c.Changed != nil {
		c.Changed()
	}
}

// doubt notes of policies of which nothing is said that it is not known whether they
// are asked about. What is said of others was found out before.
func (c *Controller) doubt(err error) {
	c.mu.Lock()
	said := maps.Clone(c.said)
	c.mu.Unlock()
	if said == nil {
		said = map[policy.PolicyRef]metav1.Condition{}
	}
	for _, a := range c.Set().Asked(c.Here) {
		if known, ok := said[a.Policy]; !ok || known.Status == metav1.ConditionUnknown {
			said[a.Policy] = metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionUnknown, Reason: "NotKnown", Message: "whether the API server asks about what the policy is about is not known: " + err.Error()}
		}
	}
	c.put(said)
}

// Asked says of a policy whether API servers ask about all that it is about; false
// where that is not known, or webhooks do not follow policies of its kind.
func (c *Controller) Asked(ref policy.PolicyRef) (metav1.Condition, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	condition, ok := c.said[ref]
	return condition, ok
}
