// Package hostanswer answers the calls of policy modules that passed the gate:
// objects from the copies of the cluster, questions about rights from its
// authorizer, hosts from the resolver, certificates here.
package hostanswer

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/text/redact"
)

// Objects answers reads of objects, as inventory.Inventory does.
type Objects interface {
	Read(ctx context.Context, a *contextgate.Admitted) ([]byte, error)
}

// Resolver finds the addresses of a host, as net.Resolver does.
type Resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
}

// Images answers questions about images in registries, in JSON.
type Images interface {
	Image(ctx context.Context, asked *hostcall.Image) ([]byte, error)
	Verify(ctx context.Context, asked *hostcall.Verify) ([]byte, error)
}

// Answers is a contextgate.Backend. What is nil is not offered: a call that needs
// it is an error, never a good answer.
type Answers struct {
	Objects  Objects
	Rights   request.Authorizer
	Resolver Resolver
	Images   Images
	// Log takes a line that a policy wrote.
	Log func(policy string, line []byte)
	// Roots are the authorities that count where a policy names none; those of the
	// system where it is nil.
	Roots *x509.CertPool
	// Now is time.Now where it is nil.
	Now func() time.Time
}

var _ contextgate.Backend = (*Answers)(nil)

// errNotOffered is for calls that the installation has nothing for.
var errNotOffered = errors.New("this server does not offer that host call")

// Answer answers a call.
func (a *Answers) Answer(ctx context.Context, admitted *contextgate.Admitted) ([]byte, error) {
	switch asked := admitted.Request.(type) {
	case *hostcall.Read:
		if a.Objects != nil {
			return a.Objects.Read(ctx, admitted)
		}
	case *hostcall.CanI:
		if a.Rights != nil {
			return a.canI(ctx, asked)
		}
	case *hostcall.Lookup:
		if a.Resolver != nil {
			return a.lookup(ctx, asked)
		}
	case *hostcall.Trust:
		return a.trusted(asked)
	case *hostcall.Image:
		if a.Images != nil {
			return a.Images.Image(ctx, asked)
		}
	case *hostcall.Verify:
		if a.Images != nil {
			return a.Images.Verify(ctx, asked)
		}
	case *hostcall.Line:
		if a.Log != nil {
			a.Log(admitted.Policy.String(), []byte(redact.From(ctx).Text(string(asked.Text))))
		}
		return nil, nil
	}
	return nil, fmt.Errorf("%s: %w", admitted.Operation, errNotOffered)
}

func (a *Answers) canI(ctx context.Context, asked *hostcall.CanI) ([]byte, error) {
	user := request.User{Name: asked.User, UID: asked.UID, Groups: asked.Groups, Extra: asked.Extra}
	allowed, err := a.Rights.Allowed(ctx, user, request.Attributes{
		Verb: asked.Verb, Group: asked.Group, Version: asked.Version, Resource: asked.Resource,
		Subresource: asked.Subresource, Namespace: asked.Namespace, Name: asked.Name,
	})
	if err != nil {
		return nil, err
	}
	return apijson.Marshal(struct {
		Allowed bool `json:"allowed"`
	}{allowed})
}

func (a *Answers) lookup(ctx context.Context, asked *hostcall.Lookup) ([]byte, error) {
	addresses, err := a.Resolver.LookupHost(ctx, asked.Host)
	if err != nil {
		return nil, fmt.Errorf("host %q cannot be looked up: %w", asked.Host, err)
	}
	addresses = slices.DeleteFunc(addresses, func(s string) bool { _, err := netip.ParseAddr(s); return err != nil })
	return apijson.Marshal(struct {
		IPs []string `json:"ips"`
	}{append([]string{}, addresses...)})
}
