package clusterpolicy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/rules/standard"
)

// StandardRule is a compiled validate.podSecurity.
type StandardRule struct {
	// Fixed is the standard of the levels that are written out; nil for level
	// namespace.
	Fixed      *standard.Standard
	defaults   *v1alpha1.StandardDefaults
	exemptions *standard.Exemptions
	hosts      v1alpha1.ProbeHosts
	// exclude are controls that are not required.
	exclude standard.Exclusions
}

func compileStandard(s *v1alpha1.PodSecurityStandard, path *field.Path) (*StandardRule, field.ErrorList) {
	var errs field.ErrorList
	compiled := &StandardRule{hosts: s.ProbeHosts, defaults: s.Defaults}
	exclude, more := standard.CompileExclusions(s.Exclude, path.Child("exclude"))
	errs = append(errs, more...)
	compiled.exclude = exclude
	switch s.ProbeHosts {
	case "", v1alpha1.ProbeHostsKEP4940, v1alpha1.ProbeHostsKubernetes:
	default:
		errs = append(errs, field.NotSupported(path.Child("probeHosts"), s.ProbeHosts, []v1alpha1.ProbeHosts{v1alpha1.ProbeHostsKEP4940, v1alpha1.ProbeHostsKubernetes}))
	}
	switch s.Level {
	case v1alpha1.LevelNamespace:
		if s.Version != "" {
			errs = append(errs, field.Invalid(path.Child("version"), s.Version, "with level namespace the version is read from the namespace's labels; give defaults.enforce-version for namespaces without them"))
		}
		errs = append(errs, checkDefaults(s.Defaults, path.Child("defaults"))...)
		exemptions, more := standard.CompileExemptions(s.Exemptions, path.Child("exemptions"))
		errs = append(errs, more...)
		compiled.exemptions = exemptions
	case v1alpha1.LevelPrivileged, v1alpha1.LevelBaseline, v1alpha1.LevelRestricted:
		if s.Defaults != nil {
			errs = append(errs, field.Invalid(path.Child("defaults"), "", "belongs to level namespace"))
		}
		if s.Exemptions != nil {
			errs = append(errs, field.Invalid(path.Child("exemptions"), "", "belongs to level namespace"))
		}
		fixed, err := standard.New(s.Level, s.Version, s.ProbeHosts)
		if err != nil {
			errs = append(errs, field.Invalid(path.Child("version"), s.Version, err.Error()))
		}
		compiled.Fixed = fixed
	case "":
		errs = append(errs, field.Required(path.Child("level"), "give privileged, baseline, restricted or namespace"))
	default:
		errs = append(errs, field.NotSupported(path.Child("level"), s.Level, []v1alpha1.StandardLevel{v1alpha1.LevelPrivileged, v1alpha1.LevelBaseline, v1alpha1.LevelRestricted, v1alpha1.LevelNamespace}))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return compiled, nil
}

func checkDefaults(d *v1alpha1.StandardDefaults, path *field.Path) field.ErrorList {
	if d == nil {
		return nil
	}
	var errs field.ErrorList
	for _, pair := range []struct {
		name    string
		level   v1alpha1.StandardLevel
		version string
	}{
		{"enforce", d.Enforce, d.EnforceVersion},
		{"audit", d.Audit, d.AuditVersion},
		{"warn", d.Warn, d.WarnVersion},
	} {
		switch pair.level {
		case "", v1alpha1.LevelPrivileged, v1alpha1.LevelBaseline, v1alpha1.LevelRestricted:
		default:
			errs = append(errs, field.NotSupported(path.Child(pair.name), pair.level, []v1alpha1.StandardLevel{v1alpha1.LevelPrivileged, v1alpha1.LevelBaseline, v1alpha1.LevelRestricted}))
			continue
		}
		if _, err := standard.New(v1alpha1.LevelBaseline, pair.version, ""); err != nil {
			errs = append(errs, field.Invalid(path.Child(pair.name+"-version"), pair.version, err.Error()))
		}
	}
	return errs
}

// judge appends what the rule says of the pods of an object: one result for a
// fixed level, one for each mode of the namespace's labels.
//
// An update that changes nothing of what the standards are about is not judged
// again, unless it brings the object into the rule or out of an exception.
func (s *StandardRule) judge(c *call.Call, rule *Rule, f form, base decision.Result, results []decision.Result) []decision.Result {
	r := c.Request
	if r.Object == nil || len(r.Object.Pods) == 0 {
		return results
	}
	if r.Operation == request.Update && !pod.SignificantUpdate(r.OldObject, r.Object) && rule.heldBefore(c, f, &base) {
		return results
	}
	pods := r.Object.Pods
	if s.Fixed != nil {
		return append(results, s.check(c, s.Fixed, "violates", pods, rule, base))
	}
	user, namespace := c.Request.User.Name, c.Request.Namespace
	// A pod that is exempt by its runtime class exempts itself, not its neighbours
	// in an object that makes several.
	judged := make([]pod.Pod, 0, len(pods))
	for i := range pods {
		why, exempt := s.exemptions.Match(user, namespace, &pods[i])
		if !exempt {
			judged = append(judged, pods[i])
			continue
		}
		base.Exempt = why
	}
	if len(judged) == 0 {
		base.Message = "not judged: " + base.Exempt
		return append(results, base)
	}
	base.Exempt, pods = "", judged
	labels, err := c.NamespaceLabels()
	if err != nil {
		return append(results, rule.Unjudged(base, fmt.Errorf("the labels of namespace %q cannot be read: %w", namespace, err)))
	}
	levels, invalid := standard.ForNamespace(labels, s.defaults, s.hosts)
	written := call.IsPod(c.Request.Object.GVK.GroupKind())
	for _, mode := range []struct {
		standard *standard.Standard
		action   decision.Action
		verb     string
		skip     bool
	}{
		// As in the built-in plugin, enforce is for pods: what makes pods is
		// warned about and recorded.
		{levels.Enforce, decision.Enforce, "violates", !written},
		{levels.Warn, decision.ActionWarn, "would violate", false},
		{levels.Audit, decision.ActionAudit, "would violate", false},
	} {
		if mode.skip || mode.standard == nil {
			continue
		}
		result := base
		result.Action = weaker(base.Action, mode.action)
		result = s.check(c, mode.standard, mode.verb, pods, rule, result)
		// What a level of a namespace only warns of or audits is not refused by any action.
		result.WouldDeny = mode.action == decision.Enforce && result.Action != decision.Enforce && result.Status == decision.Fail
		for _, err := range invalid {
			result.Message += "; " + err.Error()
		}
		results = append(results, result)
	}
	return results
}

// check judges pods by one standard, and shows what they violate to the
// exceptions. verb is how the message begins, in the words of the built-in
// plugin.
func (s *StandardRule) check(c *call.Call, st *standard.Standard, verb string, pods []pod.Pod, rule *Rule, result decision.Result) decision.Result {
	var found []call.Violating
	for i := range pods {
		violations := st.Check(&pods[i])
		if len(violations) > 0 && !s.exclude.Empty() {
			violations, _ = s.exclude.Excuse(&pods[i], violations)
		}
		if len(violations) > 0 {
			found = append(found, call.Violating{Pod: &pods[i], Violations: violations})
		}
	}
	if len(found) == 0 {
		result.Message = "meets PodSecurity \"" + st.String() + "\""
		return result
	}
	result.Message = s.message(st, verb, found, rule)
	var troubles []exception.Trouble
	if c.Exceptions.Any() {
		used, all, failed := c.ExcuseViolations(found, c.Query(&result, rule.Name, []*match.Target{c.Target()}))
		if all || len(used) > 0 && !slices.ContainsFunc(found, func(v call.Violating) bool { return len(v.Violations) > 0 }) {
			c.Skip(&result, used...)
			return result
		}
		for _, p := range used {
			c.Use(&result, p)
		}
		if len(used) > 0 {
			result.Message = s.message(st, verb, found, rule)
		}
		troubles = failed
	}
	result.Status = decision.Fail
	for i := range found {
		for _, v := range found[i].Violations {
			from := len(result.Findings)
			result.Findings = append(result.Findings, v.Findings...)
			for j := from; j < len(result.Findings); j++ {
				result.Findings[j].Control = v.Control
			}
		}
	}
	return c.WithTroubles(result, troubles)
}

// worded is of how many pods a message says what they violate. The findings have all.
const worded = 100

// message words what pods violate.
func (s *StandardRule) message(st *standard.Standard, verb string, found []call.Violating, rule *Rule) string {
	var sentences []string
	more := 0
	for i := range found {
		switch {
		case len(found[i].Violations) == 0:
		case len(sentences) == worded:
			more++
		default:
			sentences = append(sentences, fmt.Sprintf("%s PodSecurity %q: %s", verb, st.String(), standard.Message(found[i].Violations)))
		}
	}
	if more > 0 {
		sentences = append(sentences, fmt.Sprintf("so do %d more pods of the object", more))
	}
	message := strings.Join(sentences, "; ")
	if rule.Message != "" {
		return rule.Message + ": " + message
	}
	return message
}

// weaker is the action that asks for less: audit, then warn, then enforce.
func weaker(a, b decision.Action) decision.Action {
	rank := map[decision.Action]int{decision.ActionAudit: 0, decision.ActionWarn: 1, decision.Enforce: 2}
	if rank[a] < rank[b] {
		return a
	}
	return b
}
