package policy

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/text/wire"
)

// taken says of an object that somebody writes that its name, or its key, is that
// of another: it could not work beside it, and what it is about would be refused.
func (s *Set) taken(c *call, sources *Sources) Problems {
	object := c.request.Object
	id := objectID{kind: object.GVK.Kind, namespace: object.Meta.Namespace, name: object.Meta.Name}
	var problems Problems
	// What check reads from a file may stand there as the next version of a policy
	// that it is given.
	if first := s.origins[id]; first != "" && c.request.Source == "" && !saysTheSame(s.first[id], object.Raw) {
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

// saysTheSame reports whether an object that is written has the spec of one that is
// in force: what is applied to the cluster may stand in a file as well.
func saysTheSame(inForce metav1.Object, raw []byte) bool {
	if inForce == nil {
		return false
	}
	written := reflect.New(reflect.TypeOf(inForce).Elem()).Interface().(metav1.Object)
	return wire.Unmarshal(raw, written) == nil && sameSpecs(inForce, written)
}
