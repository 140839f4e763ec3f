package policy

import "errors"

var errNoOldObject = errors.New("the request does not carry the object as it was before")

var errNoCluster = errors.New("there is no cluster to read it from")

var (
	errNoPodInRequest = errors.New("the request does not carry exactly one pod")
	errNothingNamed   = errors.New("the request does not name what it enters")
	errNoAuthorizer   = errors.New("there is no cluster to ask")
)
