package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// labelKeys are the labels of namespaces that a DenyPolicy goes by.
func (p *denyPolicy) labelKeys() match.LabelKeys {
	var keys match.LabelKeys
	if p.risk != nil {
		keys.Add(p.risk.LabelKeys())
	}
	for _, r := range p.rules {
		keys.Add(r.namespaces.LabelKeys())
	}
	return keys
}

// weakerBy says what the policy does less with other labels.
func (p *denyPolicy) weakerBy(_ context.Context, n *relabelled) string {
	if !p.inPlace(n) {
		return ""
	}
	var what []string
	if p.risk != nil && !exempts(p, n.Namespace, n.Before) && exempts(p, n.Namespace, n.After) {
		what = append(what, "podSecurityRules.exemptions.namespaces exempts the pods of the namespace")
	}
	for i, r := range p.rules {
		if !r.selects(n.Namespace, n.Before) || r.selects(n.Namespace, n.After) {
			continue
		}
		if !slices.ContainsFunc(p.rules, func(other *denyRule) bool { return other.selects(n.Namespace, n.After) && other.includes(r) }) {
			what = append(what, fmt.Sprintf("rules[%d] is not about the namespace any more", i))
		}
	}
	return strings.Join(what, ", and ")
}

// inPlace reports whether the policy is for the cluster of a namespace.
func (p *denyPolicy) inPlace(n *relabelled) bool {
	r := n.call.request
	return p.scope.inCluster(r.ClusterName) && (p.scope.tenants == nil || r.Tenant == "" || p.scope.tenants.Match(r.Tenant))
}

func exempts(p *denyPolicy, namespace string, set map[string]string) bool {
	_, exempt, err := p.risk.ExemptNamespace(namespace, func() (map[string]string, error) { return set, nil })
	return exempt && err == nil
}

func (d *denyRule) selects(namespace string, set map[string]string) bool {
	if d.namespaces == nil {
		return true
	}
	ok, err := d.namespaces.Select(namespace, func() (map[string]string, error) { return set, nil })
	return ok && err == nil
}

// includes reports whether the rule is about all that another is about, namespaces
// aside, by what is written.
func (d *denyRule) includes(other *denyRule) bool {
	a, b := d.written, other.written
	return glob.Includes(a.Verbs, b.Verbs) && glob.Includes(a.APIGroups, b.APIGroups) && glob.Includes(a.Resources, b.Resources) &&
		slices.Equal(a.Subresources, b.Subresources) &&
		(len(a.ResourceNames) == 0 || len(b.ResourceNames) > 0 && glob.Includes(a.ResourceNames, b.ResourceNames))
}
