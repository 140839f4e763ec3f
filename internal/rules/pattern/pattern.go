// Package pattern compiles the patterns of rules and compares resources with
// them. Pattern and resource are JSON trees (map[string]any, []any, string, bool,
// int64, float64, nil) that are walked together: each field of the pattern is
// held against the field of the same name. The language is described, rule by
// rule, in docs/patterns.md.
package pattern

import (
	"slices"

	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// Pattern is a compiled pattern, or a list of them of which one has to match.
// It never changes and may be used concurrently.
type Pattern struct {
	// alternatives are the patterns of which one that passes is enough.
	alternatives []node
	notes        []effect.Note
}

// Notes say what in the pattern has less effect than it looks.
func (p *Pattern) Notes() []effect.Note { return p.notes }

// Outcome is how a resource compares with a pattern.
type Outcome uint8

const (
	// Pass says that the resource is as the pattern asks.
	Pass Outcome = iota
	// Skip says that an anchor made the pattern not apply to the resource.
	Skip
	// Fail says that the resource is not as the pattern asks.
	Fail
)

// String returns "pass", "skip" or "fail".
func (o Outcome) String() string {
	switch o {
	case Pass:
		return "pass"
	case Skip:
		return "skip"
	default:
		return "fail"
	}
}

// Result is what Match found.
type Result struct {
	Outcome Outcome
	// Failures stand in the order of the resource's fields; with several patterns
	// they are those of every pattern that failed, one pattern after the other.
	// Empty unless Outcome is Fail.
	Failures []Failure
	// Skipped is the path of the field whose anchor made the pattern not apply.
	// Empty unless Outcome is Skip.
	Skipped string
}

// Failure is one field that is not as the pattern asks.
type Failure struct {
	// Path leads from the resource's root to the field, such as
	// "spec.containers[0].image". Keys with dots or slashes stand in brackets.
	Path string
	// Value is what was found there; nil when Missing.
	Value any
	// Missing says that nothing stands there.
	Missing bool
	// Detail says in words what the pattern asks.
	Detail string
}

// Match compares a resource with the pattern. A single pattern decides by
// itself; of several, one that passes is enough, and if all of them are skipped
// the result is Skip. Match never panics, and allocates only to say what failed
// or was skipped, or to read numbers of unusual size.
func (p *Pattern) Match(resource any) Result {
	if p == nil || len(p.alternatives) == 0 {
		return Result{Outcome: Fail, Failures: []Failure{{Value: resource, Detail: "no pattern is there to match"}}}
	}
	for _, alternative := range p.alternatives {
		if alternative.match(nil, resource) == pass {
			return Result{}
		}
	}
	return p.explain(resource)
}

// explain walks the resource once more, and takes down what failed or was
// skipped. None of the alternatives passes.
func (p *Pattern) explain(resource any) Result {
	result := Result{Outcome: Skip}
	for _, alternative := range p.alternatives {
		var w walk
		switch alternative.match(&w, resource) {
		case fail:
			result.Outcome = Fail
			result.Failures = append(result.Failures, w.inOrder()...)
		case skip, skipItems, skipAll:
			if result.Skipped == "" {
				result.Skipped = pathOf(w.skipped)
			}
		}
	}
	if result.Outcome == Fail {
		result.Skipped = ""
	}
	return result
}

// MatchWritten is Match for a resource that others add to: what it has must be as
// the pattern asks, and what it has not may still come.
func (p *Pattern) MatchWritten(resource any) Result {
	first := p.Match(resource)
	if first.Outcome != Fail || p == nil {
		return first
	}
	result := Result{Outcome: Fail}
	for _, alternative := range p.alternatives {
		var w walk
		v := alternative.match(&w, resource)
		all := w.inOrder()
		written := slices.DeleteFunc(slices.Clone(all), func(f Failure) bool { return f.Missing })
		if v == fail && len(all) > 0 && len(written) == 0 {
			return Result{}
		}
		result.Failures = append(result.Failures, written...)
	}
	return result
}
