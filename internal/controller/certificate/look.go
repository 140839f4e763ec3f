package certificate

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

// mostAhead is how far the clock of a replica may be from that of the API server. One that
// is further off replaces nothing: by it, what is good could be over.
const mostAhead = 5 * time.Minute

// look is one look at all that there is. Webhooks are read before the Secret, and written
// only as they were read: whoever was held up in between writes nothing that is past.
type look struct {
	*Keeper
	now time.Time
	// own is what this replica shows; nil for nothing that is good, and that webhooks were
	// seen to trust: what is shown because there is nothing else vouches for nothing.
	own *served
	// hooks are the webhooks, and unread says why they are not known.
	hooks  hooks
	unread error
	secret *corev1.Secret
	there  bool

	// warnings and waits are sentences: what is wrong, and what is waited for. soon is set
	// where the next look is not to be long in coming.
	warnings, waits []string
	soon            bool
}

// keep reads what there is, replaces what is due, and takes over what is to be shown.
func (l *look) keep(ctx context.Context) error {
	var fixed, err error
	l.hooks, l.unread = l.read(ctx)
	if l.secret, l.there, fixed, err = l.readSecret(ctx); err != nil {
		return err
	}
	ahead := l.Ahead()
	l.now = l.Clock.Now().Add(-ahead)
	if own := l.shownAndBelieved(); own.usable(l.now) {
		l.own = own
	}
	c := &content{lost: true}
	if l.there {
		r := reader{secret: l.secret, names: l.ServerNames, now: l.now, known: l.known(), all: l.unread != nil || l.own == nil && !l.hooks.trustAny(l.now)}
		c = r.read()
	}
	l.warnings = c.problems
	if !l.there && l.own != nil {
		l.warnings = append(l.warnings, "the Secret "+l.place()+", in which the certificate was kept, is gone: another is made, with another CA, and what is shown stays")
	}
	shown := c.pair
	err = errors.Join(l.unread, fixed, farOff(ahead))
	if err == nil {
		err = l.replace(ctx, c)
	}
	if err != nil && l.own == nil {
		// What was read can be shown all the same, and nothing that was not written.
		l.note(c, shown)
	}
	return err
}

// farOff says that a clock cannot be gone by; nil where it can.
func farOff(ahead time.Duration) error {
	if ahead.Abs() <= mostAhead {
		return nil
	}
	return fmt.Errorf("the clock of this replica is %s off that of the API server, and %s at most is expected: nothing is replaced; set the clock of its node", ahead.Abs().Round(time.Second), mostAhead)
}

// known are the CAs that are vouched for.
func (l *look) known() []*x509.Certificate {
	known := l.hooks.trusted()
	if l.own != nil {
		known = add(known, l.own.ca)
	}
	return add(known, l.lastMade())
}

// replace replaces what is due in the Secret and in the caBundles, and takes over what is
// to be shown. The first time that something is seen, it is trusted before it is stored:
// so no Secret says of a CA that it is to be trusted where nothing else does.
func (l *look) replace(ctx context.Context, c *content) error {
	leads, had, read := l.Leads(), l.own, c.pair
	p := &plan{Lifetimes: l.Lifetimes, names: l.ServerNames, now: l.now, hooks: l.hooks, own: had, leads: leads, lags: l.lags, spare: l.spare}
	if err := p.follow(c); err != nil {
		return err
	}
	var refused error
	if p.fresh != nil {
		var again bool
		again, refused = l.introduce(ctx, p.fresh)
		if l.soon = l.soon || again; again || refused != nil {
			if c.next != p.fresh {
				return refused
			}
			// What the CA before signs does not wait for it.
			p.withdraw(c)
		}
	}
	if (leads || read == nil) && !p.leave {
		if err := l.write(ctx, c); err != nil {
			return err
		}
		l.stored(p)
	}
	l.choose(c)
	err := errors.Join(refused, l.spread(ctx, c, leads, (leads || had == nil) && !p.leave))
	l.note(c, l.own)
	if p.waiting != "" {
		l.waits = append(l.waits, "the next step with the certificate of the Secret "+l.place()+" waits: "+p.waiting)
	}
	l.warnings = append(l.warnings, l.unnamed(c)...)
	if at, soon := c.foretold(l.Lifetimes, l.now); soon {
		l.warnings = append(l.warnings, l.foretold(c, at))
	}
	l.soon = l.soon || len(p.made) > 0 || c.pair == nil || c.next != nil && c.trusted.IsZero()
	return err
}

