package match

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// selector is a compiled LabelSelector, whose matchLabels may have wildcards in
// keys and values.
type selector struct {
	labels []pair
	// expressions is nil where there are none.
	expressions labels.Selector
}

func (s *selector) match(set map[string]string) bool {
	return matchPairs(s.labels, set) && (s.expressions == nil || s.expressions.Matches(labels.Set(set)))
}

// required returns labels, of which everything that is selected has one: the one
// of the matchLabels that comes first, else the values of an expression; nil if
// there is none that is exact.
func (s *selector) required() []Label {
	if s == nil {
		return nil
	}
	for i := range s.labels {
		if p := &s.labels[i]; !p.key.pattern && !p.value.pattern {
			return []Label{{p.key.text, p.value.text}}
		}
	}
	if s.expressions == nil {
		return nil
	}
	requirements, _ := s.expressions.Requirements()
	for _, r := range requirements {
		if r.Operator() != selection.In && r.Operator() != selection.Equals && r.Operator() != selection.DoubleEquals {
			continue
		}
		var list []Label
		for _, value := range slices.Sorted(slices.Values(r.ValuesUnsorted())) {
			list = append(list, Label{r.Key(), value})
		}
		return list
	}
	return nil
}

// compileSelector compiles a selector that stands at path. One that selects
// everything without saying so is an error, as is one that can select nothing.
func compileSelector(source *metav1.LabelSelector, path *field.Path) (*selector, field.ErrorList) {
	if len(source.MatchLabels) == 0 && len(source.MatchExpressions) == 0 {
		return nil, field.ErrorList{field.Required(path, "is empty and selects everything; give matchLabels or matchExpressions, or leave the field out")}
	}
	var errs field.ErrorList
	pairs, errs := compilePairs(source.MatchLabels, path.Child("matchLabels"), checkLabelKey, checkLabelValue)
	s := &selector{labels: pairs}
	for i := range source.MatchExpressions {
		one := &metav1.LabelSelector{MatchExpressions: source.MatchExpressions[i : i+1]}
		parsed, err := metav1.LabelSelectorAsSelector(one)
		if err != nil {
			at := path.Child("matchExpressions").Index(i)
			errs = append(errs, field.Invalid(at, source.MatchExpressions[i].Key, err.Error()+"; operators are In, NotIn, Exists and DoesNotExist, and wildcards work only in matchLabels"))
			continue
		}
		if s.expressions == nil {
			s.expressions = labels.NewSelector()
		}
		requirements, _ := parsed.Requirements()
		s.expressions = s.expressions.Add(requirements...)
	}
	if len(errs) == 0 {
		errs = checkContradictions(source, path)
	}
	return s, errs
}

// pair is a label or an annotation that has to be there.
type pair struct{ key, value part }

// matchPairs reports whether each pair is in the set.
func matchPairs(pairs []pair, set map[string]string) bool {
	for i := range pairs {
		if !pairs[i].in(set) {
			return false
		}
	}
	return true
}

func (p *pair) in(set map[string]string) bool {
	if !p.key.pattern {
		value, ok := set[p.key.text]
		return ok && p.value.match(value)
	}
	for key, value := range set {
		if p.key.match(key) && p.value.match(value) {
			return true
		}
	}
	return false
}

// compilePairs compiles a map of labels or annotations in the order of its keys.
func compilePairs(source map[string]string, path *field.Path, checkKey, checkValue func(string) string) ([]pair, field.ErrorList) {
	var errs field.ErrorList
	pairs := make([]pair, 0, len(source))
	for _, key := range slices.Sorted(maps.Keys(source)) {
		value := source[key]
		if problem := checkKey(key); problem != "" {
			errs = append(errs, field.Invalid(path.Key(key), key, problem))
		}
		if problem := checkValue(value); problem != "" {
			errs = append(errs, field.Invalid(path.Key(key), value, problem))
		}
		pairs = append(pairs, pair{key: newPart(key), value: newPart(value)})
	}
	return pairs, errs
}

func compileAnnotations(source map[string]string, path *field.Path) ([]pair, field.ErrorList) {
	if len(source) == 0 {
		return nil, field.ErrorList{field.Required(path, "an empty map matches nothing; give at least one annotation, or leave the field out")}
	}
	return compilePairs(source, path, checkLabelKey, func(string) string { return "" })
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// checkLabelKey refuses a key, or a pattern for keys, that no label and no
// annotation can have.
func checkLabelKey(key string) string {
	if !glob.IsPattern(key) {
		// The prefix of an annotation may be in capitals.
		prefix, name, found := strings.Cut(key, "/")
		if found {
			key = strings.ToLower(prefix) + "/" + name
		}
		return strings.Join(validation.IsQualifiedName(key), "; ")
	}
	if !only(key, letters+"-_./*?") || strings.Count(key, "/") > 1 {
		return "matches no key: keys hold letters, digits, -, _, . and one /, patterns also * and ?"
	}
	return ""
}

func checkLabelValue(value string) string {
	if !glob.IsPattern(value) {
		return strings.Join(validation.IsValidLabelValue(value), "; ")
	}
	if !only(value, letters+"-_.*?") {
		return "matches no value: values of labels hold letters, digits, -, _ and ., patterns also * and ?"
	}
	return ""
}
