package policy

import (
	"fmt"

	"github.com/sallyport-io/sallyport/internal/identity"
)

// taken says of an object that somebody writes that its name, or its key, is that
// of another: it could not work beside it, and what it is about would be refused.
func (s *Set) taken(c *call, sources *Sources) Problems {
	object := c.request.Object
	id := objectID{kind: object.GVK.Kind, namespace: object.Meta.Namespace, name: object.Meta.Name}
	var problems Problems
	if first := s.origins[id]; first != "" {
		problems = append(problems, id.problem("").Twice(first))
	}
	for _, source := range sources.Identities {
		key := source.Object.Spec.Key
		if holder := s.identities.Holder(key); holder != "" && holder != object.Meta.Name {
			problem := (objectID{kind: identity.KindSource, name: object.Meta.Name}).problem("")
			problem.Path, problem.Detail = "spec.key", fmt.Sprintf("%q is the key of IdentitySource %s; give this one another", key, holder)
			problems = append(problems, problem)
		}
	}
	return problems
}
