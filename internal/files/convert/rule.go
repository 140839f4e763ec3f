package convert

import (
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// rule reads a rule of a policy.
func rule(c *converter, value any, at place) any {
	return c.object(value, at, map[string]reader{
		"name": keep, "match": match, "exclude": exclude, "validate": validate,
	})
}

func validate(c *converter, value any, at place) any {
	return c.object(value, at, map[string]reader{
		"message":                 message,
		"failureAction":           action,
		"failureActionOverrides":  overrides,
		"allowExistingViolations": keep,
		"pattern":                 pattern,
		"anyPattern":              pattern,
		"podSecurity":             podSecurity,
		"cel": objectOf(map[string]reader{
			"variables":   listOf(objectOf(map[string]reader{"name": keep, "expression": keep})),
			"expressions": listOf(objectOf(map[string]reader{"expression": keep, "message": message, "messageExpression": keep})),
		}),
	})
}

// message takes a message without variables.
func message(c *converter, value any, at place) any {
	if text, ok := value.(string); ok && hasVariable(text) {
		c.fail(at, "holds a variable, {{...}}, which would be shown as it stands; write the message without it (findings name the field and its value), or use messageExpression of validate.cel")
		return nil
	}
	return value
}

func (c *converter) findVariables(value any, path string) {
	switch v := value.(type) {
	case string:
		c.checkText(v, path)
	case []any:
		for i, inner := range v {
			c.findVariables(inner, apijson.Element(path, i))
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			c.checkText(key, path)
			c.findVariables(v[key], apijson.Child(path, key))
		}
	}
}

// checkText refuses a name or a value of a pattern that is not meant as it
// stands.
func (c *converter) checkText(text, path string) {
	switch {
	case hasVariable(text):
		c.fail(place{path: path}, "holds a variable, {{...}}, and patterns have none here; write the value itself, or the rule as validate.cel")
	case strings.Contains(text, "$("):
		c.fail(place{path: path}, "holds a reference to another field, $(...), and patterns have none here; write the rule as validate.cel")
	}
}

func hasVariable(text string) bool { return strings.Contains(text, "{{") }

// podSecurity reads a Pod Security Standard. The hosts of probes are judged as
// Kubernetes does, which is what the other system uses.
func podSecurity(c *converter, value any, at place) any {
	standard := c.object(value, at, map[string]reader{"level": level, "version": keep, "exclude": exclusions})
	if standard == nil {
		return nil
	}
	standard["probeHosts"] = "kubernetes"
	return standard
}

// level takes the levels of the standards, and not ours that is read from the
// namespace.
func level(c *converter, value any, at place) any {
	if value == "namespace" {
		c.fail(at, "is %q; privileged, baseline or restricted belongs here", value)
		return nil
	}
	return value
}

func exclusions(c *converter, value any, at place) any {
	return c.list(value, at, objectOf(map[string]reader{
		"controlName": keep, "images": keep, "restrictedField": keep, "values": keep,
	}))
}
