// Package controller is the floor of what follows from what is in force: statuses of
// policies (policies), whether they are enforced on every replica and at every door
// (replicas, reached, webhooks, enforced), exceptions and sessions (workflow), policy
// servers, further clusters, and the scan of what is there already.
//
// It imports what is below it, doors among it for their limits, and is imported by app and
// cli only. The status of a further kind of ours is told by policies.
package controller
