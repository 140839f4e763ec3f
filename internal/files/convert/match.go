package convert

import "strings"

// match reads a match block, in either form.
func match(c *converter, value any, at place) any {
	fields := map[string]reader{
		"resources": resources, "subjects": keep, "roles": keep, "clusterRoles": keep,
	}
	filters := listOf(objectOf(fields))
	return c.object(value, at, map[string]reader{
		"any": filters, "all": filters,
		"resources": resources, "subjects": keep, "roles": keep, "clusterRoles": keep,
	})
}

// exclude reads an exclude block. One that says nothing excludes nothing.
func exclude(c *converter, value any, at place) any {
	if isNothing(value) {
		return nil
	}
	return match(c, value, at)
}

func resources(c *converter, value any, at place) any {
	return c.object(value, at, map[string]reader{
		"kinds": listOf(kindName), "name": keep, "names": keep, "namespaces": keep, "annotations": keep,
		"selector": keep, "namespaceSelector": keep, "operations": keep,
	})
}

// kindName reads an entry of a list of kinds, in which a subresource may stand
// behind a dot too.
func kindName(_ *converter, value any, _ place) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	last := strings.LastIndexByte(text, '/') + 1
	return text[:last] + strings.ReplaceAll(text[last:], ".", "/")
}
