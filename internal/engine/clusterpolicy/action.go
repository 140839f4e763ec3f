package clusterpolicy

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// actionOverride is another action in some namespaces.
type actionOverride struct {
	action     decision.Action
	namespaces glob.List
	named      bool
	selector   labels.Selector
}

// compileAction reads an action; it is empty where none is given.
func compileAction(action v1alpha1.ValidationFailureAction, path *field.Path) (decision.Action, *field.Error) {
	switch action {
	case "":
		return "", nil
	case v1alpha1.Enforce, "enforce":
		return decision.Enforce, nil
	case v1alpha1.Warn, "warn":
		return decision.ActionWarn, nil
	case v1alpha1.Audit, "audit":
		return decision.ActionAudit, nil
	}
	return "", field.NotSupported(path, action, []v1alpha1.ValidationFailureAction{v1alpha1.Enforce, v1alpha1.Warn, v1alpha1.Audit})
}

func compileOverrides(list []v1alpha1.FailureActionOverride, path *field.Path) ([]actionOverride, field.ErrorList) {
	var compiled []actionOverride
	var errs field.ErrorList
	for i := range list {
		source, at := &list[i], path.Index(i)
		o := actionOverride{named: source.Namespaces != nil, namespaces: glob.NewList(source.Namespaces)}
		action, err := compileAction(source.Action, at.Child("action"))
		switch {
		case err != nil:
			errs = append(errs, err)
		case action == "":
			errs = append(errs, field.Required(at.Child("action"), "give Enforce, Warn or Audit"))
		}
		o.action = action
		if source.NamespaceSelector != nil {
			if len(source.NamespaceSelector.MatchLabels)+len(source.NamespaceSelector.MatchExpressions) == 0 {
				errs = append(errs, field.Required(at.Child("namespaceSelector"), "selects every namespace; give matchLabels or matchExpressions"))
			}
			selector, err := metav1.LabelSelectorAsSelector(source.NamespaceSelector)
			if err != nil {
				errs = append(errs, field.Invalid(at.Child("namespaceSelector"), "", err.Error()))
			}
			o.selector = selector
		}
		if len(source.Namespaces) == 0 && (source.NamespaceSelector == nil || source.Namespaces != nil) {
			errs = append(errs, field.Required(at.Child("namespaces"), "selects no namespace; name one or more, or give namespaceSelector"))
		}
		for j, name := range source.Namespaces {
			if err := match.CheckNamespacePattern(name); err != nil {
				errs = append(errs, effect.NameNeverThere.Error(at.Child("namespaces").Index(j), name, err))
			}
		}
		compiled = append(compiled, o)
	}
	return compiled, errs
}

// actionFor is the action that an override gives in the request's namespace;
// empty where none does.
func (r *Rule) actionFor(c *call.Call) (decision.Action, error) {
	namespace := c.Request.Namespace
	for i := range r.overrides {
		o := &r.overrides[i]
		if namespace == "" || o.named && !o.namespaces.Match(namespace) {
			continue
		}
		if o.selector != nil {
			set, err := c.NamespaceLabels()
			if err != nil {
				return "", fmt.Errorf("the labels of namespace %q, which validationFailureActionOverrides goes by, cannot be read: %w", namespace, err)
			}
			if !o.selector.Matches(labels.Set(set)) {
				continue
			}
		}
		return o.action, nil
	}
	return "", nil
}
