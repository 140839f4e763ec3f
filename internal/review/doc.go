// Package review is the floor of the question and the answer: who asks for what (request),
// the pods in it (pod), which questions the API server asks about impersonation, and the
// results, verdicts and their wording (decision).
//
// It imports what is below it. A further kind that makes pods is added to pod; how a denial
// is worded to decision.
package review
