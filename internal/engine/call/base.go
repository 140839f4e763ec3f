package call

import (
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Base is what every part of a Set goes by.
type Base struct {
	// Registry are the kinds that make pods.
	Registry *pod.Registry
	// Excusing may excuse rules that fail.
	Excusing *exception.Set
	// Sessions are escalations and sessions.
	Sessions *breakglass.Set
}
