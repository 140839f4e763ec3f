package certificate

import (
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

// What a replica says that shows no certificate yet that webhooks trust: nothing, or, before its fingerprint,
// of which CA it is to show one.
const (
	nothing = "none"
	awaits  = "awaits "
)

// Shows is what this replica tells others that it shows: the fingerprint of the CA.
func (k *Keeper) Shows() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.served != nil && !k.believed:
		return awaits + fingerprint(k.served.ca)
	case k.served != nil:
		return fingerprint(k.served.ca)
	case k.awaited != nil:
		return awaits + fingerprint(k.awaited)
	}
	return nothing
}

// said are the certificates of what replicas say that they show, or are to show, as far as
// some webhook trusts them: none of them is taken away meanwhile.
func (l *look) said() []*x509.Certificate {
	shows, _ := l.Others()
	return shown(l.hooks.trusted(), shows)
}

// shown are those of some certificates that replicas say that they show, or are to show.
func shown(among []*x509.Certificate, shows map[string]string) []*x509.Certificate {
	var found []*x509.Certificate
	for _, ca := range among {
		for _, one := range shows {
			if strings.TrimPrefix(one, awaits) == fingerprint(ca) {
				found = add(found, ca)
			}
		}
	}
	return found
}

// lags names the replicas that show, or may show, a certificate of another CA than these,
// or are to show one. Of no CA, it names those that show, or may show, anything.
func (k *Keeper) lags(cas []*x509.Certificate) []string {
	shows, known := k.Others()
	if !known {
		return []string{"the Leases of replicas cannot be read"}
	}
	var names []string
	for identity, one := range shows {
		of, waits := strings.CutPrefix(one, awaits)
		if one == nothing || waits && len(cas) == 0 || slices.ContainsFunc(cas, func(ca *x509.Certificate) bool { return fingerprint(ca) == of }) {
			continue
		}
		names = append(names, identity)
	}
	slices.Sort(names)
	return names
}

// Bundle are the CAs that a webhook is to trust, in PEM, which trusts this. As for the
// webhooks that there are, nothing is taken away while some replica needs it.
func (k *Keeper) Bundle(trusted []byte) ([]byte, error) {
	k.mu.Lock()
	bundle := slices.Clone(k.bundle)
	if k.served != nil {
		bundle = add(bundle, k.served.ca)
	}
	k.mu.Unlock()
	if len(bundle) == 0 {
		return nil, errors.New("there is no CA of the certificate yet")
	}
	if len(k.lags(bundle)) > 0 {
		live, _ := selfsigned.Certificates(trusted)
		bundle = add(bundle, live...)
	}
	return text(bundle), nil
}

// Beside is a bundle, in PEM, with those certificates that a webhook trusts and that other
// replicas say that they show, or are to show: those keep theirs in a Secret.
func Beside(bundle, trusted []byte, shows map[string]string) []byte {
	live, _ := selfsigned.Certificates(trusted)
	had, _ := selfsigned.Certificates(bundle)
	for _, ca := range shown(live, shows) {
		if !holds(had, ca) {
			bundle = slices.Concat(bundle, []byte("\n"), selfsigned.PEM(ca))
		}
	}
	return bundle
}

// State is what there is to count.
type State struct {
	// CAEnds is when the CA ends that signs certificates, and NextCAShown from when on
	// certificates of another are shown; zero where that is not known.
	CAEnds, NextCAShown time.Time
	// Waits is set where something that is due cannot be done yet.
	Waits bool
	// Made are how many CAs and certificates this replica made, and Failures how many
	// looks failed.
	Made     map[string]int
	Failures int
}

// State is what there is to count.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return State{k.end, k.next, k.waits, maps.Clone(k.made), k.failures}
}

// Warnings say what is wrong with the certificate, and what is to be done soon, a
// sentence each.
func (k *Keeper) Warnings() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []string
	if k.wrong != nil {
		all = append(all, "the certificate cannot be kept: "+k.wrong.Error())
	}
	return append(all, k.warnings...)
}

// foretold is from when on certificates of another CA than now are shown; false where no
// other is foreseen.
func (c *content) foretold(l Lifetimes, now time.Time) (time.Time, bool) {
	switch {
	case c.pair == nil:
		return time.Time{}, false
	case c.next == nil && (c.ca == nil || c.ca.Equal(c.pair.ca)):
		return time.Time{}, false
	case c.next == nil:
		return dueAt(c.pair.pair.Leaf), true
	}
	since := c.trusted
	if since.IsZero() {
		since = now
	}
	overlap, known := since.Add(l.Overlap), selfsigned.Begins(c.next.Certificate).Add(l.forCallers())
	at := latest(overlap, known)
	switch {
	case c.rotate == CallersHaveIt:
		at = overlap
	case c.rotate == "" && c.ca == nil:
		at = latest(at, dueAt(c.pair.pair.Leaf))
	case c.rotate == "":
		at = latest(at, dueAt(c.pair.pair.Leaf), c.ca.NotAfter.Add(-l.Certificate))
	}
	return at, true
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// foretold tells those who bring the CA to callers by hand.
func (k *Keeper) foretold(c *content, at time.Time) string {
	said := fmt.Sprintf("certificates of another CA are shown from %s on: until then, put %q of the Secret %s into the kubeconfig of every authorizer, and into the webhooks of further clusters, which nobody else does", at.UTC().Format(time.RFC3339), BundleKey, k.place())
	if c.next != nil && c.rotate == RotateCA {
		said += fmt.Sprintf("; annotate it with %s=%s once that is done", AnnotationRotate, CallersHaveIt)
	}
	return said
}
