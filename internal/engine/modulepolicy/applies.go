package modulepolicy

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Applies reports whether the module is asked about the request.
func (p *Policy) Applies(c *call.Call, modules Modules) (bool, error) {
	r := c.Request
	if p.Rule.Namespace != "" && (r.Namespace != p.Rule.Namespace || isNamespace(r)) {
		return false, nil
	}
	if !slices.ContainsFunc(p.RulesOf(modules), func(w *WebhookRule) bool { return w.about(r) }) || p.objects != nil && !p.selects(c) {
		return false, nil
	}
	if ok, err := p.inNamespace(c); err != nil || !ok {
		return false, err
	}
	if p.conditions == nil {
		return true, nil
	}
	input, err := c.ExpressionInput(p.conditions.NeedsNamespace())
	if err != nil {
		return false, err
	}
	holds, which, err := p.conditions.Hold(c.Ctx, input)
	if err != nil {
		return false, fmt.Errorf("matchConditions %q: %w", which, err)
	}
	return holds, nil
}

// inNamespace is namespaceSelector, which what has no namespace meets. A Namespace
// goes by its own labels, those that it has or those that it is to have: nobody
// labels one out of the policies that are about it.
func (p *Policy) inNamespace(c *call.Call) (bool, error) {
	r := c.Request
	switch {
	case p.Namespaces == nil:
		return true, nil
	case isNamespace(r) && r.OldObject != nil && p.Namespaces.Matches(labels.Set(r.OldObject.Meta.Labels)):
		return true, nil
	case !isNamespace(r) && r.Namespace == "":
		return true, nil
	}
	found, err := c.Target().NamespaceLabels()
	if err != nil {
		return false, err
	}
	return p.Namespaces.Matches(labels.Set(found)), nil
}

// isNamespace reports whether a request is about a Namespace itself, which comes as
// if it were in itself.
func isNamespace(r *request.Request) bool {
	return r.Resource.Group == "" && r.Resource.Resource == "namespaces"
}

// selects is objectSelector, which the object, or what it was before, has to meet.
// What is not an object, such as the options of an exec, meets none.
func (p *Policy) selects(c *call.Call) bool {
	r := c.Request
	return r.Object != nil && p.objects.Matches(labels.Set(r.Object.Meta.Labels)) ||
		r.OldObject != nil && p.objects.Matches(labels.Set(r.OldObject.Meta.Labels))
}
