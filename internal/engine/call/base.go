package call

import (
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Base is what every part of a Set goes by.
type Base struct {
	// Registry are the kinds that make pods.
	Registry *pod.Registry
	// Exceptions may excuse rules that fail.
	Exceptions *pass.Set
	// Sessions are escalations and sessions.
	Sessions *breakglass.Set
}
