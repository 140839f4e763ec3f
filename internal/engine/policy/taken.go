package policy

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// taken says of an object that somebody writes that its name, or its key, is that
// of another: it could not work beside it, and what it is about would be refused.
func (s *Set) taken(c *call.Call, sources *Sources) stored.Problems {
	object := c.Request.Object
	id := stored.Ref{Kind: object.GVK.Kind, Namespace: object.Meta.Namespace, Name: object.Meta.Name}
	var problems stored.Problems
	// What check reads from a file may stand there as the next version of a policy
	// that it is given.
	if first := s.origins[id]; first != "" && c.Request.Source == "" && !saysTheSame(s.first[id], object.Raw) {
		problems = append(problems, id.Problem("").Twice(first))
	}
	for _, source := range sources.Identities {
		key := source.Object.Spec.Key
		if holder := s.Identity.Holder(key); holder != "" && holder != object.Meta.Name {
			problem := (stored.Ref{Kind: identity.KindSource, Name: object.Meta.Name}).Problem("")
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
	return apijson.Unmarshal(raw, written) == nil && sameSpecs(inForce, written)
}
