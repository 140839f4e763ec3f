package risk

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// Compile compiles the rules that stand at path. What cannot do what it says is
// an error: there is one for each field at fault, and no Rules then.
func Compile(rules *v1alpha1.PodSecurityRules, path *field.Path) (*Rules, field.ErrorList) {
	c := compiler{out: &Rules{}}
	if len(rules.Thresholds) == 0 && len(rules.BlockFactors) == 0 {
		c.errs = append(c.errs, field.Required(path, "judges nothing; give thresholds, or blockFactors, or both"))
	}
	c.subresources(rules.AppliesTo, path.Child("appliesTo"))
	c.modes(rules, path)
	c.weights(&rules.RiskFactors, path.Child("riskFactors"))
	c.thresholds(rules.Thresholds, path.Child("thresholds"))
	c.blockFactors(rules.BlockFactors, path.Child("blockFactors"))
	c.exemptions(rules.Exemptions, path.Child("exemptions"))
	c.together(rules, path)
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	return c.out, nil
}

type compiler struct {
	out  *Rules
	errs field.ErrorList
}

func (c *compiler) invalid(path *field.Path, found any, format string, args ...any) {
	c.errs = append(c.errs, field.Invalid(path, found, fmt.Sprintf(format, args...)))
}

func (c *compiler) subresources(scope *v1alpha1.PodSecurityScope, path *field.Path) {
	c.out.subresources = defaultSubresources
	if scope == nil || scope.Subresources == nil {
		return
	}
	path = path.Child("subresources")
	if len(scope.Subresources) == 0 {
		c.errs = append(c.errs, field.Required(path, "names no subresource, and so nothing would be judged; name some, or leave the field out for "+strings.Join(defaultSubresources, ", ")))
		return
	}
	for i, name := range scope.Subresources {
		if !slices.Contains(AccessPoints, name) {
			c.invalid(path.Index(i), name, "is none of the subresources %s%s",
				strings.Join(AccessPoints, ", "), didYouMean(strings.TrimPrefix(name, "pods/"), AccessPoints))
		}
	}
	c.out.subresources = slices.Clone(scope.Subresources)
}

func (c *compiler) modes(rules *v1alpha1.PodSecurityRules, path *field.Path) {
	switch rules.Scope {
	case "":
		c.out.scope = v1alpha1.ScopePod
	case v1alpha1.ScopePod, v1alpha1.ScopeContainer:
		c.out.scope = rules.Scope
	default:
		c.invalid(path.Child("scope"), rules.Scope, "is none of the scopes pod and container")
	}
	switch rules.FailMode {
	case "", v1alpha1.FailClosed:
	case v1alpha1.FailOpen:
		c.out.failOpen = true
	default:
		c.invalid(path.Child("failMode"), rules.FailMode, "is none of the fail modes closed and open")
	}
}

// maxScore checks the bound of a threshold and returns it.
func (c *compiler) maxScore(thresholds []v1alpha1.RiskThreshold, i int, at *field.Path) int {
	score := thresholds[i].MaxScore
	if score == nil {
		c.errs = append(c.errs, field.Required(at, "the highest score that the threshold holds for"))
		return 0
	}
	if *score < 0 {
		c.invalid(at, *score, "no score is below 0")
	}
	if i > 0 && thresholds[i-1].MaxScore != nil && *score <= *thresholds[i-1].MaxScore {
		c.invalid(at, *score, "thresholds must ascend: give a maxScore above %d, that of the threshold before, or put them in order", *thresholds[i-1].MaxScore)
	}
	return int(*score)
}

// actions from the mildest to the strictest.
var actions = []string{
	string(v1alpha1.ActionAllow), string(v1alpha1.ActionWarn), string(v1alpha1.ActionRequireApproval), string(v1alpha1.ActionDeny),
}

func knownAction(action v1alpha1.RiskAction) bool { return slices.Contains(actions, string(action)) }

