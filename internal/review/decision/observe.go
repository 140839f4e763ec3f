package decision

import "slices"

// WouldDeny is the verdict about a request that would be refused, and is let in as the
// installation only observes.
const WouldDeny Verdict = "wouldDeny"

// Observed is the decision where nothing is to be refused: what blocks is recorded in its
// place, and no session gives a right. d itself stays as it is.
func (d *Decision) Observed() Decision {
	observed := *d
	observed.Granted, observed.NotGranted = nil, ""
	if !d.Refuses() {
		return observed
	}
	observed.Verdict = WouldDeny
	observed.Results = slices.Clone(d.Results)
	for i := range observed.Results {
		if r := &observed.Results[i]; r.Blocks() {
			r.Action, r.FailClosed, r.LetIn = ActionAudit, false, true
		}
	}
	return observed
}

// WouldDeny reports whether the result would refuse the request if its policy, or the
// installation, did more than observe.
func (r *Result) WouldDeny() bool {
	return r.LetIn || r.Action == ActionAudit && r.Status == Fail || r.Action == ActionWarn && (r.Status == Fail || r.Status == Warn)
}
