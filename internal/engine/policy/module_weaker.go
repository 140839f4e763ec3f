package policy

import (
	"context"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// excused is what a module is about, for exceptions.
func (p *modulePolicy) excused() pass.Excused {
	inside := p.rule.namespace != "" || !slices.ContainsFunc(p.rules, func(w *webhookRule) bool {
		return w.scope != admissionregistrationv1.NamespacedScope && !w.knownNamespaced()
	})
	return pass.Excused{In: match.Space{Namespace: p.rule.namespace, Namespaced: inside}}
}

// knownNamespaced reports whether all that the rule names is known to be in namespaces.
func (w *webhookRule) knownNamespaced() bool {
	return allNamespaced(w.groups, w.resources)
}

func (p *modulePolicy) ref() PolicyRef {
	return PolicyRef{p.rule.kind, p.rule.namespace, p.rule.policy}
}

// changesRights reports whether a policy of a namespace would change roles or
// bindings: whoever may write such a policy could give himself what an administrator
// gives to somebody else.
func (p *modulePolicy) changesRights(r *request.Request) bool {
	return p.rule.namespace != "" && r.Resource.Group == "rbac.authorization.k8s.io"
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
