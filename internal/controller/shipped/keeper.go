// Package shipped keeps the webhooks that Sallyport ships in the configurations that were
// installed for them, so that whoever installs it installs no list: one that is there before
// Sallyport answers, or before API servers can show who they are, stops a cluster.
package shipped

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/config/wiring"
)

// FieldOwner is in whose name the webhooks are written.
const FieldOwner = "sallyport-webhooks"

// settles is how long API servers are given to go by the canary's webhooks before one is
// sent: what they answer before may be by those that were there earlier.
const settles = 3 * time.Second

// Options are what a Keeper is made of.
type Options struct {
	Client kubernetes.Interface
	// Name is that of both configurations.
	Name string
	// Installed says how the webhooks look here, without a CA.
	Installed wiring.Installed
	// CA is what webhooks are to trust, in PEM; nothing where that is not known yet. Nil
	// where another program fills it in.
	CA func() ([]byte, error)
	// KeepsCA has webhooks trust just that. Otherwise only those get it that have no CA yet,
	// as something else keeps it afterwards.
	KeepsCA bool
	// Beside adds to a bundle what a webhook trusts already that some replica needs; nil
	// for nothing.
	Beside func(ca, trusted []byte) []byte
	// Canary has an API server ask about an object of ours, and reports whether Sallyport
	// was asked by its webhooks.
	Canary func(context.Context) bool
	Clock  clock.PassiveClock
	Log    logr.Logger
}

// Keeper keeps the webhooks that are shipped. Its methods except for Warnings and Forget are
// for one goroutine.
type Keeper struct {
	Options
	doors [2]*door
	// seen are the canary's webhooks as they were found to be what they are to be, and since
	// is when.
	seen   [2]*admissionregistrationv1.MutatingWebhook
	since  time.Time
	trusts trusts

	mu sync.Mutex
	// lacks says what is missing, by door; empty for nothing.
	lacks [2]string
}

// Standing is what has come of the webhooks that are shipped.
type Standing struct {
	// Complete is set of the configuration that judges, and of the one that changes, where
	// nothing has to be written any more, or none is installed.
	Complete [2]bool
	// Soon is set where something is to be looked at again within seconds.
	Soon bool
}

// New makes a Keeper. It is an error if the webhooks cannot be worked out.
func New(o Options) (*Keeper, error) {
	judges, changes, err := o.Installed.Webhooks()
	if err != nil {
		return nil, fmt.Errorf("the webhooks that are shipped cannot be worked out: %w", err)
	}
	return &Keeper{Options: o, trusts: trusts{keeps: o.KeepsCA, beside: o.Beside}, doors: [2]*door{
		{name: o.Name, api: judging{o.Client}, wanted: asChanging(judges.Webhooks)},
		{name: o.Name, mutates: true, api: changing{o.Client}, wanted: changes.Webhooks},
	}}, nil
}

// Keep makes the webhooks what they are to be, as far as they may be yet. A configuration
// that is not there is not made: whoever took it away has uninstalled it. It is for the
// replica that leads.
//
// What is about Sallyport's own kinds comes first. Where something else is missing, or is to
// refuse what it let in, it comes once a canary was answered by these, as they are.
func (k *Keeper) Keep(ctx context.Context) (Standing, error) {
	var standing Standing
	var ca []byte
	if k.CA != nil {
		var err error
		if ca, err = k.CA(); err != nil || len(ca) == 0 {
			k.note([2]string{"its CA is not known yet", "its CA is not known yet"})
			standing.Soon = true
			if err != nil {
				err = fmt.Errorf("what webhooks are to trust cannot be read: %w", err)
			}
			return standing, err
		}
	}
	now := k.Clock.Now()
	k.trusts.take(ca, now)
	waits := false
	for i, d := range k.doors {
		if err := d.read(ctx); err != nil {
			return standing, err
		}
		if !d.installed {
			standing.Complete[i] = true
			continue
		}
		after, complete := plan(d.live, d.wanted, &k.trusts, false)
		if _, err := d.write(ctx, after, k.Log); err != nil {
			return standing, err
		}
		standing.Complete[i] = complete
		waits = waits || !complete
	}
	if waits {
		answered, soon := k.answered(ctx, now)
		standing.Soon = soon
		for i, d := range k.doors {
			if !answered || !d.installed {
				continue
			}
			after, complete := plan(d.live, d.wanted, &k.trusts, true)
			written, err := d.write(ctx, after, k.Log)
			if err != nil {
				return standing, err
			}
			standing.Complete[i] = complete && written
		}
	}
	var lacks [2]string
	for i, d := range k.doors {
		switch {
		case !d.installed:
			lacks[i] = "it is not installed"
		case !standing.Complete[i]:
			lacks[i] = "what it asks about beyond Sallyport's own kinds waits until an API server is seen to reach Sallyport by it"
		}
	}
	k.note(lacks)
	return standing, nil
}

// answered reports whether a canary was answered by the webhooks that are there; soon is set
// where it is too early to say.
func (k *Keeper) answered(ctx context.Context, now time.Time) (answered, soon bool) {
	same := true
	var seen [2]*admissionregistrationv1.MutatingWebhook
	for i, d := range k.doors {
		seen[i] = find(d.live, canary)
		same = same && apiequality.Semantic.DeepEqual(seen[i], k.seen[i])
	}
	if !same || k.since.IsZero() {
		k.seen, k.since = seen, now
	}
	if now.Sub(k.since) < settles {
		return false, true
	}
	return k.Canary(ctx), false
}

// note notes what is missing.
func (k *Keeper) note(lacks [2]string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, d := range k.doors {
		if lacks[i] != "" && lacks[i] != k.lacks[i] {
			k.Log.Info("webhooks that are shipped are missing", "configuration", d.name, "mutating", d.mutates, "reason", lacks[i])
		}
	}
	k.lacks = lacks
}

// Forget has nothing said of the webhooks, as this replica leads no more.
func (k *Keeper) Forget() { k.note([2]string{}) }

// Warnings say which configuration lacks what, as this replica last saw them.
func (k *Keeper) Warnings() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []string
	for i, d := range k.doors {
		if k.lacks[i] != "" {
			all = append(all, fmt.Sprintf("of the webhooks that are shipped, some are missing in the %s %s: %s", d.kind(), d.name, k.lacks[i]))
		}
	}
	return all
}
