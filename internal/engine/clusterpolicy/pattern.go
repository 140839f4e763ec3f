package clusterpolicy

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/pattern"
)

// patternRule is a compiled validate.pattern or validate.anyPattern.
type patternRule struct {
	pattern       *pattern.Pattern
	allowExisting bool
	// asPod is set where the pattern may ask for what a template does not hold and
	// the Pod that it makes does: its kind, and its namespace.
	asPod bool
}

// judge matches the object, or each pod that it makes, against the pattern.
func (p *patternRule) judge(c *call.Call, r *Rule, f form, base decision.Result, results []decision.Result) []decision.Result {
	found, err := p.matchRequest(c, f)
	if err != nil {
		return append(results, r.Unjudged(base, err))
	}
	switch found.Outcome {
	case pattern.Skip:
		base.Status = decision.Skip
		base.Message = "not applied: the condition at " + found.Skipped + " does not hold"
		return append(results, base)
	case pattern.Pass:
		base.Message = "matches the pattern"
		return append(results, base)
	}
	if p.allowExisting && c.Request.Operation == request.Update && c.Request.OldObject != nil && r.heldBefore(c, f, &base) {
		old, err := p.match(c, c.Request.OldObject, f)
		if err == nil && amongThem(found.Failures, old.Failures) {
			base.Message = "the old object violated the rule in the same way, which allowExistingViolations lets be"
			return append(results, base)
		}
	}
	base.Status, base.Message = decision.Fail, r.Message
	if base.Message == "" {
		base.Message = "does not match the pattern"
	}
	for i := range found.Failures {
		finding := findingOf(&found.Failures[i])
		if c.Request.Object == nil && !call.Showable[finding.Path] {
			finding.Value = ""
		}
		base.Findings = append(base.Findings, finding)
	}
	return append(results, Excuse(c, r, base))
}

// matchRequest matches the object of the request or, where it has none, the
// options of its CONNECT.
func (p *patternRule) matchRequest(c *call.Call, f form) (pattern.Result, error) {
	if c.Request.Object == nil {
		options, err := c.OptionsTree()
		if err != nil {
			return pattern.Result{}, err
		}
		return p.pattern.Match(options), nil
	}
	return p.match(c, c.Request.Object, f)
}

// match matches an object in a form of the rule.
func (p *patternRule) match(c *call.Call, object *pod.Object, f form) (pattern.Result, error) {
	tree, err := object.Tree()
	if err != nil {
		return pattern.Result{}, fmt.Errorf("the object cannot be read: %w", err)
	}
	if f == Direct {
		return p.pattern.Match(tree), nil
	}
	together := pattern.Result{Outcome: pattern.Pass}
	all := true
	for i := range object.Pods {
		at := &object.Pods[i]
		subtree, err := at.Subtree(tree)
		if err == nil && p.asPod {
			subtree, err = AsPod(at, tree, c.Request.Namespace)
		}
		if err != nil {
			return pattern.Result{}, err
		}
		match := p.pattern.Match
		if at.Completed {
			match = p.pattern.MatchWritten
		}
		found := match(subtree)
		all = all && found.Outcome == pattern.Skip
		switch found.Outcome {
		case pattern.Fail:
			together.Outcome = pattern.Fail
			for _, failure := range found.Failures {
				failure.Path = at.FieldPath(failure.Path)
				together.Failures = append(together.Failures, failure)
			}
		case pattern.Skip:
			together.Skipped = at.FieldPath(found.Skipped)
		}
	}
	if all {
		together.Outcome = pattern.Skip
	}
	return together, nil
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
