package cluster

import (
	"fmt"
	"time"

	"github.com/sallyport-io/sallyport/internal/watch/follow"
)

// DefaultReadTimeout bounds one read of a Live or a Cached. An API server waits
// for an authorizer webhook for 3 seconds in the usual set-up (30 at most) and
// for an admission webhook for 10 seconds if nothing else is said. After 2
// seconds without an answer there is still time to answer by the policy's fail
// mode inside either; a read that takes longer than that would be lost anyway.
// A caller whose context ends earlier is answered earlier.
const DefaultReadTimeout = 2 * time.Second

// Option changes how a Live or a Cached is built.
type Option func(*settings)

// settings are what the options come to.
type settings struct {
	userAgent       string
	readTimeout     time.Duration
	watchNamespaces bool
	watchRBAC       bool
	// follow says how a resource that is watched is followed; nil for as ever.
	follow func(resource string) follow.Options
}

// newSettings applies options to the defaults. A time-out that is not above
// zero is an error.
func newSettings(options []Option) (settings, error) {
	s := settings{userAgent: "sallyport", readTimeout: DefaultReadTimeout}
	for _, option := range options {
		option(&s)
	}
	if s.readTimeout <= 0 {
		return s, fmt.Errorf("the read time-out of a cluster is %s; it must be above zero, or no read could succeed", s.readTimeout)
	}
	return s, nil
}

// WithUserAgent names the client to the API server, such as "sallyport/1.2.0".
func WithUserAgent(agent string) Option {
	return func(s *settings) { s.userAgent = agent }
}

// WithReadTimeout bounds each read; see DefaultReadTimeout.
func WithReadTimeout(timeout time.Duration) Option {
	return func(s *settings) { s.readTimeout = timeout }
}

// WithNamespaceInformer answers reads of namespaces from a watch, as the pod
// security admission of Kubernetes itself does: with policies that go by the
// labels of namespaces, each pod that is created needs its namespace. Until the
// watch has filled its cache, and for a namespace that it does not hold,
// namespaces are read live.
//
// What is given up: a label that changed a moment ago (the delay of the watch,
// some milliseconds as a rule) is not seen, and while the API server cannot be
// reached the labels that were last known hold.
func WithNamespaceInformer() Option {
	return func(s *settings) { s.watchNamespaces = true }
}

// WithRBAC watches roles and bindings, which ServiceAccountPowers needs.
// Without it ServiceAccountPowers is ErrRBACNotWatched.
func WithRBAC() Option {
	return func(s *settings) { s.watchRBAC = true }
}

// WithFollow has every resource that is watched followed as follow says, which is
// called once for each when a Live or a Cached is built.
func WithFollow(follow func(resource string) follow.Options) Option {
	return func(s *settings) { s.follow = follow }
}
