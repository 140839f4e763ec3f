package exception

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/glob"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// Cache keeps what each exception was compiled to, so that of many only those are
// compiled again that have changed. It is not safe for concurrent use; the sets that
// come of it are.
type Cache struct {
	options Options
	trusted glob.List
	// parts are found by the object as it was decoded, which is another one as soon
	// as it says something else. policies and broken are the rules about exceptions
	// that they go by.
	parts    map[any]*part
	rules    map[*v1alpha1.ExceptionPolicy]rule
	policies []source.Of[*v1alpha1.ExceptionPolicy]
	broken   []BrokenPolicy
}

// NewCache makes a Kept of nothing. options hold for all that it compiles.
func NewCache(options Options) *Cache {
	return &Cache{options: options, trusted: glob.NewList(options.TrustedNamespaces)}
}

// changed takes the rules about exceptions, and reports whether they are others than
// before.
func (k *Cache) changed(policies []source.Of[*v1alpha1.ExceptionPolicy], broken []BrokenPolicy) bool {
	same := slices.Equal(k.policies, policies) && len(k.broken) == len(broken) && (len(broken) == 0 || reflect.DeepEqual(k.broken, broken))
	k.policies, k.broken = slices.Clone(policies), slices.Clone(broken)
	return !same
}

// rule is what an ExceptionPolicy was compiled to.
type rule struct {
	compiled *exceptionPolicy
	errs     field.ErrorList
}

// part is what an exception, or a request with what answers it, was compiled to. It is
// not changed after that.
type part struct {
	// answer is what a request was compiled with; nil if nothing answers it.
	answer *v1alpha1.PolicyExceptionResponse
	// passes excuse if there are no errs, and void say why they do not.
	passes, void []*Exception
	errs         field.ErrorList
	warnings     source.Problems

	// matches and conditions are what entries share while they are compiled.
	// Conditions are found by the first of a list.
	matches    map[*v1alpha1.Match]sharedMatch
	conditions map[*v1alpha1.CELCondition]sharedConditions
}

// part is what an object came to with an answer, compiled if it is not kept.
func (c *compiler) part(object any, answer *v1alpha1.PolicyExceptionResponse, compile func(*part)) *part {
	made := c.parts[object]
	if made == nil || made.answer != answer {
		made = &part{answer: answer, matches: map[*v1alpha1.Match]sharedMatch{}, conditions: map[*v1alpha1.CELCondition]sharedConditions{}}
		compile(made)
		made.matches, made.conditions = nil, nil
	}
	c.used[object] = made
	return made
}

// include takes from a part what counts whether or not it excuses.
func (c *compiler) include(made *part) {
	c.void = append(c.void, made.void...)
	c.set.warnings = append(c.set.warnings, made.warnings...)
}
