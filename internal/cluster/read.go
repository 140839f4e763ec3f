package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// maxAttempts is how often one read is tried at most, its time-out permitting.
const maxAttempts = 3

// read sends the request that newRequest makes and decodes what comes back. It
// ends when the time-out of the client or ctx ends, whichever is first.
//
// The retries of client-go are off. They sleep for as long as the API server
// asks, even past the end of ctx, and lose the answer 429 or 503 to a time-out.
// Here a read is tried again only if the pause that was asked for fits into what
// is left of its time, and once, at once, if the connection was cut; otherwise
// the error is the API server's own.
func read[T any, P interface {
	*T
	runtime.Object
}](ctx context.Context, c *client, newRequest func() *rest.Request) (P, error) {
	var into P
	err := c.try(ctx, func(ctx context.Context) error {
		into = P(new(T))
		return newRequest().MaxRetries(0).Do(ctx).Into(into)
	})
	if err != nil {
		return nil, err
	}
	return into, nil
}

// readJSON is read for what is not decoded here.
func (c *client) readJSON(ctx context.Context, newRequest func() *rest.Request) (body []byte, err error) {
	err = c.try(ctx, func(ctx context.Context) (err error) {
		result := newRequest().SetHeader("Accept", runtime.ContentTypeJSON).MaxRetries(0).Do(ctx)
		if err := result.Error(); err != nil {
			// This one, and not that of Raw, is what the API server says.
			return err
		}
		body, err = result.Raw()
		return err
	})
	return body, err
}

// try carries out one read in as many attempts as fit into its time.
func (c *client) try(ctx context.Context, once func(context.Context) error) error {
	// Errors are returned, and need not be logged by client-go too.
	ctx = klog.NewContext(ctx, logr.Discard())
	ctx, cancel := context.WithTimeout(ctx, c.readTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := once(ctx)
		if err == nil {
			return nil
		}
		pause, again := retryAfter(err, attempt)
		if !again || !wait(ctx, pause) {
			return c.explain(err)
		}
	}
}

// retryAfter reports whether a read that failed is worth another attempt, and
// after which pause.
func retryAfter(err error, attempt int) (time.Duration, bool) {
	if attempt >= maxAttempts {
		return 0, false
	}
	if seconds, asked := apierrors.SuggestsClientDelay(err); asked {
		// Without a number of seconds the server only says that it may work later.
		return max(time.Duration(seconds)*time.Second, 100*time.Millisecond), true
	}
	cut := utilnet.IsConnectionReset(err) || errors.Is(err, syscall.EPIPE) || utilnet.IsProbableEOF(err) ||
		utilnet.IsHTTP2ConnectionLost(err) || errors.Is(err, io.ErrUnexpectedEOF)
	return 0, cut && attempt == 1
}

// wait waits for the pause and reports whether it is over in time. A pause that
// goes past the end of ctx is not begun.
func wait(ctx context.Context, pause time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
		return false
	}
	if pause == 0 {
		return true
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// explain words the error of a read, and closes connections that have gone
// silent if it is a time-out.
func (c *client) explain(err error) error {
	err = withoutAddresses(err)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the API server cut its answer off: %w", io.ErrUnexpectedEOF)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		c.connections.CloseSilent(c.readTimeout / 2)
		return fmt.Errorf("the API server did not answer in time: %w", err)
	}
	return err
}

// withoutAddresses takes from an error where the API server is, which is nobody's
// business at the other end of a denial: its URL, and the addresses and names
// that the network speaks of.
func withoutAddresses(err error) error {
	var transport *url.Error
	if errors.As(err, &transport) {
		err = transport.Err
	}
	var lookup *net.DNSError
	var network *net.OpError
	switch {
	case errors.As(err, &lookup):
		return fmt.Errorf("the name of the API server cannot be looked up: %s", lookup.Err) //nolint:errorlint // holds the name
	case errors.As(err, &network):
		return fmt.Errorf("the connection to the API server failed: %w", network.Err)
	default:
		return err
	}
}

// notThere reports whether err is the API server's word that it has no object
// of this name. A 404 of something else, such as a proxy or a path that the
// server does not know, says nothing about the object.
func notThere(err error, name string) bool {
	if !apierrors.IsNotFound(err) || apierrors.IsUnexpectedServerError(err) {
		return false
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Name == name
}

// unreadable words the error of a read of the object that what names.
func unreadable(err error, what, name string) error {
	switch {
	case notThere(err, name):
		return fmt.Errorf("%s does not exist: %w", what, err)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s cannot be read: the server answered 404, but not about it; is the address that of an API server? %v", what, err) //nolint:errorlint // must not read as IsNotFound
	default:
		return fmt.Errorf("%s cannot be read: %w", what, err)
	}
}
