package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/pod-security-admission/api"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/rules/standard"
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

// ruleReach is a rule of a ClusterPolicy or a Policy, as far as it goes by the
// labels of namespaces.
type ruleReach struct {
	*rule
	reach *match.Reach
}

func newRuleReach(r *rule, pods *pod.Registry) *ruleReach {
	worlds := match.Worlds{Inside: true, Itself: r.kind != KindPolicy}
	var makers func(string) bool
	if r.generated.on {
		makers = func(kind string) bool { return r.generated.covers(kind) && pods.MakesKind(kind) }
	}
	return &ruleReach{r, match.NewReach(r.match, r.exclude, makers, worlds)}
}

func (r *ruleReach) keys() match.LabelKeys {
	keys := r.reach.Keys()
	for i := range r.overrides {
		keys.Add(match.KeysOf(r.overrides[i].selector))
	}
	switch body := r.body.(type) {
	case *standardRule:
		if body.fixed == nil {
			keys.Add(match.LabelKeys{Names: []string{
				api.EnforceLevelLabel, api.EnforceVersionLabel, api.AuditLevelLabel, api.AuditVersionLabel, api.WarnLevelLabel, api.WarnVersionLabel,
			}})
		}
	case *celRule:
		keys.Add(body.validation.LabelKeys())
	}
	return keys
}

// weakerBy says what the rule does less with other labels.
func (r *ruleReach) weakerBy(ctx context.Context, n *relabelled) string {
	if r.namespace != "" && r.namespace != n.Namespace {
		return ""
	}
	var what []string
	if r.reach.Loses(n.Relabelling) {
		what = append(what, "it is about less in the namespace (match, exclude)")
	}
	if before, after := r.actionWith(n.Namespace, n.Before), r.actionWith(n.Namespace, n.After); weaker(before, after) != before && r.reach.Keeps(n.Relabelling) {
		what = append(what, fmt.Sprintf("its action becomes %s, which was %s", actionName(after), actionName(before)))
	}
	switch body := r.body.(type) {
	case *standardRule:
		if lowered := body.lowered(n); lowered != "" && r.reach.Keeps(n.Relabelling) {
			what = append(what, lowered)
		}
	case *celRule:
		if body.validation.MayWeaken(ctx, n.Old, n.New, n.Keys) && r.reach.Keeps(n.Relabelling) {
			what = append(what, "its expressions read the label and may ask for less with it")
		}
	}
	if len(what) == 0 {
		return ""
	}
	return "rule " + r.name + ": " + strings.Join(what, ", and ")
}

func actionName(a decision.Action) v1alpha1.ValidationFailureAction {
	switch a {
	case decision.ActionWarn:
		return v1alpha1.Warn
	case decision.ActionAudit:
		return v1alpha1.Audit
	}
	return v1alpha1.Enforce
}

// actionWith is the action of the rule in a namespace with these labels.
func (r *rule) actionWith(namespace string, set map[string]string) decision.Action {
	for i := range r.overrides {
		o := &r.overrides[i]
		if (!o.named || o.namespaces.Match(namespace)) && (o.selector == nil || o.selector.Matches(labels.Set(set))) {
			return o.action
		}
	}
	return r.action
}

// lowered says which of the standards that the labels of a namespace ask for are
// lower than before, each mode by itself: what makes pods is judged by other modes
// than pods are.
func (s *standardRule) lowered(n *relabelled) string {
	if s.fixed != nil {
		return ""
	}
	if _, exempt := s.exemptions.Match("", n.Namespace, nil); exempt {
		return ""
	}
	before, _ := standard.ForNamespace(n.Before, s.defaults, s.hosts)
	after, _ := standard.ForNamespace(n.After, s.defaults, s.hosts)
	var what []string
	for _, mode := range []struct {
		name          string
		before, after *standard.Standard
	}{
		{"enforce", before.Enforce, after.Enforce}, {"audit", before.Audit, after.Audit}, {"warn", before.Warn, after.Warn},
	} {
		if mode.after.LowerThan(mode.before) {
			what = append(what, fmt.Sprintf("%s becomes %s, which was %s", mode.name, mode.after, mode.before))
		}
	}
	return strings.Join(what, ", and ")
}

// labelKeys are the labels of namespaces that the policy goes by.
func (p *modulePolicy) labelKeys() match.LabelKeys {
	keys := match.KeysOf(p.namespaces)
	keys.Add(p.conditions.LabelKeys())
	return keys
}

// weakerBy says what the policy does less with other labels.
func (p *modulePolicy) weakerBy(ctx context.Context, n *relabelled) string {
	if p.rule.namespace != "" && p.rule.namespace != n.Namespace || p.namespaces != nil && !p.namespaces.Matches(labels.Set(n.Before)) {
		return ""
	}
	switch {
	case p.namespaces != nil && !p.namespaces.Matches(labels.Set(n.After)) && p.conditions.MayHold(ctx, n.Old):
		return "namespaceSelector does not select the namespace any more"
	case p.conditions.MayEnd(ctx, n.Old, n.New, n.Keys):
		return "matchConditions read the label and may leave out more with it"
	}
	return ""
}
