package clusters

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/cluster/clusterconfig"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// Options are what a Hub is made of.
type Options struct {
	// Own is the name of the server's own cluster, which no other can have.
	Own string
	// UserAgent names the server to the clusters.
	UserAgent string
	// CachePods has pods read from a watch.
	CachePods bool
	// Staleness is how long what is watched in a cluster counts as known after it was
	// last heard of.
	Staleness time.Duration
	Clock     clock.WithTickerAndDelayedExecution
	Log       logr.Logger
}

func (o *Options) clusterOptions() []cluster.Option {
	return []cluster.Option{cluster.WithUserAgent(o.UserAgent)}
}

// Definition is a cluster as it is configured.
type Definition struct {
	ID, Tenant, Environment string
	// Doors are those that its API server is said to be wired to.
	Doors breakglass.Doors
	// Callers are the common names that may ask for it; nil: every caller that is
	// bound to no other.
	Callers *[]string
	// Unusable is why every request for it is refused; empty where they are judged.
	Unusable string
	// Kubeconfig that it is read by. Empty where Problem says why there is none.
	Kubeconfig []byte
	Problem    Problem
}

// Problem is why a cluster cannot be read, with its reason in the status.
type Problem struct{ Reason, Message string }

// Cluster is a cluster that is guarded.
type Cluster struct {
	Definition
	// Reader and Authorizer read it. Where it is broken, all that they are asked is
	// an error.
	Reader     request.Cluster
	Authorizer request.Authorizer
	// Known has what must be known of the cluster before a request of it is judged.
	Known *known.Book

	link    *link
	refused *refusals
	// since is from when on the cluster could not be read, where it has no link.
	since       time.Time
	fingerprint [sha256.Size]byte
}

// Health is how the cluster is.
func (c *Cluster) Health() Health {
	if c.link == nil {
		return Health{Reason: c.Problem.Reason, Message: c.Problem.Message}
	}
	health := *c.link.monitor.health.Load()
	if missing := c.Known.Missing(c.link.options.Clock.Now()); missing != nil && health.Ready() {
		health.Reason, health.Message = ReasonNotKnown, missing.Facts[0].Detail()
	}
	return health
}

// Refused counts the reads of the cluster that were not made: because too many
// were under way, and because it did not answer its last health check.
func (c *Cluster) Refused() (busy, unreachable uint64) {
	return c.refused.busy.Load(), c.refused.unreachable.Load()
}

// Hub has all further clusters. The zero value has none and takes none.
type Hub struct {
	options Options
	current atomic.Pointer[table]

	mu      sync.Mutex
	origins map[string][]Definition
	closed  bool
	// retiring ends links that others have taken the place of.
	retiring sync.WaitGroup
	ending   chan struct{}
	changed  atomic.Pointer[func()]
}

// table is read by requests without a lock.
type table struct {
	byID    map[string]*Cluster
	boundTo map[string][]string
}

// NewHub makes a Hub with no clusters. Close ends what is put into it.
func NewHub(o Options) *Hub {
	h := &Hub{options: o, origins: map[string][]Definition{}, ending: make(chan struct{})}
	h.current.Store(&table{})
	return h
}

// OnChange has f, in place of what was called before, called after the health
// of a cluster changed. It must return soon.
func (h *Hub) OnChange(f func()) { h.changed.Store(&f) }

func (h *Hub) notify() {
	if f := h.changed.Load(); f != nil {
		(*f)()
	}
}

// Find finds a cluster by its name, exactly; nil if there is none.
func (h *Hub) Find(id string) *Cluster { return h.current.Load().byID[id] }

// BoundTo lists the clusters that a caller with a common name is bound to; bound
// is false for one that no cluster names. One that is named only by clusters
// which do not count is bound, to nothing.
func (h *Hub) BoundTo(commonName string) (clusters []string, bound bool) {
	clusters, bound = h.current.Load().boundTo[commonName]
	return clusters, bound
}

// All lists the clusters by name.
func (h *Hub) All() []*Cluster {
	byID := h.current.Load().byID
	return slices.SortedFunc(maps.Values(byID), func(a, b *Cluster) int { return cmp.Compare(a.ID, b.ID) })
}

// Close ends every connection, and takes no more clusters. Those that there are
// can still be found, and reads of them fail.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	close(h.ending)
	var closing sync.WaitGroup
	for _, c := range h.current.Load().byID {
		if c.link != nil {
			closing.Go(c.link.close)
		}
	}
	closing.Wait()
	h.retiring.Wait()
}

