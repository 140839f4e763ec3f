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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/controller/shipped"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

// FieldOwner is in whose name webhooks are applied.
const FieldOwner = "sallyport-webhooks"

// RulesSuffix ends the name of the configurations that follow policies, after that of
// the ones that are shipped.
const RulesSuffix = "-rules"

// Configurations are the names of the configurations of an installation of this name: the
// shipped ones, and those that follow policies and lead where the shipped ones do.
func Configurations(name string) (shipped, follow string) { return name, name + RulesSuffix }

// Times of the controller. What brings a change is watched; the look without one is
// for what cannot be, such as a group whose own server answers again.
const (
	lookEvery = time.Minute
	lookSoon  = 2 * time.Second
	// together is how long a look waits for further changes.
	together = 50 * time.Millisecond
)

// Options are what a Controller is made of.
type Options struct {
	Client    kubernetes.Interface
	Discovery discovery.ServerResourcesInterfaceWithContext
	// Aggregated says which versions of groups API servers of their own serve, by the
	// Service of each; nil for none.
	Aggregated func(context.Context) (map[schema.GroupVersion]string, error)
	// Set is what is in force, and Synced whether that was read once.
	Set    func() *policy.Set
	Synced func() bool
	// Here reports whether a policy that is a module runs here and is not asked for by
	// a webhook of its own.
	Here func(p *runner.Policy) bool
	// Leads reports whether this replica is the one that writes.
	Leads func() bool
	// Name is that of the configurations that are shipped.
	Name string
	// Namespace is the one that Sallyport runs in; empty outside of a cluster, where the
	// configurations that are shipped say which one is left out.
	Namespace string
	// Observe has the API server let in what Sallyport cannot be asked about, whatever
	// policies say.
	Observe bool
	// LetIn does so too, and is said of the policies that want to have it refused.
	LetIn bool
	// Shipped keeps the webhooks that are shipped. Until those of a configuration are what
	// they are to be, none beside it follow policies. Nil where nobody keeps them.
	Shipped *shipped.Keeper
	// Static has nothing written; what no webhook asks about is said.
	Static bool
	// Authorizer says what the side door is asked about; nil where that is not known.
	Authorizer Authorizer
	// Watch has its argument called when what the API server has, or webhooks, change;
	// nil for never.
	Watch func(ctx context.Context, notice func())
	// Changed is called with the policies of which it has changed what is said. It must
	// return soon.
	Changed func([]stored.Ref)
	Clock   clock.WithTicker
	Log     logr.Logger
}

// Controller keeps webhooks.
type Controller struct {
	Options
	changed notice.Notice
	// last is used by Run only.
	last reconciled

	mu sync.Mutex
	// said is what is known of each policy.
	said map[stored.Ref]saying
	told string
	// unguarded are the namespaces that every webhook leaves out by their names.
	unguarded []string
}

