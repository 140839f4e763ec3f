// Package observe is the floor of what is told of decisions: audit events and metrics
// (record), reports in the form of others (report), notifications (notify), and the pace
// of the collector of garbage, which is measured like them (garbage).
//
// It imports what is below it. A further metric, or a field of audit events, goes to
// record.
package observe
