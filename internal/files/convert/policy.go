package convert

import "slices"

// policy reads a ClusterPolicy or a Policy.
func (c *converter) policy(object map[string]any) map[string]any {
	return c.object(object, place{"", "policy"}, map[string]reader{
		"apiVersion": keep, "kind": keep, "metadata": metadata, "spec": policySpec,
	})
}

func policySpec(c *converter, value any, at place) any {
	source, _ := value.(map[string]any)
	c.warns = source["emitWarning"] == true
	rules, _ := source["rules"].([]any)
	c.rules = len(rules)

	var inWebhook any
	spec := c.object(value, at, map[string]reader{
		"rules":                            listOf(rule),
		"validationFailureAction":          action,
		"validationFailureActionOverrides": overrides,
		"emitWarning":                      emitWarning,
		"failurePolicy":                    keep,
		"background":                       keep,
		"admission":                        admission,
		"applyRules":                       applyRules,
		"webhookConfiguration": func(c *converter, value any, at place) any {
			inWebhook = c.object(value, at, map[string]reader{"failurePolicy": failurePolicy})["failurePolicy"]
			return nil
		},
	})
	if spec == nil {
		return nil
	}
	if inWebhook != nil {
		if spec["failurePolicy"] != nil {
			c.fail(at.child("failurePolicy"), "stands in webhookConfiguration.failurePolicy too; keep one of them")
		}
		spec["failurePolicy"] = inWebhook
	}
	if _, given := spec["validationFailureAction"]; !given {
		spec["validationFailureAction"] = c.audit()
	}
	inheritOverrides(spec)
	return spec
}

// action reads what a failure leads to.
func action(c *converter, value any, at place) any {
	switch value {
	case "Enforce", "enforce":
		return "Enforce"
	case "Audit", "audit":
		return c.audit()
	case "Warn", "warn":
		c.fail(at, "is %q, which there is not; write Audit, with emitWarning: true in the spec", value)
	default:
		c.wrongKind(value, at, "Enforce or Audit")
	}
	return nil
}

// audit is what Audit means here: where the policy warns, a failure is let in
// with a warning.
func (c *converter) audit() string {
	if c.warns {
		return "Warn"
	}
	return "Audit"
}

// emitWarning is carried out where the actions are read.
func emitWarning(c *converter, value any, at place) any {
	if yes, ok := c.boolean(value, at); ok && yes {
		c.drop(at, "Audit becomes Warn: what fails is let in with a warning")
	}
	return nil
}

// overrides reads actions by namespace. An empty list counts as none.
func overrides(c *converter, value any, at place) any {
	if isEmptyList(value) {
		return nil
	}
	return c.list(value, at, objectOf(map[string]reader{
		"action": action, "namespaces": keep, "namespaceSelector": keep,
	}))
}

// inheritOverrides gives rules the overrides of the policy behind their own.
// There, the policy's count where none of the rule's selects the namespace and
// the rule gives no action; here, a rule that has any has no others.
func inheritOverrides(spec map[string]any) {
	ofPolicy, _ := spec["validationFailureActionOverrides"].([]any)
	rules, _ := spec["rules"].([]any)
	for _, r := range rules {
		rule, _ := r.(map[string]any)
		validate, _ := rule["validate"].(map[string]any)
		own, given := validate["failureActionOverrides"].([]any)
		if given && validate["failureAction"] == nil {
			validate["failureActionOverrides"] = slices.Concat(own, ofPolicy)
		}
	}
}

// failurePolicy reads the one that stands where ours has none.
func failurePolicy(c *converter, value any, at place) any {
	if value == "Fail" || value == "Ignore" {
		return value
	}
	c.wrongKind(value, at, "Fail or Ignore")
	return nil
}

// admission is true unless the policy is only for scans.
func admission(c *converter, value any, at place) any {
	if yes, ok := c.boolean(value, at); ok && !yes {
		c.fail(at, "is false, which keeps the policy from requests, for scans of what is there already; there are none here, so take the policy out, or write true and validationFailureAction: Audit")
	}
	return nil
}

// applyRules is All, or One, which is the same where there is one rule.
func applyRules(c *converter, value any, at place) any {
	switch {
	case value == "All":
	case value == "One" && c.rules > 1:
		c.fail(at, "is One, which leaves out the rules behind the first that applies; every rule is judged here, so write All, or exclude from each rule what those before it match")
	case value == "One":
		c.drop(at, "the policy has one rule")
	default:
		c.wrongKind(value, at, "All or One")
	}
	return nil
}
