package policy

import (
	"fmt"

	"github.com/sallyport-io/sallyport/internal/rules/risk"
)

// exemptLabels are the labels that take a pod out of a policy.
type exemptLabels struct {
	policy *denyPolicy
	labels map[string]string
}

// denyPolicies are the DenyPolicies of a Set.
type denyPolicies struct {
	base
	deny []*denyPolicy
	// byPoint has the policies whose podSecurityRules cover an access point, in
	// the order of precedence.
	byPoint map[string][]*denyPolicy
	// ruled has the policies with rules, in the order of precedence.
	ruled []*denyPolicy
	// index remembers what of these is about which requests.
	index *denyIndex
	// exemptLabels are the labels that exempt a pod from some policy.
	exemptLabels []exemptLabels
}

// VerbExempt is the right to set labels by which a policy does less.
const VerbExempt = "exempt"

// AccessPoints are the ways into a pod that a DenyPolicy can name.
var AccessPoints = risk.AccessPoints

// ruleNames are the names by which rules of the policy are excused.
func (p *denyPolicy) ruleNames() []string {
	var names []string
	if p.risk != nil {
		names = append(names, RulePodSecurity)
	}
	for i := range p.rules {
		names = append(names, ruleAt(i))
	}
	return names
}

// ruleAt is the name of a rule that has none.
func ruleAt(i int) string { return fmt.Sprintf("rules[%d]", i) }
