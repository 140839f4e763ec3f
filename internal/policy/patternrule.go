package policy

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/pattern"
	"github.com/sallyport-io/sallyport/internal/pod"
	"github.com/sallyport-io/sallyport/internal/request"
)

// patternRule is a compiled validate.pattern or validate.anyPattern.
type patternRule struct {
	pattern       *pattern.Pattern
	allowExisting bool
}

// judge matches the object, or each pod that it makes, against the pattern.
func (p *patternRule) judge(c *call, r *rule, f form, base decision.Result, results []decision.Result) []decision.Result {
	outcome, failures, skipped, err := p.match(c.request.Object, c, f)
	if err != nil {
		return append(results, r.unjudged(base, err))
	}
	switch outcome {
	case pattern.Skip:
		base.Status = decision.Skip
		base.Message = "not applied: the condition at " + skipped + " does not hold"
		return append(results, base)
	case pattern.Pass:
		base.Message = "matches the pattern"
		return append(results, base)
	}
	if p.allowExisting && c.request.Operation == request.Update && c.request.OldObject != nil {
		_, old, _, err := p.match(c.request.OldObject, nil, f)
		if err == nil && amongThem(failures, old) {
			base.Message = "the old object violated the rule in the same way, which allowExistingViolations lets be"
			return append(results, base)
		}
	}
	base.Status, base.Message = decision.Fail, r.message
	if base.Message == "" {
		base.Message = "does not match the pattern"
	}
	for i := range failures {
		base.Findings = append(base.Findings, findingOf(&failures[i]))
	}
	return append(results, c.excuse(r, f, base))
}

// match matches an object, or the options of a CONNECT, in a form of the rule.
// c is nil for the old object.
func (p *patternRule) match(object *pod.Object, c *call, f form) (pattern.Outcome, []pattern.Failure, string, error) {
	if object == nil && c != nil {
		return p.of(p.pattern.Match(c.optionsTree()))
	}
	tree, err := object.Tree()
	if err != nil {
		return pattern.Fail, nil, "", fmt.Errorf("the object cannot be read: %w", err)
	}
	if f == direct {
		return p.of(p.pattern.Match(tree))
	}
	outcome, skipped := pattern.Pass, ""
	var failures []pattern.Failure
	all := true
	for i := range object.Pods {
		at := &object.Pods[i]
		subtree, err := at.Subtree(tree)
		if err != nil {
			return pattern.Fail, nil, "", err
		}
		found := p.pattern.Match(subtree)
		all = all && found.Outcome == pattern.Skip
		switch found.Outcome {
		case pattern.Fail:
			outcome = pattern.Fail
			for _, failure := range found.Failures {
				failure.Path = at.FieldPath(failure.Path)
				failures = append(failures, failure)
			}
		case pattern.Skip:
			skipped = at.FieldPath(found.Skipped)
		}
	}
	if all {
		outcome = pattern.Skip
	}
	return outcome, failures, skipped, nil
}

func (p *patternRule) of(r pattern.Result) (pattern.Outcome, []pattern.Failure, string, error) {
	return r.Outcome, r.Failures, r.Skipped, nil
}

// amongThem reports whether each failure is among the old ones, with the same
// value at the same field.
func amongThem(failures, old []pattern.Failure) bool {
	for i := range failures {
		known := false
		for j := range old {
			known = known || reflect.DeepEqual(failures[i], old[j])
		}
		if !known {
			return false
		}
	}
	return true
}

// findingOf words a failure.
func findingOf(f *pattern.Failure) decision.Finding {
	finding := decision.Finding{Path: f.Path, Detail: f.Detail}
	if f.Missing {
		return finding
	}
	if text, ok := f.Value.(string); ok {
		finding.Value = text
		return finding
	}
	if text, err := json.Marshal(f.Value); err == nil {
		finding.Value = string(text)
	}
	return finding
}
