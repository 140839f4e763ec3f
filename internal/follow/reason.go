package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
