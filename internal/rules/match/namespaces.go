package match

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Namespaces is a compiled NamespaceFilter.
type Namespaces struct {
	written   *v1alpha1.NamespaceFilter
	patterns  glob.List
	hasNames  bool
	selectors []labels.Selector
}

// CompileNamespaces compiles a filter that stands at path. A nil filter selects
// nothing. A filter that can select nothing, an empty pattern and a selector
// that does not parse are errors.
func CompileNamespaces(filter *v1alpha1.NamespaceFilter, path *field.Path) (*Namespaces, field.ErrorList) {
	if filter == nil {
		return nil, nil
	}
	var errs field.ErrorList
	if len(filter.Patterns) == 0 && len(filter.SelectorTerms) == 0 {
		return nil, field.ErrorList{field.Required(path, "names no namespace; list names or patterns, or give patterns or selectorTerms, or leave the field out")}
	}
	n := &Namespaces{written: filter, patterns: glob.NewList(filter.Patterns), hasNames: len(filter.Patterns) > 0}
	for i, pattern := range filter.Patterns {
		if err := CheckNamespacePattern(pattern); err != nil {
			errs = append(errs, field.Invalid(path.Child("patterns").Index(i), pattern, err.Error()))
		}
	}
	for i := range filter.SelectorTerms {
		at := path.Child("selectorTerms").Index(i)
		term := &filter.SelectorTerms[i]
		if len(term.MatchLabels) == 0 && len(term.MatchExpressions) == 0 {
			errs = append(errs, field.Required(at, "selects every namespace; give matchLabels or matchExpressions, or write the pattern \"*\" if every namespace is meant"))
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(term)
		if err != nil {
			errs = append(errs, field.Invalid(at, *term, err.Error()))
			continue
		}
		n.selectors = append(n.selectors, selector)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return n, nil
}

// Select reports whether the namespace is selected. labels is called only if the
// name does not decide; its error is returned.
func (n *Namespaces) Select(name string, namespaceLabels func() (map[string]string, error)) (bool, error) {
	if n == nil {
		return false, nil
	}
	if n.patterns.Match(name) {
		return true, nil
	}
	if len(n.selectors) == 0 || name == "" {
		return false, nil
	}
	set, err := namespaceLabels()
	if err != nil {
		return false, fmt.Errorf("the labels of namespace %q cannot be read: %w", name, err)
	}
	for _, selector := range n.selectors {
		if selector.Matches(labels.Set(set)) {
			return true, nil
		}
	}
	return false, nil
}

// Includes reports whether every namespace that other selects is selected, by what is
// written: labels that only imply others are not looked for.
func (n *Namespaces) Includes(other *Namespaces) bool {
	if other == nil {
		return true
	}
	if n == nil || !glob.Includes(n.written.Patterns, other.written.Patterns) {
		return false
	}
	return glob.Includes(n.written.Patterns, []string{"*"}) || !slices.ContainsFunc(other.written.SelectorTerms, func(term metav1.LabelSelector) bool {
		return !slices.ContainsFunc(n.written.SelectorTerms, func(mine metav1.LabelSelector) bool { return equality.Semantic.DeepEqual(mine, term) })
	})
}

// CheckNamespacePattern refuses a name, or a pattern, that no namespace can match.
func CheckNamespacePattern(pattern string) error {
	if pattern == "" {
		return fmt.Errorf("an empty name matches no namespace")
	}
	for _, r := range pattern {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-*?", r) {
			return fmt.Errorf("matches no namespace: names of namespaces hold lower-case letters, digits and -, patterns also * and ?; %q is none of these", r)
		}
	}
	return nil
}
