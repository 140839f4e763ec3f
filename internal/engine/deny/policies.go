package deny

import (
	"fmt"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/rules/risk"
)

// ExemptLabels are the labels that take a pod out of a policy.
type ExemptLabels struct {
	Policy *Policy
	Labels map[string]string
}

// Policies are the DenyPolicies of a Set.
type Policies struct {
	call.Base
	Deny []*Policy
	// ByPoint has the policies whose podSecurityRules cover an access point, in
	// the order of precedence.
	ByPoint map[string][]*Policy
	// Ruled has the policies with rules, in the order of precedence.
	Ruled []*Policy
	// Index remembers what of these is about which requests.
	Index *Index
	// ExemptLabels are the labels that exempt a pod from some policy.
	ExemptLabels []ExemptLabels
}

// VerbExempt is the right to set labels by which a policy does less.
const VerbExempt = "exempt"

// AccessPoints are the ways into a pod that a DenyPolicy can name.
var AccessPoints = risk.AccessPoints

// RuleNames are the names by which rules of the policy are excused.
func (p *Policy) RuleNames() []string {
	var names []string
	if p.Risk != nil {
		names = append(names, stored.RulePodSecurity)
	}
	for i := range p.Rules {
		names = append(names, ruleAt(i))
	}
	return names
}

// ruleAt is the name of a rule that has none.
func ruleAt(i int) string { return fmt.Sprintf("rules[%d]", i) }
