package identity

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// OfAccount finds the claims in the annotations of a service account: what
// whoever writes them gives to every pod that runs as it.
func (s *Set) OfAccount(account *corev1.ServiceAccount) ([]Claim, error) {
	c := collector{set: s}
	if s == nil || account == nil {
		return nil, nil
	}
	for _, src := range s.accounts {
		value, ok := account.Annotations[src.annotation]
		if src.annotation == "" || !ok {
			continue
		}
		if err := c.add(src, value, apijson.Child("metadata.annotations", src.annotation)); err != nil {
			return nil, fmt.Errorf("the identities in the annotations are not known: %w", err)
		}
	}
	return c.claims, nil
}

// OfToken finds the claims that follow from holding a token of a service account
// for the audiences, with none for the API server's own: the account, its
// annotations, and what a source says of the audience.
func (s *Set) OfToken(ctx context.Context, namespace, name string, audiences []string, accounts Accounts) ([]Claim, error) {
	if s == nil {
		return nil, nil
	}
	c := collector{ctx: ctx, set: s, accounts: accounts, namespace: namespace}
	if err := c.token(name, audiences); err != nil {
		return nil, fmt.Errorf("the identities that follow from a token are not known: %w", err)
	}
	return c.claims, nil
}

// OfCertificate finds the claims that follow from holding a certificate that a
// signer issues to pods of a service account.
func (s *Set) OfCertificate(namespace, name, signer string) ([]Claim, error) {
	if s == nil {
		return nil, nil
	}
	c := collector{set: s, namespace: namespace}
	for _, src := range s.signers[signer] {
		if err := c.addAccount(src, name, "spec.signerName"); err != nil {
			return nil, fmt.Errorf("the identities that follow from a certificate are not known: %w", err)
		}
	}
	return c.claims, nil
}

func (c *collector) token(name string, audiences []string) error {
	for _, s := range c.set.accounts {
		if err := c.account(s, name, "metadata.name"); err != nil {
			return err
		}
	}
	for i, audience := range audiences {
		for _, s := range c.set.audiences[audience] {
			if err := c.addAccount(s, name, apijson.Element("spec.audiences", i)); err != nil {
				return err
			}
		}
	}
	return nil
}
