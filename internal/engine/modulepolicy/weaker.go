package modulepolicy

import (
	"context"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/builtin"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// Excused is what a module is about, for exceptions.
func (p *Policy) Excused() exception.Excused {
	inside := p.Rule.Namespace != "" || !slices.ContainsFunc(p.Rules, func(w *WebhookRule) bool {
		return w.Scope != admissionregistrationv1.NamespacedScope && !w.KnownNamespaced()
	})
	return exception.Excused{In: match.Space{Namespace: p.Rule.Namespace, Namespaced: inside}}
}

// KnownNamespaced reports whether all that the rule names is known to be in namespaces.
func (w *WebhookRule) KnownNamespaced() bool {
	return builtin.AllNamespaced(w.Groups, w.Resources)
}

func (p *Policy) ref() stored.Ref {
	return stored.Ref{Kind: p.Rule.Kind, Namespace: p.Rule.Namespace, Name: p.Rule.Policy}
}

// ChangesRights reports whether a policy of a namespace would change roles or
// bindings: whoever may write such a policy could give himself what an administrator
// gives to somebody else.
func (p *Policy) ChangesRights(r *request.Request) bool {
	return p.Rule.Namespace != "" && r.Resource.Group == "rbac.authorization.k8s.io"
}

// LabelKeys are the labels of namespaces that the policy goes by.
func (p *Policy) LabelKeys() match.LabelKeys {
	keys := match.KeysOf(p.Namespaces)
	keys.Add(p.conditions.LabelKeys())
	return keys
}

// WeakerBy says what the policy does less with other labels.
func (p *Policy) WeakerBy(ctx context.Context, n *call.Relabelled) string {
	if p.Rule.Namespace != "" && p.Rule.Namespace != n.Namespace || p.Namespaces != nil && !p.Namespaces.Matches(labels.Set(n.Before)) {
		return ""
	}
	switch {
	case p.Namespaces != nil && !p.Namespaces.Matches(labels.Set(n.After)) && p.conditions.MayHold(ctx, n.Old):
		return "namespaceSelector does not select the namespace any more"
	case p.conditions.MayEnd(ctx, n.Old, n.New, n.Keys):
		return "matchConditions read the label and may leave out more with it"
	}
	return ""
}
