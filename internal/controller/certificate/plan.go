package certificate

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

// Lifetimes are how long what is made is good for. Overlap is how long a CA stands in
// every caBundle before a certificate of it is shown, and how long the one before stays
// at least.
type Lifetimes struct{ CA, Certificate, Overlap time.Duration }

// mostForCallers is how long those who are brought a CA by hand have for it, at most.
const mostForCallers = 7 * 24 * time.Hour

// forCallers is how long those have who are brought a CA by hand: what is left of a
// certificate when another is due is twice as long.
func (l Lifetimes) forCallers() time.Duration {
	return max(l.Overlap, min(mostForCallers, l.Certificate/6))
}

// plan says what of a Secret is to be replaced. All that it goes by beside the Secret is
// read again each time, so that who leads next goes on where it was left.
type plan struct {
	Lifetimes
	names []string
	now   time.Time
	// hooks are the webhooks that lead here.
	hooks hooks
	// own is what this replica shows; nil for nothing.
	own *served
	// leads is set for the replica that replaces. Another takes part only where there is
	// nothing to show, and takes nothing away.
	leads bool
	// lags names the replicas that show, or may show, a certificate of another CA than
	// these.
	lags func(cas []*x509.Certificate) []string
	// spare is a CA that was made and came into no Secret; nil for none. It is what is
	// taken where one is needed, so that a Secret that cannot be written brings no CA
	// each time.
	spare *selfsigned.CA

	// fresh is a CA that no Secret holds yet.
	fresh *selfsigned.CA
	// leave is set where the Secret is to be left as it is.
	leave   bool
	made    []string
	waiting string
}

// What is counted when it is made.
const (
	madeCA          = "ca"
	madeCertificate = "certificate"
)

// follow brings a content to what it is to be now. What is still waited for stands in
// waiting afterwards.
func (p *plan) follow(c *content) error {
	if c.pair == nil && p.own != nil {
		// It was lost, and whoever has it puts it back.
		c.pair = p.own
	}
	if p.own == nil && len(c.strange) > 0 && c.pair == nil && c.ca == nil {
		// Nothing is put in place of what may be somebody's.
		p.leave, p.waiting = true, "nothing vouches for the CA in it; put that into the caBundle of a webhook that leads here if it is yours, or else delete the Secret"
		return nil
	}
	if c.lost {
		c.bundle = add(c.bundle, p.hooks.bundle()...)
		c.lost = false
	}
	if p.own != nil {
		c.bundle = add(c.bundle, p.own.ca)
	}
	if !p.leads && c.pair != nil {
		return nil
	}
	if err := p.stage(c); err != nil {
		return err
	}
	if err := p.sign(c); err != nil {
		return err
	}
	if p.leads {
		p.clean(c)
	}
	return nil
}

// stage makes the next CA where one will be needed, and notes since when it is trusted.
func (p *plan) stage(c *content) error {
	if c.next == nil && (c.ca == nil || c.rotate != "" || p.overdue(c.ca.Certificate)) {
		if p.fresh = p.spare; p.fresh == nil {
			next, err := selfsigned.NewCA(p.names, p.now, p.CA)
			if err != nil {
				return err
			}
			p.fresh = next
			p.made = append(p.made, madeCA)
		}
		c.next, c.trusted, c.vouched = p.fresh, time.Time{}, ""
		c.bundle = add(c.bundle, p.fresh.Certificate)
		if c.ca != nil {
			var err error
			if c.vouched, err = c.ca.Vouch(p.fresh.Certificate); err != nil {
				return err
			}
		}
	}
	if c.next == nil {
		c.trusted = time.Time{}
		return nil
	}
	switch lack := p.hooks.lack(c.next.Certificate); {
	case len(lack) > 0:
		c.trusted = time.Time{}
		p.waiting = lacking(lack)
	case c.trusted.IsZero():
		c.trusted = p.now
	}
	return nil
}

