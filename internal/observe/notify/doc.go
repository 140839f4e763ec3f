// Package notify tells others, by webhook, what becomes of breakglass sessions: as
// JSON of our own, as CloudEvents, or as a message for Slack. Nobody who is told
// ever holds up a decision: each target has a bounded queue and a worker of its
// own, and what does not fit is counted and said.
package notify
