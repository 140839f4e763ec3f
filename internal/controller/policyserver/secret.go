package policyserver

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

const (
	// renewBefore is how long before its end a certificate is replaced.
	renewBefore = 60 * 24 * time.Hour
	// stageFor is how long API servers trust the CA of the next certificate before
	// servers show it.
	stageFor = 10 * time.Minute
)

// secret is the certificate of a server, and what it lets callers in by. A new
// certificate has a CA of its own, whose key nobody keeps. So both CAs are trusted
// from a while before the new one is shown until the old one has ended.
func (c *Controller) secret(ctx context.Context, s *v1alpha1.PolicyServer, callers *Callers, hooks *webhooks) (*corev1.Secret, error) {
	live := &corev1.Secret{}
	if _, err := c.get(ctx, live, c.Namespace, ObjectName(s.Name)); err != nil {
		return nil, err
	}
	if live.UID != "" && !owned(live, s) {
		return nil, &inTheWay{c.what(live, c.Namespace, live.Name)}
	}
	wanted := &corev1.Secret{ObjectMeta: c.meta(s, ObjectName(s.Name), c.Namespace), Type: corev1.SecretTypeOpaque, Data: map[string][]byte{}}
	now, host := c.Clock.Now(), ObjectName(s.Name)+"."+c.Namespace+".svc"
	leaf := usable(live.Data[certKey], live.Data[keyKey], live.Data[caKey], host, now)
	if leaf == nil {
		// There is none, or none that could be used. Pods may still show what was there
		// before.
		pair, err := selfsigned.New([]string{host, host + ".cluster.local"}, now)
		if err != nil {
			return nil, fmt.Errorf("no certificate could be made: %w", err)
		}
		c.Log.Info("a certificate was made", "policyServer", s.Name)
		wanted.Data[certKey], wanted.Data[keyKey] = pair.Cert, pair.Key
		wanted.Data[caKey] = selfsigned.Current(append(append(pair.CA, live.Data[caKey]...), hooks.bundle()...), now)
	} else {
		for _, key := range []string{certKey, keyKey} {
			wanted.Data[key] = live.Data[key]
		}
		wanted.Data[caKey] = selfsigned.Current(live.Data[caKey], now)
		if now.After(leaf.NotAfter.Add(-renewBefore)) {
			if err := c.renew(s, live, wanted, host, hooks); err != nil {
				return nil, err
			}
		}
	}
	if len(callers.ClientCA) > 0 {
		wanted.Data[clientCAKey] = callers.ClientCA
	}
	if len(callers.Tokens) > 0 {
		wanted.Data[tokensKey] = callers.Tokens
	}
	return wanted, c.put(ctx, s, wanted)
}

// renew makes the next certificate, or puts it in place of the one that is
// about to end.
func (c *Controller) renew(s *v1alpha1.PolicyServer, live, wanted *corev1.Secret, host string, hooks *webhooks) error {
	now := c.Clock.Now()
	since, err := time.Parse(time.RFC3339, live.Annotations[annotationStaged])
	next := usable(live.Data[nextCertKey], live.Data[nextKeyKey], live.Data[caKey], host, now)
	switch {
	case next == nil || err != nil:
		pair, err := selfsigned.New([]string{host, host + ".cluster.local"}, now)
		if err != nil {
			return fmt.Errorf("no certificate could be made: %w", err)
		}
		wanted.Data[nextCertKey], wanted.Data[nextKeyKey] = pair.Cert, pair.Key
		wanted.Data[caKey] = append(wanted.Data[caKey], pair.CA...)
		wanted.Annotations = map[string]string{annotationStaged: now.UTC().Format(time.RFC3339)}
		c.Log.Info("the next certificate was made", "policyServer", s.Name, "shownAfter", stageFor.String())
	case now.Before(since.Add(stageFor)) || !hooks.trust(live.Data[caKey]):
		wanted.Data[nextCertKey], wanted.Data[nextKeyKey] = live.Data[nextCertKey], live.Data[nextKeyKey]
	default:
		wanted.Data[certKey], wanted.Data[keyKey] = live.Data[nextCertKey], live.Data[nextKeyKey]
		c.Log.Info("the certificate was replaced", "policyServer", s.Name)
	}
	return nil
}

// usable returns the certificate of a pair that can be shown for a name and that
// these CAs vouch for; nil if it cannot.
func usable(cert, key, cas []byte, host string, now time.Time) *x509.Certificate {
	trusted, err := selfsigned.Certificates(cas)
	if err != nil {
		return nil
	}
	pair, err := selfsigned.Usable(cert, key, trusted, []string{host}, now)
	if err != nil {
		return nil
	}
	return pair.Leaf
}

// trust reports whether every webhook that there is trusts these CAs.
func (h *webhooks) trust(cas []byte) bool {
	for _, w := range h.validating.Webhooks {
		if !bytes.Equal(w.ClientConfig.CABundle, cas) {
			return false
		}
	}
	for _, w := range h.mutating.Webhooks {
		if !bytes.Equal(w.ClientConfig.CABundle, cas) {
			return false
		}
	}
	return true
}

// bundle is what they trust.
func (h *webhooks) bundle() []byte {
	var all []byte
	for _, w := range h.validating.Webhooks {
		all = append(append(all, w.ClientConfig.CABundle...), '\n')
	}
	for _, w := range h.mutating.Webhooks {
		all = append(append(all, w.ClientConfig.CABundle...), '\n')
	}
	return all
}
