package decision

import "slices"

// WouldDeny is the verdict about a request that would be refused, and is let in as the
// installation only observes.
const WouldDeny Verdict = "wouldDeny"

// Observed is the decision where nothing is to be refused: what blocks is recorded in its
// place, and no session gives a right. What keep holds for is refused all the same. d itself
// stays as it is.
func (d *Decision) Observed(keep func(*Result) bool) Decision {
	if !d.Refuses() {
		observed := *d
		observed.Granted, observed.NotGranted = nil, ""
		return observed
	}
	results := slices.Clone(d.Results)
	for i := range results {
		if r := &results[i]; r.Blocks() && !keep(r) {
			r.Action, r.FailClosed, r.WouldDeny = ActionAudit, false, true
		}
	}
	observed := Of(results)
	if !observed.Refuses() {
		observed.Verdict = WouldDeny
	}
	return observed
}
