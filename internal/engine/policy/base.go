package policy

import (
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// base is what every part of a Set goes by.
type base struct {
	// pods are the kinds that make pods.
	pods *pod.Registry
	// passes may excuse rules that fail.
	passes *pass.Set
	// breakglass are escalations and sessions.
	breakglass *breakglass.Set
}