// withdraw takes the CA back that was just made.
func (p *plan) withdraw(c *content) {
	c.bundle = slices.DeleteFunc(c.bundle, p.fresh.Equal)
	c.next, c.trusted, c.vouched = nil, time.Time{}, ""
	p.made = slices.DeleteFunc(p.made, func(what string) bool { return what == madeCA })
	p.fresh = nil
}

// overdue reports whether a certificate is in the last third of its time.
func (p *plan) overdue(of *x509.Certificate) bool { return !p.now.Before(dueAt(of)) }

// dueAt is when two thirds of the time of a certificate are over.
func dueAt(of *x509.Certificate) time.Time {
	return of.NotBefore.Add(of.NotAfter.Sub(of.NotBefore) / 3 * 2)
}

// sign makes a certificate where one is due: by the next CA where the one that is there
// will not last, or is to go.
func (p *plan) sign(c *content) error {
	due := c.pair == nil || p.overdue(c.pair.pair.Leaf)
	if !due && c.rotate == "" {
		return nil
	}
	by := c.ca
	if c.next != nil && (by == nil || c.rotate != "" || by.NotAfter.Before(p.now.Add(p.Certificate))) && p.ready(c) {
		by = c.next
		c.next, c.trusted, c.vouched, c.shown, c.rotate = nil, time.Time{}, "", p.now, ""
		c.ca = by
	}
	if by == nil || !due && by.Equal(c.pair.ca) {
		return nil
	}
	if lack := p.hooks.lack(by.Certificate); len(lack) > 0 && (c.pair != nil || p.hooks.trustAny(p.now)) {
		p.waiting = lacking(lack)
		return nil
	}
	names := selfsigned.Permitted(by.Certificate, p.names)
	pair, err := by.Sign(names, p.now, p.Certificate)
	if err != nil {
		return err
	}
	made, err := selfsigned.Usable(pair.Cert, pair.Key, []*x509.Certificate{by.Certificate}, names, p.now)
	if err != nil {
		return fmt.Errorf("the certificate that was made cannot be shown: %w", err)
	}
	c.pair = &served{made, pair.Cert, pair.Key, by.Certificate}
	p.made = append(p.made, madeCertificate)
	return nil
}

// ready reports whether certificates of the next CA can be shown.
func (p *plan) ready(c *content) bool {
	if c.pair == nil && !p.hooks.trustAny(p.now) {
		return true
	}
	if c.trusted.IsZero() {
		return false
	}
	if c.pair == nil && len(p.lags(nil)) == 0 {
		// No replica shows anything, so that nobody is refused who is let in now.
		return true
	}
	at := c.trusted.Add(p.Overlap)
	if known := selfsigned.Begins(c.next.Certificate).Add(p.forCallers()); c.pair != nil && c.rotate != CallersHaveIt && known.After(at) {
		at = known
	}
	if p.now.Before(at) {
		p.waiting = "a certificate of the next CA is shown from " + at.UTC().Format(time.RFC3339) + " on"
		return false
	}
	return true
}

// clean takes the CAs out of the bundle that nobody needs any more.
func (p *plan) clean(c *content) {
	if c.pair == nil || c.ca == nil || c.next != nil {
		return
	}
	needed := add(nil, c.ca.Certificate, c.pair.ca)
	if p.own != nil {
		needed = add(needed, p.own.ca)
	}
	if !slices.ContainsFunc(c.bundle, func(ca *x509.Certificate) bool { return !holds(needed, ca) }) {
		if len(needed) == 1 {
			c.shown = time.Time{}
		}
		return
	}
	if c.shown.IsZero() {
		// Somebody put another CA in.
		c.shown = p.now
	}
	if p.now.Before(c.shown.Add(p.Overlap)) {
		return
	}
	if lag := p.lags(needed); len(lag) > 0 {
		p.waiting = "not every replica says that it shows a certificate of the new CA: " + few(lag)
		return
	}
	c.bundle = needed
}

func lacking(hooks []string) string {
	return "the caBundle of these webhooks is without the CA: " + few(hooks)
}

// few lists the first of some names.
func few(names []string) string {
	const most = 5
	if len(names) > most {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}
