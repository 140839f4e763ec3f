package deny

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// LabelKeys are the labels of namespaces that a DenyPolicy goes by.
func (p *Policy) LabelKeys() match.LabelKeys {
	var keys match.LabelKeys
	if p.Risk != nil {
		keys.Add(p.Risk.LabelKeys())
	}
	for _, r := range p.Rules {
		keys.Add(r.namespaces.LabelKeys())
	}
	return keys
}

// WeakerBy says what the policy does less with other labels.
func (p *Policy) WeakerBy(_ context.Context, n *call.Relabelled) string {
	if !p.InPlace(n) {
		return ""
	}
	var what []string
	if p.Risk != nil && !Exempts(p, n.Namespace, n.Before) && Exempts(p, n.Namespace, n.After) {
		what = append(what, "podSecurityRules.exemptions.namespaces exempts the pods of the namespace")
	}
	for i, r := range p.Rules {
		if !r.selects(n.Namespace, n.Before) || r.selects(n.Namespace, n.After) {
			continue
		}
		if !slices.ContainsFunc(p.Rules, func(other *Rule) bool { return other.selects(n.Namespace, n.After) && other.includes(r) }) {
			what = append(what, fmt.Sprintf("rules[%d] is not about the namespace any more", i))
		}
	}
	return strings.Join(what, ", and ")
}

// InPlace reports whether the policy is for the cluster of a namespace.
func (p *Policy) InPlace(n *call.Relabelled) bool {
	r := n.Call.Request
	return p.Scope.inCluster(r.ClusterName) && (p.Scope.tenants == nil || r.Tenant == "" || p.Scope.tenants.Match(r.Tenant))
}

// Exempts reports whether the policy exempts the pods of a namespace that has these labels.
func Exempts(p *Policy, namespace string, set map[string]string) bool {
	_, exempt, err := p.Risk.ExemptNamespace(namespace, func() (map[string]string, error) { return set, nil })
	return exempt && err == nil
}

func (d *Rule) selects(namespace string, set map[string]string) bool {
	if d.namespaces == nil {
		return true
	}
	ok, err := d.namespaces.Select(namespace, func() (map[string]string, error) { return set, nil })
	return ok && err == nil
}

// includes reports whether the rule is about all that another is about, namespaces
// aside, by what is written.
func (d *Rule) includes(other *Rule) bool {
	a, b := d.Written, other.Written
	return glob.Includes(a.Verbs, b.Verbs) && glob.Includes(a.APIGroups, b.APIGroups) && glob.Includes(a.Resources, b.Resources) &&
		slices.Equal(a.Subresources, b.Subresources) &&
		(len(a.ResourceNames) == 0 || len(b.ResourceNames) > 0 && glob.Includes(a.ResourceNames, b.ResourceNames))
}
