package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

// Verify answers whether an image is signed as it is asked for. An image that is
// not is an error, as the hosts of the ecosystem answer it; there is no answer that
// says no.
func (r *Registries) Verify(ctx context.Context, asked *hostcall.Verify) ([]byte, error) {
	return r.keptFor(ctx).get(asked, func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
		defer cancel()
		digest, err := r.verify(ctx, asked)
		if err != nil {
			return nil, fmt.Errorf("image %q is not trusted: %w", asked.Image, err)
		}
		return json.Marshal(struct {
			Trusted bool   `json:"is_trusted"`
			Digest  string `json:"digest"`
		}{true, digest})
	})
}

// verify gives the digest of an image, if for each signer that is asked for there
// is a signature.
func (r *Registries) verify(ctx context.Context, asked *hostcall.Verify) (string, error) {
	demands, err := r.demands(asked)
	if err != nil {
		return "", err
	}
	if len(demands) == 0 {
		// hostcall refuses such a question; anybody's signature would do.
		return "", errors.New("nobody is named who must have signed it")
	}
	i, err := r.open(ctx, asked.Image)
	if err != nil {
		return "", err
	}
	signatures, err := i.signatures(ctx)
	if err != nil {
		return "", err
	}
	if len(signatures) == 0 {
		return "", fmt.Errorf("no signature of %s was found", i.descriptor.Digest)
	}
	for _, d := range demands {
		if err := d.meet(signatures, asked.Annotations); err != nil {
			return "", err
		}
	}
	return i.descriptor.Digest.String(), nil
}

// demand is a signer that is asked for.
type demand struct {
	who string
	// check says why a signature is not that signer's.
	check func(s *signature) error
}

// mostReasons bounds what an error says of signatures that were not good enough.
const mostReasons = 3

// meet looks for a signature of the signer with the annotations.
func (d *demand) meet(signatures []*signature, annotations map[string]string) error {
	var reasons []string
	for _, s := range signatures {
		err := s.annotated(annotations)
		if err == nil {
			err = d.check(s)
		}
		if err == nil {
			return nil
		}
		reasons = append(reasons, err.Error())
	}
	if more := len(reasons) - mostReasons; more > 0 {
		reasons = append(reasons[:mostReasons], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("no signature is that of %s: %s", d.who, strings.Join(reasons, "; "))
}

// demands are the signers that are asked for. Each of them must have signed.
func (r *Registries) demands(asked *hostcall.Verify) ([]*demand, error) {
	switch asked.Type {
	case hostcall.PubKey:
		return keyDemands(asked.PubKeys)
	case hostcall.ByCertificate:
		d, err := r.certificateDemand(asked)
		return []*demand{d}, err
	case hostcall.KeylessExact, hostcall.KeylessPrefix, hostcall.GithubActions:
		return r.keylessDemands(asked)
	}
	return nil, fmt.Errorf("%q is not a way to verify it", asked.Type)
}