// saying is what is known of a version of a policy.
type saying struct {
	version   policy.Version
	condition metav1.Condition
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
		if c.Shipped != nil && !c.Leads() {
			c.Shipped.Forget()
		}
		if c.Leads() && c.Synced() {
			soon, err := c.reconcile(ctx)
			c.reportError(ctx, err)
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

// reportError logs what keeps webhooks from following, once.
func (c *Controller) reportError(ctx context.Context, err error) {
	why := ""
	if err != nil && ctx.Err() == nil {
		why = err.Error()
		if why != c.told {
			c.Log.Error(err, "webhooks cannot follow policies; it is tried again")
		}
	}
	c.told = why
}

// reconcile makes the webhooks what policies need, and finds out what of each policy is
// asked about. soon is set where something may come that a policy names.
func (c *Controller) reconcile(ctx context.Context) (soon bool, err error) {
	has, err := c.catalogue(ctx)
	if err != nil {
		return true, err
	}
	standing := shipped.Standing{Complete: [2]bool{true, true}}
	if c.Shipped != nil {
		if standing, err = c.Shipped.Keep(ctx); err != nil {
			return true, err
		}
	}
	seen, err := c.glance(ctx, has)
	if err != nil {
		return true, err
	}
	seen.complete = standing.Complete
	if seen.same(&c.last.seen) {
		c.sayOfAccess(seen.set)
		return c.last.soon || standing.Soon, nil
	}
	set := seen.set
	n := c.needed(set, has)
	var hooks []hook
	follows := false
	judges, changes := &door{c, false}, &door{c, true}
	judging, err := marked(slices.Clone(seen.live[0].shipped))
	if err != nil {
		return true, err
	}
	changing, err := marked(slices.Clone(seen.live[1].shipped))
	if err != nil {
		return true, err
	}
	if n.left, err = leavesOut(judging, changing, c.Namespace); err != nil {
		return true, err
	}
	c.mu.Lock()
	c.unguarded = n.left.namespaces[false]
	c.mu.Unlock()
	for i, door := range []*door{judges, changes} {
		mutates, own := door.mutates, judging
		if mutates {
			own = changing
		}
		lead := canaryLead(own, mutates)
		stray(own, lead)
		followed, found, err := door.follow(ctx, n, has, own, slices.Clone(seen.live[i].follow), standing.Complete[i])
		if err != nil {
			return true, err
		}
		stray(followed, lead)
		follows = follows || found && !mutates
		hooks = slices.Concat(hooks, own, followed)
	}
	c.say(set, n, has, hooks, follows)
	c.last = reconciled{seen: *seen, hooks: hooks, own: n.left.own, soon: len(n.nothing) > 0 || len(has.unread) > 0}
	return c.last.soon || standing.Soon, nil
}

// catalogue reads what the API server has, and by which API server each is served.
func (c *Controller) catalogue(ctx context.Context) (*catalogue, error) {
	has, err := read(ctx, c.Discovery)
	if err != nil || c.Aggregated == nil {
		return has, err
	}
	by, err := c.Aggregated(ctx)
	if err != nil {
		return nil, err
	}
	has.servedElsewhere(by)
	return has, nil
}

// say notes of each policy whether all that it is about is asked about.
func (c *Controller) say(set *policy.Set, n *needs, has *catalogue, hooks []hook, follows bool) {
	said := make(map[stored.Ref]saying, len(n.of))
	for ref := range n.of {
		if condition, known := c.enforced(n, ref, has, hooks, follows); known {
			said[ref] = saying{set.VersionOf(ref), condition}
		}
	}
	c.put(said)
}

// put puts what is said in place of what was said before.
func (c *Controller) put(said map[stored.Ref]saying) {
	var changed []stored.Ref
	c.mu.Lock()
	for ref, now := range said {
		if c.said[ref] != now {
			changed = append(changed, ref)
		}
	}
	for ref := range c.said {
		if _, ok := said[ref]; !ok {
			changed = append(changed, ref)
		}
	}
	c.said = said
	c.mu.Unlock()
	if len(changed) > 0 && c.Changed != nil {
		c.Changed(changed)
	}
}

// doubt notes of policies of which nothing is said that it is not known whether they
// are asked about. What is said of others was found out before.
func (c *Controller) doubt(err error) {
	c.last = reconciled{}
	c.mu.Lock()
	said := maps.Clone(c.said)
	c.mu.Unlock()
	if said == nil {
		said = map[stored.Ref]saying{}
	}
	set := c.Set()
	for ref := range c.needed(set, &catalogue{}).of {
		version := set.VersionOf(ref)
		if known, ok := said[ref]; !ok || known.version != version || known.condition.Status == metav1.ConditionUnknown {
			said[ref] = saying{version: version, condition: unknown(err)}
		}
	}
	c.put(said)
}

// Unguarded are the namespaces about which no webhook asks; none where that is not known.
func (c *Controller) Unguarded() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unguarded
}

// Asked says of a version of a policy whether API servers ask about all that it is
// about; false where that is not known, or webhooks do not follow policies of its kind.
func (c *Controller) Asked(ref stored.Ref, version policy.Version) (metav1.Condition, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	said, ok := c.said[ref]
	return said.condition, ok && said.version == version
}
