package certificate

import (
	"errors"
	"fmt"
	"maps"
	"time"
)

// Bundle are the CAs that callers are to trust, in PEM.
func (k *Keeper) Bundle() ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.bundle) == 0 {
		return nil, errors.New("there is no CA of the certificate yet")
	}
	bundle := k.bundle
	if k.served != nil {
		bundle = add(bundle[:len(bundle):len(bundle)], k.served.ca)
	}
	return text(bundle), nil
}

// Shows is what this replica tells others that it shows: the fingerprint of the CA.
func (k *Keeper) Shows() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.served == nil {
		return nothing
	}
	return fingerprint(k.served.ca)
}

// State is what there is to count.
type State struct {
	// CAEnds is when the CA ends that signs certificates; zero where that is not known.
	CAEnds time.Time
	// Made are how many CAs and certificates this replica made, and Failures how many
	// looks failed.
	Made     map[string]int
	Failures int
}

// State is what there is to count.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return State{k.end, maps.Clone(k.made), k.failures}
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

// foretold says from when on certificates of another CA will be shown, to those who give
// the CA to callers by hand.
func (c *content) foretold(secret string, l Lifetimes) []string {
	if c.next == nil || c.pair == nil {
		return nil
	}
	at := dueAt(c.pair.pair.Leaf)
	if c.rotate {
		at = c.trusted.Add(l.Overlap)
		if c.trusted.IsZero() {
			return []string{foretold(secret, "soon")}
		}
	} else if c.ca != nil {
		if last := c.ca.NotAfter.Add(-l.Certificate); last.After(at) {
			at = last
		}
	}
	return []string{foretold(secret, "from "+at.UTC().Format(time.RFC3339)+" on")}
}

func foretold(secret, when string) string {
	return fmt.Sprintf("certificates of another CA are shown %s: until then, put %q of the Secret %s into the kubeconfig of every authorizer, and into the webhooks of further clusters, which nobody else does", when, BundleKey, secret)
}