// Replace puts the clusters that an origin defines in place of those that it
// defined before. A cluster whose kubeconfig is the same keeps its connection. Of
// two with one name, upper and lower case alike, the one of the first origin, by
// name, and of its first definitions counts; those that do not are returned.
func (h *Hub) Replace(origin string, definitions []Definition) (taken []Definition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	h.origins[origin] = definitions
	before := h.current.Load()
	after := &table{byID: map[string]*Cluster{}, boundTo: map[string][]string{}}
	ids := map[string]bool{}
	if h.options.Own != "" {
		ids[clusterconfig.Fold(h.options.Own)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(h.origins)) {
		for _, d := range h.origins[name] {
			if id := clusterconfig.Fold(d.ID); ids[id] {
				after.bind(&d, "")
				if name == origin {
					taken = append(taken, d)
				}
				continue
			}
			ids[clusterconfig.Fold(d.ID)] = true
			after.add(h.connect(d, before.byID[d.ID]))
		}
	}
	h.current.Store(after)
	for id, old := range before.byID {
		if c := after.byID[id]; old.link != nil && (c == nil || c.link != old.link) {
			h.retire(old.link, c != nil && c.link != nil)
		}
	}
	return taken
}

func (t *table) add(c *Cluster) {
	t.byID[c.ID] = c
	t.bind(&c.Definition, c.ID)
}

// bind binds the callers of a cluster to it; to nothing where it has no id.
func (t *table) bind(d *Definition, id string) {
	if d.Callers == nil {
		return
	}
	for _, name := range *d.Callers {
		clusters := t.boundTo[name]
		if id != "" {
			clusters = append(clusters, id)
		}
		t.boundTo[name] = clusters
	}
}

// connect makes a cluster of its definition, with the connection that it had if
// that was made by the same kubeconfig.
func (h *Hub) connect(d Definition, before *Cluster) *Cluster {
	c := &Cluster{Definition: d, refused: &refusals{}}
	if before != nil {
		c.refused = before.refused
	}
	if d.Problem == (Problem{}) {
		c.fingerprint = sha256.Sum256(d.Kubeconfig)
		switch {
		case before != nil && before.link != nil && before.fingerprint == c.fingerprint:
			c.link = before.link
		default:
			h.dial(c)
		}
	}
	c.Kubeconfig = nil
	if c.link == nil {
		fails := broken{id: c.ID, why: c.Problem.Message}
		c.Reader, c.Authorizer = fails, fails
		c.Known = h.unread(c, before)
		return c
	}
	c.Reader, c.Authorizer, c.Known = c.link, c.link, c.link.book
	return c
}

// unread is the book of a cluster that cannot be read: nothing is known of it.
func (h *Hub) unread(c, before *Cluster) *known.Book {
	since := h.options.Clock.Now()
	if before != nil && before.link == nil {
		since = before.since
	}
	c.since = since
	book := known.NewBook(since)
	book.NewFact("namespaces of cluster "+c.ID, 0, since).Failed(c.Problem.Message)
	return book
}

// ReasonInvalidKubeconfig is that of a kubeconfig that cannot be used.
const ReasonInvalidKubeconfig = "InvalidKubeconfig"

func (h *Hub) dial(c *Cluster) {
	config, err := ParseKubeconfig(c.Kubeconfig)
	if err == nil {
		c.link, err = newLink(c.ID, config, &h.options, c.refused, h.notify)
	}
	if err != nil {
		c.Problem = Problem{ReasonInvalidKubeconfig, "the kubeconfig cannot be used: " + err.Error()}
		h.options.Log.Info("the kubeconfig of a cluster cannot be used; what needs to read the cluster follows the fail modes of policies", "cluster", c.ID, "problem", err.Error())
		return
	}
	h.options.Log.Info("a cluster is guarded", "cluster", c.ID, "tenant", c.Tenant, "environment", c.Environment)
}

// retire ends a link: at once where nothing took its place, and otherwise once
// the decisions that began with it have ended.
func (h *Hub) retire(l *link, replaced bool) {
	h.retiring.Go(func() {
		if replaced {
			h.await(retireAfter)
		}
		l.close()
	})
}

func (h *Hub) await(pause time.Duration) {
	timer := h.options.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-h.ending:
	}
}
