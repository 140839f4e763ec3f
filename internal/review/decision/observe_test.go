package decision

import "testing"

// TestObserved lets in what is not to be kept out, and gives nobody a right.
func TestObserved(t *testing.T) {
	blocks := Result{Policy: "a", Status: Fail, Action: Enforce}
	kept := Result{Policy: "kept", Status: Error, Action: Enforce, FailClosed: true}
	keep := func(r *Result) bool { return r.Policy == "kept" }
	granted := Of([]Result{{Policy: "a", Status: Pass, Action: Enforce}})
	granted.Granted, granted.NotGranted = &Session{}, "why"
	for name, c := range map[string]struct {
		of      Decision
		verdict Verdict
	}{
		"what is let in by a session":    {granted, Allow},
		"what is refused":                {Of([]Result{blocks}), WouldDeny},
		"what is kept out":               {Of([]Result{kept}), Deny},
		"what is kept out, beside other": {Of([]Result{blocks, kept}), Deny},
		"what is only audited":           {Of([]Result{{Policy: "a", Status: Fail, Action: ActionAudit}}), Allow},
	} {
		before := len(c.of.Results)
		d := c.of.Observed(keep)
		if d.Verdict != c.verdict || d.Granted != nil || d.NotGranted != "" || len(d.Results) != before {
			t.Errorf("%s: %+v", name, d)
		}
		if first := c.of.Results[0]; first.WouldDeny {
			t.Errorf("%s: the decision itself is changed: %+v", name, first)
		}
	}
}
