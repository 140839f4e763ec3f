// Package cluster is the one way to read a cluster: live, fed by watches, or
// from files. All of it is behind request.Cluster.
//
//   - Live asks the API server at each read. It is the default.
//   - Cached keeps pods from a watch, and says what that gives up.
//   - Files answers from objects that were read from files.
//   - PerRequest wraps any of them for the length of one request, so that all
//     policies that judge the request see the same state and the API server is
//     asked once.
//
// Whatever cannot be read is an error, never an empty answer: an empty answer
// would be judged as harmless. An error for which apierrors.IsNotFound holds
// says that the cluster was read and has no such object; every other error says
// that nothing is known.
package cluster
