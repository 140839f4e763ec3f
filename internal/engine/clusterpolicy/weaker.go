package clusterpolicy

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/pod-security-admission/api"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/rules/standard"
)

// RuleReach is a rule of a ClusterPolicy or a Policy, as far as it goes by the
// labels of namespaces.
type RuleReach struct {
	*Rule
	Reach *match.Reach
}

// NewRuleReach finds out how a rule goes by namespaces; pods are the kinds that make pods.
func NewRuleReach(r *Rule, pods *pod.Registry) *RuleReach {
	worlds := match.Worlds{Inside: true, Itself: r.Kind != stored.KindPolicy}
	var makers func(string) bool
	if r.Generated.On {
		makers = func(kind string) bool { return r.Generated.Covers(kind) && pods.MakesKind(kind) }
	}
	return &RuleReach{r, match.NewReach(r.Match, r.exclude, makers, worlds)}
}

// Keys are the labels of namespaces that the rule goes by.
func (r *RuleReach) Keys() match.LabelKeys {
	keys := r.Reach.Keys()
	for i := range r.overrides {
		keys.Add(match.KeysOf(r.overrides[i].selector))
	}
	switch body := r.Body.(type) {
	case *StandardRule:
		if body.Fixed == nil {
			keys.Add(match.LabelKeys{Names: []string{
				api.EnforceLevelLabel, api.EnforceVersionLabel, api.AuditLevelLabel, api.AuditVersionLabel, api.WarnLevelLabel, api.WarnVersionLabel,
			}})
		}
	case *celRule:
		keys.Add(body.validation.LabelKeys())
	}
	return keys
}

// WeakerBy says what the rule does less with other labels.
func (r *RuleReach) WeakerBy(ctx context.Context, n *call.Relabelled) string {
	if r.Namespace != "" && r.Namespace != n.Namespace {
		return ""
	}
	var what []string
	if r.Reach.Loses(n.Relabelling) {
		what = append(what, "it is about less in the namespace (match, exclude)")
	}
	if before, after := r.actionWith(n.Namespace, n.Before), r.actionWith(n.Namespace, n.After); weaker(before, after) != before && r.Reach.Keeps(n.Relabelling) {
		what = append(what, fmt.Sprintf("its action becomes %s, which was %s", actionName(after), actionName(before)))
	}
	switch body := r.Body.(type) {
	case *StandardRule:
		if lowered := body.lowered(n); lowered != "" && r.Reach.Keeps(n.Relabelling) {
			what = append(what, lowered)
		}
	case *celRule:
		if body.validation.MayWeaken(ctx, n.Old, n.New, n.Keys) && r.Reach.Keeps(n.Relabelling) {
			what = append(what, "its expressions read the label and may ask for less with it")
		}
	}
	if len(what) == 0 {
		return ""
	}
	return "rule " + r.Name + ": " + strings.Join(what, ", and ")
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
func (r *Rule) actionWith(namespace string, set map[string]string) decision.Action {
	for i := range r.overrides {
		o := &r.overrides[i]
		if (!o.named || o.namespaces.Match(namespace)) && (o.selector == nil || o.selector.Matches(labels.Set(set))) {
			return o.action
		}
	}
	return r.Action
}

// lowered says which of the standards that the labels of a namespace ask for are
// lower than before, each mode by itself: what makes pods is judged by other modes
// than pods are.
func (s *StandardRule) lowered(n *call.Relabelled) string {
	if s.Fixed != nil {
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
