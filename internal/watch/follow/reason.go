package follow

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

var (
	errGone    = errors.New("its CustomResourceDefinition does not exist")
	errLeaving = errors.New("its CustomResourceDefinition is being deleted; what was read last stays in force")
)

// noAnswer is the error of an API server that takes a request and says nothing.
type noAnswer struct{ after time.Duration }

func (n *noAnswer) Error() string {
	return fmt.Sprintf("the API server has said nothing for %s", n.after)
}

// reason words why something cannot be read.
func reason(err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return "Sallyport's account may not: " + err.Error()
	case apierrors.IsUnauthorized(err):
		return "the API server does not know Sallyport's account: " + err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "the API server does not answer in time"
	}
	return err.Error()
}

// expired reports whether an error says that a watch, or a list, has to begin from
// the start.
func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// momentary reports whether an error is about time, pace, or the way to the API server:
// the same request may be answered a moment later. Others say that it will not.
func momentary(err error) bool {
	var silent *noAnswer
	// What got no answer at all.
	var request *url.Error
	switch {
	case apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err):
		return true
	case errors.As(err, &silent), errors.As(err, &request):
		return true
	}
	// client-go has no type for an answer that was cut.
	if strings.Contains(err.Error(), "when reading response body") {
		return true
	}
	return utilnet.IsTimeout(err) || utilnet.IsConnectionRefused(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}
