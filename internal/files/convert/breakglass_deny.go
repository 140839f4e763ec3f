package convert

import (
	"slices"
	"strings"
)

// denyPolicy reads a DenyPolicy.
//
// Its rules go by the attributes of a SubjectAccessReview: verbs, groups, resources
// and subresources are names or "*"; a rule without subresources is about the
// resource with all of them, and one with some about these and not about the
// resource itself.
func (c *converter) denyPolicy(spec map[string]any) {
	if scope, ok := spec["appliesTo"].(map[string]any); ok {
		if dropEmpty(scope); len(scope) == 0 {
			delete(spec, "appliesTo")
		}
	}
	rules, _ := spec["rules"].([]any)
	for i, entry := range rules {
		if rule, ok := entry.(map[string]any); ok {
			c.denyRule(rule, inSpec("rules").element(i))
		}
	}
	risk, _ := spec["podSecurityRules"].(map[string]any)
	if risk == nil {
		return
	}
	thresholds, _ := risk["thresholds"].([]any)
	for _, entry := range thresholds {
		if threshold, ok := entry.(map[string]any); ok {
			if text, ok := threshold["reason"].(string); ok {
				threshold["reason"] = reason(text)
			}
		}
	}
	for _, name := range []string{"appliesTo", "exemptions"} {
		if inner, ok := risk[name].(map[string]any); ok {
			if dropEmpty(inner); len(inner) == 0 {
				delete(risk, name)
			}
		}
	}
	if scope, ok := risk["appliesTo"].(map[string]any); ok {
		c.otherProxies(spec, risk, scope)
	}
}

// otherProxies keeps shut what proxy among the subresources shuts there: it is asked
// of every proxy, and those that lead to no pod cannot be judged.
func (c *converter) otherProxies(spec, risk, scope map[string]any) {
	named, _ := scope["subresources"].([]any)
	if !slices.Contains(named, any("proxy")) || risk["failMode"] == "open" {
		return
	}
	rules, _ := spec["rules"].([]any)
	shut := []any{"services/proxy"}
	if !slices.Contains(named, any("nodes/proxy")) {
		shut = append(shut, "nodes/proxy")
	}
	spec["rules"] = append(rules, map[string]any{"verbs": []any{"*"}, "apiGroups": []any{""}, "resources": shut})
}

// denyRule reads a rule.
func (c *converter) denyRule(rule map[string]any, at place) {
	for _, name := range []string{"verbs", "apiGroups", "resources", "subresources"} {
		c.literal(rule[name], at.child(name))
	}
	verbs, _ := rule["verbs"].([]any)
	for i, verb := range verbs {
		if verb == "connect" {
			c.fail(at.child("verbs").element(i), "is not a verb of a SubjectAccessReview, and matches nothing there; write get and create")
		}
	}
	for _, name := range []string{"resourceNames", "namespaces"} {
		if rule[name] = everything(rule[name]); rule[name] == nil {
			delete(rule, name)
		}
	}
	c.brackets(rule["resourceNames"], at.child("resourceNames"))
	resources, ok := rule["resources"].([]any)
	if !ok {
		return
	}
	subresources, _ := rule["subresources"].([]any)
	delete(rule, "subresources")
	var names []any
	for i, entry := range resources {
		name, ok := entry.(string)
		switch {
		case !ok:
			names = append(names, entry)
		case strings.Contains(name, "/"):
			resource, subresource, _ := strings.Cut(name, "/")
			c.fail(at.child("resources").element(i), "is %q, which matches nothing there: write resources: [%s] and subresources: [%s], or apiVersion: %s for the rule as it stands",
				name, resource, subresource, ours)
		default:
			names = append(names, withSubresources(name, subresources)...)
		}
	}
	rule["resources"] = names
}

// ours is the apiVersion of our kinds.
const ours = "sallyport.io/v1alpha1"

// withSubresources are a resource and subresources of it as we write them.
func withSubresources(name string, subresources []any) []any {
	if len(subresources) == 0 || slices.Contains(subresources, any("*")) {
		if name == "*" {
			return []any{name}
		}
		return []any{name, name + "/*"}
	}
	var names []any
	for _, entry := range subresources {
		switch subresource, ok := entry.(string); {
		case !ok:
			names = append(names, entry)
		case subresource == "":
			names = append(names, name)
		default:
			names = append(names, name+"/"+subresource)
		}
	}
	return names
}

// everything leaves out a list, or a filter of namespaces, that selects everything
// there: none, an empty one, and one with "*", which stands for what is in no
// namespace too.
func everything(value any) any {
	list, isList := value.([]any)
	filter, isFilter := value.(map[string]any)
	if isFilter {
		dropEmpty(filter)
		list, _ = filter["patterns"].([]any)
		if len(filter) == 0 {
			return nil
		}
	}
	if isList && len(list) == 0 {
		return nil
	}
	if slices.ContainsFunc(list, func(entry any) bool {
		text, ok := entry.(string)
		return ok && text != "" && strings.Trim(text, "*") == ""
	}) {
		return nil
	}
	return value
}

// brackets refuses sets of characters, which patterns have there.
func (c *converter) brackets(value any, at place) {
	list, _ := value.([]any)
	for i, entry := range list {
		if text, ok := entry.(string); ok && strings.ContainsAny(text, `[]\`) {
			c.fail(at.element(i), "is %q, a pattern with a set of characters; patterns know * and ? only here: list each name or pattern on its own", text)
		}
	}
}

// dropEmpty takes out lists and objects that hold nothing, which narrow nothing
// there.
func dropEmpty(object map[string]any) {
	for name, value := range object {
		if inner, ok := value.(map[string]any); ok {
			dropEmpty(inner)
		}
		if isNothing(value) {
			delete(object, name)
		}
	}
}
