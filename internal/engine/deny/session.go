package deny

import (
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/rules/risk"
)

// override is a verdict about a pod that a session turns.
type override struct {
	grant   *breakglass.Grant
	verdict risk.Verdict
}

// overridden looks for a session of the user that lets him into a pod which the
// policy denies. The first by name that does is the one that grants the request:
// what another gives does not count.
func (p *Policy) overridden(c *call.Call, e *call.Entered, verdict *risk.Verdict, again func(*risk.Rules) risk.Verdict) (*override, error) {
	var denies = func(v *risk.Verdict) bool { return v.Denies() }
	if !denies(verdict) {
		return nil, nil
	}
	grants := c.Sessions()
	for i := range grants {
		g := &grants[i]
		if c.Only != nil && c.Only != g || c.Uncounted(g) != "" {
			continue
		}
		o, err := g.Overrides(g.Escalation, e.Namespace, c.LabelsOf(e.Namespace))
		if err != nil {
			return nil, fmt.Errorf("whether BreakglassSession %s is for the namespace: %w", g.Name, err)
		}
		if o == nil {
			continue
		}
		v := *verdict
		if !o.Exempt().Empty() {
			v = again(p.Risk.Without(o.Exempt()))
		}
		if lets(o, &v) {
			return &override{g, v}, nil
		}
	}
	return nil, nil
}

// lets reports whether overrides let in what rules, the exempt factors left out,
// come to.
func lets(o *breakglass.Overrides, v *risk.Verdict) bool {
	switch {
	case !v.Denies():
		return true
	case len(v.Blocked) > 0 || !v.Scored:
		return false
	case v.NeedsApproval() && o.Approves(v.Score):
		return true
	}
	return o.Lets(v.Score)
}

// helpful words the escalations that would let the user in, with the command to ask.
func (p *Policy) helpful(c *call.Call, e *call.Entered, again func(*risk.Rules) risk.Verdict) string {
	r := c.Request
	by := call.PersonOf(&r.User)
	unusable := ""
	for _, why := range c.Breakglass.Unusable(by, r.ClusterName, r.Time) {
		unusable += "; " + why
	}
	for _, g := range c.Sessions() {
		if why := c.Uncounted(&g); why != "" {
			unusable += "; " + why
		}
	}
	help := c.Breakglass.Help(by, r.ClusterName, func(o *breakglass.Overrides) bool {
		if !o.Covers(e.Namespace, c.LabelsOf(e.Namespace)) {
			return false
		}
		v := again(p.Risk.Without(o.Exempt()))
		return lets(o, &v)
	})
	if len(help) == 0 {
		return unusable
	}
	names := make([]string, len(help))
	for i, escalation := range help {
		names[i] = escalation.Name
	}
	command := "sallyport request session " + help[0].Name
	if r.ClusterName != "" {
		command += " --cluster " + r.ClusterName
	}
	return unusable + fmt.Sprintf("; BreakglassEscalation %s would allow it; ask with: %s --reason TEXT", strings.Join(names, " or "), command)
}