// introduce has webhooks trust a CA that is in no Secret yet. again is set where some of
// them have changed meanwhile.
func (l *look) introduce(ctx context.Context, ca *selfsigned.CA) (again bool, err error) {
	l.mu.Lock()
	l.spare, l.mine = ca, ca.Certificate
	l.mu.Unlock()
	written, again, err := l.put(ctx, l.hooks, []*x509.Certificate{ca.Certificate}, true)
	if err == nil && !again && written > 0 {
		l.hooks, err = l.read(ctx)
	}
	return again, err
}

// stored notes that what a plan made is in the Secret.
func (l *look) stored(p *plan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.fresh != nil {
		l.spare = nil
	}
	for _, what := range p.made {
		l.made[what]++
		l.Log.Info("made for the Secret", "what", what, "namespace", l.Namespace, "secret", l.Secret)
	}
}

// choose says which certificate to show: the one of the Secret, unless some webhook does
// not trust its CA and what is shown is still good.
func (l *look) choose(c *content) {
	if c.pair == nil {
		return
	}
	if lack := l.hooks.lack(c.pair.ca); l.own != nil && !c.pair.pair.Leaf.Equal(l.own.pair.Leaf) && len(lack) > 0 {
		l.waits = append(l.waits, "the certificate of the Secret "+l.place()+" is not shown yet, as "+lacking(lack))
		return
	}
	l.own = c.pair
}

// spread has webhooks trust what they are to trust, where writes is set. Nothing is taken
// out of a caBundle by a replica that does not lead, nor while another shows, or may show,
// what would not be trusted afterwards.
func (l *look) spread(ctx context.Context, c *content, leads, writes bool) error {
	target := add(slices.Clone(c.bundle), l.said()...)
	if l.own != nil {
		target = add(target, l.own.ca)
	}
	l.warnings = append(l.warnings, injected(l.hooks, target)...)
	if !writes {
		return nil
	}
	written, again, err := l.put(ctx, l.hooks, target, !leads || len(l.lags(target)) > 0 || !l.Leads())
	if l.soon = l.soon || again || written > 0; written > 0 {
		l.Log.Info("caBundles were written", "configurations", written, "cas", len(target))
	}
	return err
}

// note takes over what was found, and what of it is shown.
func (l *look) note(c *content, show *served) {
	at, _ := c.foretold(l.Lifetimes, l.now)
	k := l.Keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if show != nil && (k.served == nil || !show.pair.Leaf.Equal(k.served.pair.Leaf)) {
		k.Log.Info("another certificate is shown", "until", show.pair.Leaf.NotAfter.UTC().Format(time.RFC3339), "ca", fingerprint(show.ca))
	}
	if show != nil {
		k.served = show
	}
	k.bundle, k.awaited, k.end, k.next = c.bundle, nil, time.Time{}, at
	if c.ca != nil {
		k.end, k.awaited = c.ca.NotAfter, c.ca.Certificate
	}
	if c.next != nil {
		k.awaited = c.next.Certificate
	}
	if k.believed || k.served == nil {
		return
	}
	if l.unread != nil {
		k.untrusted = l.unread.Error()
		return
	}
	lack := l.hooks.lack(k.served.ca)
	k.believed, k.untrusted = len(lack) == 0, lacking(lack)
}

// unnamed says for which names the certificate is not, as its CA is not for them.
func (l *look) unnamed(c *content) []string {
	if c.ca == nil {
		return nil
	}
	permitted := selfsigned.Permitted(c.ca.Certificate, l.ServerNames)
	without := slices.DeleteFunc(slices.Clone(l.ServerNames), func(name string) bool { return slices.Contains(permitted, name) })
	if len(without) == 0 {
		return nil
	}
	return []string{"the certificate of the Secret " + l.place() + " is not for " + few(without) + ", as its CA was made without; another CA is, see the annotation " + AnnotationRotate}
}

// injected names the webhooks whose caBundles are another program's, and not these.
func injected(all hooks, target []*x509.Certificate) []string {
	var names []string
	for i := range all {
		if all[i].injected && !sameBundle(&all[i], target) {
			names = append(names, all[i].String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"another program fills in the caBundle of these webhooks, by an annotation, and it is not that of this certificate: " + few(names)}
}
