// Package clusters holds the further clusters that an installation guards: which
// there are, by ClusterConfigs and their kubeconfigs, and how each is read.
//
//   - Hub has all of them, by name, and is asked by the doors without a lock.
//   - A cluster is read through a link, which is made once and again when its
//     kubeconfig changes. One cluster's outage costs the others nothing: what is
//     under way to each is bounded, and after a failed health check its reads fail
//     at once, until a later check succeeds.
//   - Informer fills the Hub from the API server, and says in the status of each
//     ClusterConfig how its cluster is.
//   - Files fills it from files.
//
// What cannot be read is an error, and the fail mode of the policy that needed it
// answers.
package clusters
