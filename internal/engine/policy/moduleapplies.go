package policy

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// applies reports whether the module is asked about the request.
func (p *modulePolicy) applies(c *call, modules Modules) (bool, error) {
	r := c.request
	if p.rule.namespace != "" && (r.Namespace != p.rule.namespace || isNamespace(r)) {
		return false, nil
	}
	if !slices.ContainsFunc(p.rulesOf(modules), func(w *webhookRule) bool { return w.about(r) }) || p.objects != nil && !p.selects(c) {
		return false, nil
	}
	if ok, err := p.inNamespace(c); err != nil || !ok {
		return false, err
	}
	if p.conditions == nil {
		return true, nil
	}
	input, err := c.expressionInput(p.conditions.NeedsNamespace())
	if err != nil {
		return false, err
	}
	holds, which, err := p.conditions.Hold(c.ctx, input)
	if err != nil {
		return false, fmt.Errorf("matchConditions %q: %w", which, err)
	}
	return holds, nil
}

// inNamespace is namespaceSelector, which what has no namespace meets. A Namespace
// goes by its own labels, those that it has or those that it is to have: nobody
// labels one out of the policies that are about it.
func (p *modulePolicy) inNamespace(c *call) (bool, error) {
	r := c.request
	switch {
	case p.namespaces == nil:
		return true, nil
	case isNamespace(r) && r.OldObject != nil && p.namespaces.Matches(labels.Set(r.OldObject.Meta.Labels)):
		return true, nil
	case !isNamespace(r) && r.Namespace == "":
		return true, nil
	}
	found, err := c.target().NamespaceLabels()
	if err != nil {
		return false, err
	}
	return p.namespaces.Matches(labels.Set(found)), nil
}

// isNamespace reports whether a request is about a Namespace itself, which comes as
// if it were in itself.
func isNamespace(r *request.Request) bool {
	return r.Resource.Group == "" && r.Resource.Resource == "namespaces"
}

// selects is objectSelector, which the object, or what it was before, has to meet.
// What is not an object, such as the options of an exec, meets none.
func (p *modulePolicy) selects(c *call) bool {
	r := c.request
	return r.Object != nil && p.objects.Matches(labels.Set(r.Object.Meta.Labels)) ||
		r.OldObject != nil && p.objects.Matches(labels.Set(r.OldObject.Meta.Labels))
}
