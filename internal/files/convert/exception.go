package convert

import "strings"

// exception reads a PolicyException.
func (c *converter) exception(object map[string]any) map[string]any {
	return c.object(object, place{"", "exception"}, map[string]reader{
		"apiVersion": keep, "kind": keep, "metadata": metadata,
		"spec": objectOf(map[string]reader{
			"exceptions": listOf(excepted), "match": match, "podSecurity": exclusions,
		}),
	})
}

// excepted reads an entry that names rules of a policy. The policies that it can
// mean are ClusterPolicies and, with a namespace, Policies; here a bare name may
// be that of any kind of policy, so the kind is said.
func excepted(c *converter, value any, at place) any {
	entry := c.object(value, at, map[string]reader{"policyName": keep, "ruleNames": keep})
	if entry == nil {
		return nil
	}
	if names := entry["ruleNames"]; names == nil || isEmptyList(names) {
		c.fail(at.child("ruleNames"), "names no rule, which excuses none there and every one here; name the rules, or write \"*\" for all of them")
	}
	if name, ok := entry["policyName"].(string); ok {
		entry["policyKind"] = "ClusterPolicy"
		if strings.Contains(name, "/") {
			entry["policyKind"] = "Policy"
		}
	}
	return entry
}
