package shipped

import (
	"bytes"
	"encoding/pem"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// overlaps is how long webhooks trust what they trusted before, beside another CA: for as
// long as replicas may show a certificate of the one or of the other.
const overlaps = 10 * time.Minute

// trusts is what webhooks are to trust.
type trusts struct {
	ca    []byte
	keeps bool
	// beside adds what is still needed of what a webhook trusts; nil for nothing.
	beside func(ca, trusted []byte) []byte
	// over is set once nothing else is to be trusted any more, and since is when the CA
	// became another.
	over  bool
	since time.Time
}

// take takes over what webhooks are to trust from now on.
func (t *trusts) take(ca []byte, now time.Time) {
	if !bytes.Equal(t.ca, ca) || t.since.IsZero() {
		t.ca, t.since = ca, now
	}
	t.over = now.Sub(t.since) >= overlaps
}

// bundle is the caBundle of a webhook. Where something else keeps it, it is that of the
// configuration's canary, which is seen to work, for one that has none of its own.
func (t *trusts) bundle(was, canary *admissionregistrationv1.MutatingWebhook) []byte {
	var had []byte
	if was != nil {
		had = was.ClientConfig.CABundle
	}
	if t.keeps {
		switch {
		case t.over && t.beside != nil:
			return t.beside(t.ca, had)
		case t.over:
			return t.ca
		}
		return with(t.ca, had)
	}
	switch {
	case len(had) > 0:
		return had
	case canary != nil && len(canary.ClientConfig.CABundle) > 0:
		return canary.ClientConfig.CABundle
	}
	return t.ca
}

// with are the certificates of ca, and those of others that it has not.
func with(ca, others []byte) []byte {
	known := map[string]bool{}
	for block, rest := pem.Decode(ca); block != nil; block, rest = pem.Decode(rest) {
		known[string(block.Bytes)] = true
	}
	all := bytes.Clone(ca)
	for block, rest := pem.Decode(others); block != nil; block, rest = pem.Decode(rest) {
		if !known[string(block.Bytes)] {
			known[string(block.Bytes)] = true
			all = append(append(bytes.TrimSpace(all), '\n'), pem.EncodeToMemory(block)...)
		}
	}
	return all
}
