package door

import (
	"strings"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// How long a refusal may be, in bytes. The API server itself cuts none, but what
// carries it on does, and what is put around it ("admission webhook ... denied
// the request: ", `pods "web" is forbidden: User ... cannot create resource ...`)
// takes up to 256 bytes.
const (
	// A client whose WebSocket is refused reads 1,024 bytes of the answer.
	// A controller whose pod is refused says so in an Event, whose note holds
	// 1,024 bytes in events.k8s.io/v1: a longer one is not cut but lost.
	shortReason = 1024 - 256
	// A person at a terminal reads everything. It is bounded all the same, so
	// that an object with ten thousand violations does not fill audit logs.
	longReason = 4096
)

// WarningLimit is how many bytes of a warning the API server shows where there are
// many.
const WarningLimit = 256

// ReasonLimit is how many bytes of a refusal reach whoever reads it.
func ReasonLimit(req *request.Request) int {
	switch {
	case req.Door == request.Access,
		req.Operation == request.Connect,
		strings.HasPrefix(req.User.Name, "system:"):
		return shortReason
	default:
		return longReason
	}
}
