package call

import "errors"

// ErrNoOldObject is why an update cannot be compared with what was there.
var ErrNoOldObject = errors.New("the request does not carry the object as it was before")

// ErrNoCluster is why nothing can be read: the request is judged without a cluster.
var ErrNoCluster = errors.New("there is no cluster to read it from")

var (
	ErrNoPodInRequest = errors.New("the request does not carry exactly one pod")
	errNothingNamed   = errors.New("the request does not name what it enters")
	ErrNoAuthorizer   = errors.New("there is no cluster to ask")
)