func (c *compiler) thresholds(thresholds []v1alpha1.RiskThreshold, path *field.Path) {
	for i := range thresholds {
		t, at := &thresholds[i], path.Index(i)
		score := c.maxScore(thresholds, i, at.Child("maxScore"))
		switch {
		case t.Action == "":
			c.errs = append(c.errs, field.Required(at.Child("action"), "one of "+strings.Join(actions, ", ")))
		case !knownAction(t.Action):
			c.invalid(at.Child("action"), t.Action, "is none of the actions %s%s", strings.Join(actions, ", "), didYouMean(string(t.Action), actions))
		}
		c.milder(thresholds, i, at.Child("action"))
		compiled := threshold{most: score, action: t.Action}
		if t.Reason != "" {
			reason, err := parseReason(t.Reason)
			if err != nil {
				c.invalid(at.Child("reason"), t.Reason, "%v", err)
			}
			compiled.reason = reason
		}
		c.out.thresholds = append(c.out.thresholds, compiled)
	}
}

// milder refuses a threshold that a higher score reaches and that leads to less
// than the one before it.
func (c *compiler) milder(thresholds []v1alpha1.RiskThreshold, i int, at *field.Path) {
	if i == 0 {
		return
	}
	before, t := &thresholds[i-1], &thresholds[i]
	if !knownAction(before.Action) || !knownAction(t.Action) || before.MaxScore == nil || t.MaxScore == nil || *before.MaxScore >= *t.MaxScore {
		return
	}
	if severity(t.Action) < severity(before.Action) {
		c.invalid(at, t.Action, "actions must not get milder as scores rise: thresholds[%d] (maxScore %d) leads to %s, and thresholds[%d] (maxScore %d), which higher scores reach, to %s; the order is %s",
			i-1, *before.MaxScore, before.Action, i, *t.MaxScore, t.Action, strings.Join(actions, ", "))
	}
}

func (c *compiler) exemptions(e *v1alpha1.PodSecurityExemptions, path *field.Path) {
	if e == nil {
		return
	}
	if e.Namespaces == nil && e.PodLabels == nil {
		c.errs = append(c.errs, field.Required(path, "exempts nothing; give namespaces or podLabels, or leave the field out"))
		return
	}
	namespaces, errs := match.CompileNamespaces(e.Namespaces, path.Child("namespaces"))
	c.errs = append(c.errs, errs...)
	c.out.exemptNamespaces = namespaces
	c.out.needsLabels = e.Namespaces != nil && len(e.Namespaces.SelectorTerms) > 0

	path = path.Child("podLabels")
	if e.PodLabels != nil && len(e.PodLabels) == 0 {
		c.errs = append(c.errs, field.Required(path, "names no label; name those that exempt a pod, or leave the field out"))
		return
	}
	c.out.exemptLabels = make(map[string]string, len(e.PodLabels))
	for _, key := range sortedKeys(e.PodLabels) {
		value := e.PodLabels[key]
		for _, problem := range validation.IsQualifiedName(key) {
			c.invalid(path.Key(key), key, "no pod can carry it: %s", problem)
		}
		for _, problem := range validation.IsValidLabelValue(value) {
			c.invalid(path.Key(key), value, "no pod can carry it: %s", problem)
		}
		c.out.exemptLabels[key] = value
	}
}

// together refuses parts that can do nothing beside the others.
func (c *compiler) together(rules *v1alpha1.PodSecurityRules, path *field.Path) {
	if len(c.errs) > 0 {
		return
	}
	weighed := c.out.weighed != 0 || c.out.weighedCaps != 0
	switch {
	case weighed && len(rules.Thresholds) == 0:
		c.errs = append(c.errs, field.Required(path.Child("thresholds"),
			"riskFactors has weights, which without thresholds lead to nothing: blockFactors without thresholds is a block list and scores nothing; give thresholds, or leave riskFactors out"))
	case !weighed && len(rules.Thresholds) > 1:
		c.errs = append(c.errs, field.Required(path.Child("riskFactors"),
			"gives nothing a weight above 0, so that every pod has the score 0 and only the first of the thresholds can be reached; give weights, or keep one threshold"))
	case !weighed && len(rules.BlockFactors) == 0 && rules.Thresholds[0].Action == v1alpha1.ActionAllow:
		c.errs = append(c.errs, field.Required(path.Child("riskFactors"),
			"gives nothing a weight above 0, so that every pod has the score 0 and is allowed; give weights or blockFactors"))
	}
}
