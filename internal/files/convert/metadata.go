package convert

// Annotations that are read or left out.
const (
	lastApplied    = "kubectl.kubernetes.io/last-applied-configuration"
	kyvernoAutogen = "pod-policies.kyverno.io/autogen-controllers"
	ourAutogen     = "sallyport.io/autogen-controllers"
)

// metadata reads the metadata of an object; what the API server fills in is left
// out.
func metadata(c *converter, value any, at place) any {
	return c.object(value, place{at.path, "metadata"}, map[string]reader{
		"name": keep, "namespace": keep, "labels": keep, "annotations": annotations,
	})
}

// annotations keeps annotations, and puts the one that says what rules are
// generated for under the name that it has here.
func annotations(c *converter, value any, at place) any {
	source, ok := value.(map[string]any)
	if !ok {
		return value
	}
	into := make(map[string]any, len(source))
	for key, text := range source {
		field := at.child(key)
		switch key {
		case lastApplied:
			c.drop(field, droppedFields[field.shape])
		case kyvernoAutogen:
			into[ourAutogen] = text
		case ourAutogen:
			if theirs, given := source[kyvernoAutogen]; given && theirs != text {
				c.fail(field, "says otherwise than %s; keep one of them", kyvernoAutogen)
			}
			into[ourAutogen] = text
		default:
			into[key] = text
		}
	}
	if len(into) == 0 {
		return nil
	}
	return into
}
