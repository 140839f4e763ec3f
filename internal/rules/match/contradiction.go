package match

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// wanted is what a selector asks of one label.
type wanted struct {
	there, absent bool
	// values are those that are left; limited is set where they are limited at all.
	values  []string
	limited bool
}

// checkContradictions refuses a selector that asks of a label what no label can
// be: to be there and not to be there, or a value of which none is left.
func checkContradictions(s *metav1.LabelSelector, path *field.Path) field.ErrorList {
	asked := map[string]*wanted{}
	of := func(key string) *wanted {
		if asked[key] == nil {
			asked[key] = &wanted{}
		}
		return asked[key]
	}
	var excluded []*metav1.LabelSelectorRequirement
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		switch w := of(e.Key); e.Operator {
		case metav1.LabelSelectorOpIn:
			w.there = true
			w.keep(func(value string) bool { return slices.Contains(e.Values, value) }, e.Values)
		case metav1.LabelSelectorOpNotIn:
			excluded = append(excluded, e)
		case metav1.LabelSelectorOpExists:
			w.there = true
		case metav1.LabelSelectorOpDoesNotExist:
			w.absent = true
		}
	}
	for key, pattern := range s.MatchLabels {
		if glob.IsPattern(key) {
			continue
		}
		w := of(key)
		w.there = true
		var exact []string
		if !glob.IsPattern(pattern) {
			exact = []string{pattern}
		}
		w.keep(func(value string) bool { return glob.Match(pattern, value) }, exact)
	}
	for _, e := range excluded {
		of(e.Key).keep(func(value string) bool { return !slices.Contains(e.Values, value) }, nil)
	}
	var errs field.ErrorList
	for key, w := range asked {
		if w.there && (w.absent || w.limited && len(w.values) == 0) {
			errs = append(errs, field.Invalid(path, key, fmt.Sprintf("selects nothing: what it asks of the label %q cannot all hold", key)))
		}
	}
	slices.SortFunc(errs, func(a, b *field.Error) int {
		return slices.Compare([]string{a.Error()}, []string{b.Error()})
	})
	return errs
}

// SelectsNothing names a label of which a selector asks what no label can be; false where
// there is none.
func SelectsNothing(s *metav1.LabelSelector) (key string, ok bool) {
	if s == nil {
		return "", false
	}
	errs := checkContradictions(s, nil)
	if len(errs) == 0 {
		return "", false
	}
	return fmt.Sprint(errs[0].BadValue), true
}

// keep narrows the values to those that hold; values are the only ones that can,
// nil where they cannot be listed.
func (w *wanted) keep(holds func(string) bool, values []string) {
	switch {
	case w.limited:
		w.values = slices.DeleteFunc(w.values, func(value string) bool { return !holds(value) })
	case values != nil:
		w.limited, w.values = true, slices.Clone(values)
	}
}
